// Ops that read images between their elements: GridSample, AffineGrid, RoiAlign. Coordinates are in double, as in the
// reference: a point near the border of two elements goes to the same one.
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kMostSamples = 1 << 16;  // of one bin of RoiAlign

// Where an axis is read, and with what weights.
constexpr const char* kTaps = R"(
struct Taps { int count; s64 at[4]; double weight[4]; };
W_FN double w_reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  if (x >= low && x <= high) return x;
  const double over = x < low ? low - x : x - high, times = floor(over / span), rest = over - times * span;
  return (x < low) == (fmod(times, 2.0) == 0) ? low + rest : high - rest;
}
template <int PADDING, bool ALIGN> W_FN void w_tap(Taps* t, s64 i, s64 n, double w) {
  if (w == 0) return;
  if (i < 0 || i >= n) {
    if (PADDING == 0) return;
    if (PADDING == 2) i = (s64)w_reflect((double)i, ALIGN ? 0.0 : -0.5, ALIGN ? n - 1.0 : n - 0.5);
    i = i < 0 ? 0 : i >= n ? n - 1 : i;
  }
  t->at[t->count] = i; t->weight[t->count++] = w;
}
template <int MODE, int PADDING, bool ALIGN> W_FN Taps w_taps(double v, s64 extent) {
  Taps t; t.count = 0;
  const double n = (double)extent;
  double x = ALIGN ? (v + 1) / 2 * (n - 1) : ((v + 1) * n - 1) / 2;
  if (MODE == 0) x = rint(x);
  const double low = ALIGN ? 0 : -0.5, high = ALIGN ? n - 1 : n - 0.5;
  if (!(fabs(x) < 1e300)) return t;
  if (PADDING == 1 && (x < low || x > high)) x = x < 0 ? 0 : x > n - 1 ? n - 1 : x;
  if (PADDING == 2) x = w_reflect(x, low, high);
  if (!(fabs(x) < 1e15)) return t;
  const double base = floor(x), f = x - base, a = -0.75;
  const s64 b = (s64)base;
  if (MODE == 0) {
    w_tap<PADDING, ALIGN>(&t, (s64)rint(x), extent, 1);
  } else if (MODE == 1) {
    w_tap<PADDING, ALIGN>(&t, b, extent, 1 - f);
    w_tap<PADDING, ALIGN>(&t, b + 1, extent, f);
  } else {
    double d = f + 1; w_tap<PADDING, ALIGN>(&t, b - 1, extent, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a);
    d = f; w_tap<PADDING, ALIGN>(&t, b, extent, ((a + 2) * d - (a + 3)) * d * d + 1);
    d = 1 - f; w_tap<PADDING, ALIGN>(&t, b + 1, extent, ((a + 2) * d - (a + 3)) * d * d + 1);
    d = 2 - f; w_tap<PADDING, ALIGN>(&t, b + 2, extent, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a);
  }
  return t;
}
)";

// The four elements around a point, and their weights.
constexpr const char* kCorners = R"(
W_FN double w_place(double v, s64 extent, s64* low, s64* high) {
  v = v < 0 ? 0 : v;
  *low = (s64)v;
  if (*low >= extent - 1) { *low = *high = extent - 1; return 0; }
  *high = *low + 1;
  return v - (double)*low;
}
)";

// Device functions stand before the kernel, behind what every kernel begins with.
Status begin_with(const char* functions, const Problem& p, int64_t count, Writer* w, Launch* launch) {
  Writer kernel;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, count, &kernel, launch));
  w->raw(prelude());
  w->raw(functions);
  w->raw(kernel.text().substr(prelude().size()));
  return Status();
}

}  // namespace

