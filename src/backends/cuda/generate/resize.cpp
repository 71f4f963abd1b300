// Family resize: nearest, linear and cubic along any axes, one thread a result.
#include <algorithm>

#include "backends/cuda/generate/families.h"

namespace wootz::cuda {
namespace {

constexpr int kBlock = 256;

// Source coordinate of output element `o` (ONNX Resize), as an expression in double.
Result<std::string> coordinate(ResizeCoordinate mode, double scale, int64_t in, int64_t out, double begin, double end) {
  const double exact = scale * static_cast<double>(in);
  if (mode == ResizeCoordinate::kCrop) {
    const double first = begin * static_cast<double>(in - 1), span = (end - begin) * static_cast<double>(in - 1);
    if (exact - 1 < 1e-9 && exact - 1 > -1e-9) return fmt::format("({:.17g} + {:.17g})", first, span / 2);
    return fmt::format("({:.17g} + (double)o * {:.17g} / {:.17g})", first, span, exact - 1);
  }
  const std::string half = fmt::format("(((double)o + 0.5) / {:.17g} - 0.5)", scale);
  if (mode == ResizeCoordinate::kAsymmetric) return fmt::format("((double)o / {:.17g})", scale);
  if (mode == ResizeCoordinate::kAlignCorners) {
    if (exact - 1 < 1e-9 && exact - 1 > -1e-9) return std::string("0.0");
    return fmt::format("((double)o * {:.17g} / {:.17g})", static_cast<double>(in - 1), exact - 1);
  }
  if (mode == ResizeCoordinate::kPytorchHalfPixel && out <= 1) return std::string("-0.5");
  if (mode == ResizeCoordinate::kTfHalfPixelForNn) return fmt::format("(((double)o + 0.5) / {:.17g})", scale);
  if (mode == ResizeCoordinate::kHalfPixel || mode == ResizeCoordinate::kPytorchHalfPixel) return half;
  if (mode == ResizeCoordinate::kHalfPixelSymmetric)
    return fmt::format("({:.17g} + {})", static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / exact), half);
  return unsupported("coordinates by '{}'", name_of(mode));
}

// Windows of any width: an axis' coordinate c{a}, its first and last element b{a} and z{a}, the sum of their weights
// n{a}.
struct Wide {
  bool cubic = false, antialias = false, exclude = false;
  double a = -0.75;
  void axis(size_t k, const std::string& at, double scale, int64_t in, Writer* w) const {
    const double stretch = antialias ? std::min(scale, 1.0) : 1;
    w->line("  double c{0}; {{ const s64 o = o{0}; c{0} = {1}; }}", k, at);
    w->line("  const s64 b{0} = (s64)ceil(c{0} - {1:.17g}), z{0} = (s64)floor(c{0} + {1:.17g});\n  double n{0} = 0;", k,
            (cubic ? 2 : 1) / stretch);
    w->line("  for (s64 q = b{0}; q <= z{0}; ++q) n{0} += {1};\n  if (n{0} == 0) n{0} = 1;", k,
            weight(k, "q", stretch, in));
  }
  // Of element `q` of axis k.
  std::string weight(size_t k, const char* q, double stretch, int64_t in) const {
    const std::string distance = fmt::format("w_exact(fabs((double){} - c{}), {:.17g})", q, k, stretch);
    const std::string value =
        cubic ? fmt::format("w_cubic({}, {:.17g})", distance, a) : fmt::format("w_tent({})", distance);
    return exclude ? fmt::format("({0} < 0 || {0} >= {1} ? 0.0 : {2})", q, in, value) : value;
  }
};

// Products that are not fused with the sum behind them: integers are rounded in the end, where the last bit may decide.
constexpr const char* kWideFunctions = R"(
#ifdef WOOTZ_ON_HOST
#define w_exact(a, b) ((double)(a) * (double)(b))
#else
#define w_exact(a, b) __dmul_rn((double)(a), (double)(b))
#endif
W_FN double w_tent(double d) { return d < 1 ? 1 - d : 0; }
W_FN double w_cubic(double d, double a) {
  if (d <= 1) return w_exact(w_exact(w_exact(a + 2, d) - (a + 3), d), d) + 1;
  return d < 2 ? w_exact(w_exact(w_exact(a, d) - w_exact(5, a), d) + w_exact(8, a), d) - w_exact(4, a) : 0;
}
)";

}  // namespace