Status generate_grid_sample(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 2 || p.outputs.size() != 1)
    return invalid_argument("GridSample of {} operands", p.inputs.size());
  const Dims &x = args.inputs[0], &grid = args.inputs[1], &y = args.outputs[0];
  const auto& op = *op_params<GridSampleOpParams>(p);
  const auto mode = static_cast<int>(op.mode), padding = static_cast<int>(op.padding_mode);  // as kTaps numbers them
  const bool fits = x.rank() >= 3 && x.rank() <= 5 && y.rank() == x.rank() && grid.rank() == x.rank() &&
                    is_float(p.inputs[1].dtype) && p.outputs[0].dtype == p.inputs[0].dtype;
  if (!fits || grid.back() != x.rank() - 2 || y[0] != x[0] || y[1] != x[1] || grid[0] != x[0])
    return unsupported("GridSample of {} at {}", x.to_string(), grid.to_string());
  for (size_t a = 2; a < y.size(); ++a)
    if (y[a] != grid[a - 1]) return invalid_argument("GridSample at {} gives {}", grid.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  if (x.volume() == 0) return invalid_argument("GridSample of the empty {}", x.to_string());
  if (!is_float(p.inputs[0].dtype)) return unsupported("GridSample of {}", dtype_name(p.inputs[0].dtype));
  const int64_t rank = x.rank() - 2, points = y.volume() / (y[0] * y[1]);
  const Dims s = x.strides();
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_with(kTaps, p, y.volume(), &w, &launch));
  w.line("  const s64 q = i % {0}, plane = i / {0}, n = plane / {1};", points, x[1]);
  for (int64_t a = 0; a < rank; ++a)
    w.line("  const Taps t{0} = w_taps<{1}, {2}, {3}>((double)w_get(x1[(n * {4} + q) * {5} + {6}]), {7});", a, mode,
           padding, op.align_corners, points, rank, rank - 1 - a, x[static_cast<size_t>(a) + 2]);
  w.line("  double sum = 0;");
  std::string factor = "1.0", at = fmt::format("plane * {}", s[1]);
  for (int64_t a = 0; a < rank; ++a) {
    w.line("  for (int k{0} = 0; k{0} < t{0}.count; ++k{0}) {{ const double g{0} = {1} * t{0}.weight[k{0}];", a,
           factor);
    factor = fmt::format("g{}", a);
    at += fmt::format(" + t{0}.at[k{0}] * {1}", a, s[static_cast<size_t>(a) + 2]);
  }
  w.line("  sum += {} * (double)w_get(x0[{}]);", factor, at);
  for (int64_t a = 0; a < rank; ++a) w.raw("  }");
  w.line("\n  y0[i] = Put<{}>::to(({})sum);", storage_type(p.outputs[0].dtype), register_type(p.outputs[0].dtype));
  end_special(&w, std::move(launch), launches);
  return Status();
}

Status generate_affine_grid(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &theta = args.inputs[0], &y = args.outputs[0];
  if (p.outputs.size() != 1 || theta.rank() != 3 || theta[1] < 2 || theta[1] > 3 || theta[2] != theta[1] + 1 ||
      y.rank() != theta[1] + 2 || y[0] != theta[0] || y.back() != theta[1] || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return unsupported("AffineGrid of {} to {}", theta.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  const int64_t rank = theta[1];
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_special(p, y.volume(), &w, &launch));
  w.line("  const int r = (int)(i % {0}); s64 rest = i / {0}; double sum = 0;", rank);
  std::string sums;
  for (int64_t a = 0; a < rank; ++a) {  // the last axis first
    const int64_t extent = y[static_cast<size_t>(rank - a)];
    const std::string point =
        op_params<AffineGridOpParams>(p)->align_corners
            ? (extent == 1 ? std::string("-1.0") : fmt::format("-1 + 2.0 * c{} / {}", a, extent - 1))
            : fmt::format("(2.0 * c{} + 1) / {} - 1", a, extent);
    w.line("  const double c{0} = (double)(rest % {1}); rest /= {1};", a, extent);
    sums += fmt::format("  sum += ({}) * (double)w_get(x0[(rest * {} + r) * {} + {}]);\n", point, rank, rank + 1, a);
  }
  w.raw(sums);
  w.line("  sum += (double)w_get(x0[(rest * {} + r) * {} + {}]);", rank, rank + 1, rank);
  w.line("  y0[i] = Put<{}>::to(({})sum);", storage_type(p.outputs[0].dtype), register_type(p.outputs[0].dtype));
  end_special(&w, std::move(launch), launches);
  return Status();
}

// A region of an image that is not there, or with more samples than are taken, gives no number.
Status generate_roi_align(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 3 || p.outputs.size() != 1)
    return invalid_argument("RoiAlign of {} operands", p.inputs.size());
  const Dims &x = args.inputs[0], &rois = args.inputs[1], &y = args.outputs[0];
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || y.rank() != 4 || y[0] != rois[0] || y[1] != x[1] ||
      args.inputs[2].volume() != rois[0] || !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype) ||
      !is_integer(p.inputs[2].dtype) || p.outputs[0].dtype != p.inputs[0].dtype)
    return unsupported("RoiAlign of {} with {}", x.to_string(), rois.to_string());
  if (y.volume() == 0) return Status();
  if (x.volume() == 0) return invalid_argument("RoiAlign of the empty {}", x.to_string());
  const auto& op = *op_params<RoiAlignOpParams>(p);
  const int64_t ratio = op.sampling_ratio, rows = y[2], columns = y[3];
  if (ratio < 0 || ratio * ratio > kMostSamples) return unsupported("{} samples along a bin", ratio);
  const bool max = op.mode == RoiMode::kMax, half = op.half_pixel;
  Writer w;
  Launch launch;
  WOOTZ_RETURN_IF_ERROR(begin_with(kCorners, p, y.volume(), &w, &launch));
  w.line("  const s64 px = i % {0}, py = i / {0} % {1}, c = i / {2} % {3}, r = i / {4};", columns, rows, rows * columns,
         x[1], rows * columns * x[1]);
  w.line("  const s64 image = (s64)w_get(x2[r]); const double scale = {:.17g}, shift = {};", op.spatial_scale,
         half ? "0.5" : "0.0");
  for (const auto& [name, at] : {std::pair{"x1", 0}, {"y1", 1}, {"x2", 2}, {"y2", 3}})
    w.line("  const double r{} = (double)w_get(x1[r * 4 + {}]) * scale - shift;", name, at);
  w.line("  double width = rx2 - rx1, height = ry2 - ry1;");
  if (!half) w.line("  width = width > 1 ? width : 1; height = height > 1 ? height : 1;");
  w.line("  const double bh = height / {}, bw = width / {};", rows, columns);
  w.line("  const s64 gh = {0}, gw = {1};",
         ratio > 0 ? std::to_string(ratio) : "bh > 0 ? (s64)w_clip<double>(ceil(bh), 0, 70000) : 0",
         ratio > 0 ? std::to_string(ratio) : "bw > 0 ? (s64)w_clip<double>(ceil(bw), 0, 70000) : 0");
  const char* st = storage_type(p.outputs[0].dtype);
  const char* reg = register_type(p.outputs[0].dtype);
  w.line(
      "  if (image < 0 || image >= {} || !(fabs(bh) < 1e4 && fabs(bw) < 1e4) || gh * gw > {}) {{ y0[i] = "
      "Put<{}>::to(({})W_NAN); "
      "return; }}",
      x[0], kMostSamples, st, reg);
  w.line("  const s64 plane = (image * {} + c) * {}; double value = 0; bool first = true;", x[1], x[2] * x[3]);
  w.line("  for (s64 iy = 0; iy < gh; ++iy) for (s64 ix = 0; ix < gw; ++ix) {{");
  w.line(
      "    const double sy = ry1 + ((double)py + ((double)iy + 0.5) / (double)gh) * bh, sx = rx1 + ((double)px + "
      "((double)ix + "
      "0.5) / (double)gw) * bw;");
  w.line("    s64 a0 = 0, a1 = 0, b0 = 0, b1 = 0; double w00 = 0, w01 = 0, w10 = 0, w11 = 0;");
  w.line(
      "    if (sy >= -1 && sy <= {0} && sx >= -1 && sx <= {1}) {{ const double fy = w_place(sy, {0}, &a0, &a1), fx = "
      "w_place(sx, {1}, &b0, &b1);",
      x[2], x[3]);
  w.line("      w00 = (1 - fy) * (1 - fx); w01 = (1 - fy) * fx; w10 = fy * (1 - fx); w11 = fy * fx; }}");
  const auto corner = [&](const char* name, const char* a, const char* b) {
    w.line("    const double v{0} = w{0} * (double)w_get(x0[plane + {1} * {2} + {3}]);", name, a, x[3], b);
  };
  corner("00", "a0", "b0");
  corner("01", "a0", "b1");
  corner("10", "a1", "b0");
  corner("11", "a1", "b1");
  if (max)
    w.line(
        "    const double best = fmax(fmax(v00, v01), fmax(v10, v11)); value = first ? best : fmax(value, best); first "
        "= "
        "false;\n  }}");
  else
    w.line("    value += v00 + v01 + v10 + v11;\n  }}\n  value /= (double)(gh * gw > 1 ? gh * gw : 1);");
  w.line("  y0[i] = Put<{}>::to(({})value);", st, reg);
  end_special(&w, std::move(launch), launches);
  return Status();
}

}  // namespace wootz::cuda