Status generate_resize(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 1 || p.num_main != 1 || p.outputs.size() != 1 || !p.epilogue.empty())
    return unsupported("resize of {} inputs", p.inputs.size());
  const ResizeMode mode = p.as<ResizeParams>().mode;
  const ResizeCoordinate where = p.as<ResizeParams>().coordinate;
  const bool linear = mode != ResizeMode::kNearest;
  const Wide wide_window{mode == ResizeMode::kCubic, p.as<ResizeParams>().antialias,
                         p.as<ResizeParams>().exclude_outside, p.as<ResizeParams>().cubic_a};
  const TensorDesc &dx = p.inputs[0], &dy = p.outputs[0];
  const bool whole = !is_float(dx.dtype);
  const bool wide = linear && (wide_window.cubic || wide_window.antialias || wide_window.exclude || whole);
  Dims x = args.inputs[0], y = args.outputs[0];
  WOOTZ_RETURN_IF_ERROR(check_type(dx.dtype));
  if (dx.dtype != dy.dtype || x.rank() != y.rank() || x.empty() || dx.layout != dy.layout || !is_plain(dx.layout))
    return unsupported("resize of {} to {}", x.to_string(), y.to_string());
  if (linear && whole && (!is_integer(dx.dtype) || dtype_bits(dx.dtype) > 32))
    return unsupported("linear resize of {}", dtype_name(dx.dtype));
  if (y.volume() == 0) return Status();
  if (x.volume() == 0) return invalid_argument("resize of the empty {} to {}", x.to_string(), y.to_string());
  WOOTZ_RETURN_IF_ERROR(check_count(y.volume()));
  const Floats &scales = p.as<ResizeParams>().scales, roi = p.as<ResizeParams>().roi;
  const bool crop = where == ResizeCoordinate::kCrop;
  if (!roi.empty() && roi.size() != 2 * x.size()) return invalid_argument("a region of {} numbers", roi.size());
  const auto begin_of = [&](size_t a) { return crop && !roi.empty() ? roi[a] : 0.0; };
  const auto end_of = [&](size_t a) { return crop && !roi.empty() ? roi[a + roi.size() / 2] : 1.0; };
  // Channels that lie together and are only copied go 16 bytes at a time.
  std::string element = storage_type(dx.dtype);
  if (!linear && !crop && dx.layout == Layout::kChannelsLast && x.rank() >= 3 && x[1] == y[1] &&
      (scales.size() < 2 || scales[1] <= 0 || scales[1] == 1)) {
    int64_t together = std::max(1, 128 / dtype_bits(dx.dtype));
    while (x[1] % together != 0) together /= 2;
    x[1] /= together;
    y[1] /= together;
    if (together > 1) element = fmt::format("Pack<{}, {}>", element, together);
  }
  const Dims xs = layout_strides(dx.layout, x);
  const char* acc = dx.dtype == DType::kF64 ? "double" : "float";
  Writer w;
  w.raw(prelude());
  if (wide) w.raw(kWideFunctions);
  w.line(
      "extern \"C\" __global__ void __launch_bounds__({0}) wootz_kernel({1}* __restrict__ y, const {1}* __restrict__ "
      "x) {{",
      kBlock, element);
  w.line("  const s64 i = (s64)blockIdx.x * {} + threadIdx.x;\n  if (i >= {}) return;\n  s64 rest = i, from = 0;",
         kBlock, y.volume());
  if (crop) w.line("  bool outside = false;");
  std::vector<size_t> moving;
  std::vector<std::string> weights;  // by moving axis, of wide windows
  const std::vector<int> order = memory_order(y.rank() < 3 ? Layout::kLinear : dy.layout, y.rank());
  for (size_t k = order.size(); k-- > 0;) {
    const auto a = static_cast<size_t>(order[k]);
    const double scale =
        a < scales.size() && scales[a] > 0 ? scales[a] : static_cast<double>(y[a]) / static_cast<double>(x[a]);
    w.line("  const s64 o{0} = rest % {1}; rest /= {1};", a, y[a]);
    if (x[a] == y[a] && scale == 1 && begin_of(a) == 0 && end_of(a) == 1) {
      w.line("  from += o{} * {};", a, xs[a]);
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(const std::string at, coordinate(where, scale, x[a], y[a], begin_of(a), end_of(a)));
    if (wide) {
      if (!(scale > 1e-4)) return unsupported("a scale of {} with wide windows", scale);
      wide_window.axis(a, at, scale, x[a], &w);
      if (crop) w.line("  outside = outside || c{0} < 0 || c{0} > {1};", a, x[a] - 1);
      moving.push_back(a);
      weights.push_back(
          wide_window.weight(a, fmt::format("q{}", a).c_str(), wide_window.antialias ? std::min(scale, 1.0) : 1, x[a]));
      continue;
    }
    w.line("  s64 l{0}, h{0} = 0; {1} f{0} = 0; {{ const s64 o = o{0}; double c = {2}; const double top = {3};", a, acc,
           at, x[a] - 1);
    if (crop) w.line("  outside = outside || c < 0 || c > top;");
    if (linear) {
      w.line(
          "  c = c < 0 ? 0 : c > top ? top : c; const double low = floor(c); l{0} = (s64)low; h{0} = l{0} < {1} ? l{0} "
          "+ 1 : "
          "l{0}; f{0} = ({2})(float)(c - low); l{0} *= {3}; h{0} *= {3}; }}",
          a, x[a] - 1, acc, xs[a]);
      moving.push_back(a);
      continue;
    }
    const ResizeNearest nearest = p.as<ResizeParams>().nearest;
    const char* round = nearest == ResizeNearest::kFloor             ? "floor(c)"
                        : nearest == ResizeNearest::kCeil            ? "ceil(c)"
                        : nearest == ResizeNearest::kRoundPreferCeil ? "floor(c + 0.5)"
                                                                     : "ceil(c - 0.5)";
    w.line("  c = {1}; c = c < 0 ? 0 : c > top ? top : c; l{0} = (s64)c; from += l{0} * {2}; }}", a, round, xs[a]);
  }
  const char *st = storage_type(dx.dtype), *rt = register_type(dx.dtype);
  if (crop)
    w.line("  if (outside) {{ y[i] = Put<{}>::to({}); return; }}", st,
           is_integer(dx.dtype)
               ? fmt::format("w_sat<{}>(rint((double){:.17g}))", rt, p.as<ResizeParams>().extrapolation)
               : fmt::format("w_cast<{}>({:.17g})", rt, p.as<ResizeParams>().extrapolation));
  if (wide) {
    // The last axis outermost: along each the sums of the axis before it are summed, as the definition goes.
    std::vector<size_t> nest(moving.size());
    for (size_t k = 0; k < nest.size(); ++k) nest[k] = k;
    std::sort(nest.begin(), nest.end(), [&](size_t l, size_t r) { return moving[l] > moving[r]; });
    for (const size_t a : moving)
      if (!whole) w.line("  const double r{0} = 1 / n{0};", a);
    std::string source = "from";
    for (const size_t k : nest) {
      const size_t a = moving[k];
      w.line("  double s{0} = 0;\n  for (s64 q{0} = b{0}; q{0} <= z{0}; ++q{0}) {{ const double g{0} = {1} {2};", a,
             weights[k], whole ? fmt::format("/ n{}", a) : fmt::format("* r{}", a));
      w.line("  const s64 p{0} = q{0} < 0 ? 0 : q{0} > {1} ? {1} : q{0};", a, x[a] - 1);
      source += fmt::format(" + p{} * {}", a, xs[a]);
    }
    std::string value = fmt::format("(double)w_get(x[{}])", source);
    for (size_t k = nest.size(); k-- > 0;) {
      const size_t a = moving[nest[k]];
      w.line("  s{0} += w_exact(g{0}, {1}); }}", a, value);
      value = fmt::format("s{}", a);
    }
    if (whole)
      w.line("  y[i] = w_sat<{}>(rint({}));\n}}", rt, value);
    else
      w.line("  y[i] = Put<{}>::to(({}){});\n}}", st, rt, value);
  } else if (!linear) {
    w.line("  y[i] = x[from];\n}}");
  } else {
    if (moving.size() > 3) return unsupported("linear resize of {} axes", moving.size());
    // Innermost first: pairs along the last axis, then pairs of those.
    std::vector<std::string> level;
    std::vector<size_t> axes(moving.rbegin(), moving.rend());  // outermost first
    const size_t corners = size_t{1} << axes.size();
    for (size_t c = 0; c < corners; ++c) {
      std::string at = "from";
      for (size_t k = 0; k < axes.size(); ++k)
        at += fmt::format(" + {}{}", (c >> (axes.size() - 1 - k) & 1) != 0 ? "h" : "l", axes[k]);
      w.line("  const {} v{} = w_get(x[{}]);", acc, c, at);
      level.push_back(fmt::format("v{}", c));
    }
    int name = 0;
    for (size_t k = axes.size(); k-- > 0;) {
      std::vector<std::string> next;
      for (size_t c = 0; c < level.size(); c += 2) {
        w.line("  const {0} m{1} = {2} + ({3} - {2}) * f{4};", acc, name, level[c], level[c + 1], axes[k]);
        next.push_back(fmt::format("m{}", name++));
      }
      level = std::move(next);
    }
    w.line("  y[i] = Put<{}>::to({});\n}}", st, level[0]);
  }
  Launch launch;
  launch.source = w.text();
  launch.size.block = kBlock;
  launch.size.grid_x = blocks_for(y.volume(), kBlock);
  launch.pointers = {{true, 0}, {false, 0}};
  launches->push_back(std::move(launch));
  return Status();
}

}  // namespace wootz::cuda
