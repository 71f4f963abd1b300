// GridSample, AffineGrid and DeformConv: reading an image between its elements.
#include <algorithm>
#include <cmath>

#include "ops/module_table.h"
#include "ops/sample/sample.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// GridSample: inputs x [N,C,d1..dr], grid [N,o1..or,r] with the last axis first. Attributes mode (linear, nearest,
// cubic), padding_mode (zeros, border, reflection), align_corners.
Status infer_grid_sample(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &grid = ctx.shape(1);
  const int spatial = ctx.rank(0) - 2;
  if (spatial < 1 || grid.size() != x.size() || (grid.back().is_const() && grid.back().value() != spatial) ||
      (x[0].is_const() && grid[0].is_const() && x[0].value() != grid[0].value()))
    return ctx.fail("input {} with grid {}", shape_to_string(x), shape_to_string(grid));
  if (!is_float(ctx.dtype(1))) return ctx.fail("grid of type {}", dtype_name(ctx.dtype(1)));
  const std::string mode = ctx.node().attr_string("mode", "linear"),
                    padding = ctx.node().attr_string("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic") return ctx.fail("unknown mode '{}'", mode);
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return ctx.fail("unknown padding_mode '{}'", padding);
  Shape y{x[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  ctx.set_output(0, ctx.dtype(0), y);
  return {};
}

double reflect(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  if (x >= low && x <= high) return x;
  const double over = x < low ? low - x : x - high;
  const double times = std::floor(over / span), rest = over - times * span;
  const bool even = std::fmod(times, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

struct Sampler {
  std::string mode, padding;
  bool align = false;

  // A normalized coordinate as a position along an axis of `extent` elements, brought inside as padding_mode says.
  double position(double normalized, int64_t extent) const {
    const auto n = static_cast<double>(extent);
    double x = align ? (normalized + 1) / 2 * (n - 1) : ((normalized + 1) * n - 1) / 2;
    if (mode == "nearest") x = std::nearbyint(x);
    if (!std::isfinite(x)) return x;
    const double low = align ? 0 : -0.5, high = align ? n - 1 : n - 0.5;
    if (padding == "border" && (x < low || x > high)) x = std::clamp(x, 0.0, n - 1);
    if (padding == "reflection") x = reflect(x, low, high);
    return x;
  }
  // The element a tap at `i` reads; -1: zero.
  int64_t element(int64_t i, int64_t extent) const {
    if (i >= 0 && i < extent) return i;
    if (padding == "zeros") return -1;
    if (padding == "border") return std::clamp<int64_t>(i, 0, extent - 1);
    const double n = static_cast<double>(extent);
    const double at = reflect(static_cast<double>(i), align ? 0 : -0.5, align ? n - 1 : n - 0.5);
    return std::clamp<int64_t>(static_cast<int64_t>(at), 0, extent - 1);
  }
  SampleTaps taps(double x, int64_t extent) const {
    SampleTaps t;
    if (!(std::abs(x) < 1e15)) return t;
    const double base = std::floor(x), f = x - base;
    const auto b = static_cast<int64_t>(base);
    const auto add = [&](int64_t i, double w) {
      if (const int64_t e = element(i, extent); e >= 0 && w != 0) t.add(e, w);
    };
    if (mode == "nearest") {
      add(static_cast<int64_t>(std::nearbyint(x)), 1);
    } else if (mode == "linear") {
      add(b, 1 - f);
      add(b + 1, f);
    } else {
      constexpr double a = -0.75;
      const auto outer = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      const auto inner = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      add(b - 1, outer(f + 1));
      add(b, inner(f));
      add(b + 1, inner(1 - f));
      add(b + 2, outer(2 - f));
    }
    return t;
  }
};

Status reference_grid_sample(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &grid = ctx.in(1);
  HostTensor& y = ctx.outputs[0];
  const Sampler sampler{ctx.node.attr_string("mode", "linear"), ctx.node.attr_string("padding_mode", "zeros"),
                        ctx.node.attr_int("align_corners") != 0};
  const auto rank = x.dims().size() - 2;
  const int64_t batch = x.dims()[0], channels = x.dims()[1];
  const Dims extents(x.dims().span().subspan(2));
  if (y.volume() == 0) return {};
  if (extents.volume() == 0) return invalid_argument("input {} has nothing to sample", x.dims().to_string());
  const std::vector<double> data = load_f64(x), where = load_f64(grid);
  const int64_t points = y.volume() / (batch * channels);
  std::vector<SampleTaps> taps(rank);
  std::vector<double> result(static_cast<size_t>(y.volume()));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t p = 0; p < points; ++p) {
      for (size_t a = 0; a < rank; ++a) {
        const double at = where[static_cast<size_t>(n * points + p) * rank + (rank - 1 - a)];
        taps[a] = sampler.taps(sampler.position(at, extents[a]), extents[a]);
      }
      for (int64_t c = 0; c < channels; ++c)
        result[static_cast<size_t>((n * channels + c) * points + p)] =
            weighted_sum(data.data() + (n * channels + c) * extents.volume(), extents, taps);
    }
  }
  store_f64(&y, 0, result);
  return {};
}

// AffineGrid: inputs theta [N,r,r+1], size i64[r+2]. Output [N,size[2..],r].
Status infer_affine_grid(InferContext& ctx) {
  const Shape& theta = ctx.shape(0);
  if (theta.size() != 3 || !theta[1].is_const() || (theta[1].value() != 2 && theta[1].value() != 3) ||
      !(theta[2] == theta[1] + Dim(1)))
    return ctx.fail("theta {}; [N,2,3] or [N,3,4] is needed", shape_to_string(theta));
  if (!is_float(ctx.dtype(0)) || ctx.dtype(1) != DType::kI64)
    return ctx.fail("inputs of type {} and {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  const auto rank = static_cast<size_t>(theta[1].value());
  const auto size = ctx.dims_value(1);
  if (ctx.rank(1) != 1 || (size && size->size() != rank + 2))
    return ctx.fail("size {} for theta {}", shape_to_string(ctx.shape(1)), shape_to_string(theta));
  Shape y{theta[0]};
  for (size_t a = 0; a < rank; ++a) {
    y.push_back(size ? (*size)[a + 2] : ctx.data_dependent(0, static_cast<int>(a) + 1));
    if (y.back().is_const() && y.back().value() < 0) return ctx.fail("a size of {}", y.back().value());
  }
  y.push_back(theta[1]);
  ctx.set_output(0, ctx.dtype(0), y);
  return {};
}

Status reference_affine_grid(EvalContext& ctx) {
  const HostTensor& theta = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  const bool align = ctx.node.attr_int("align_corners") != 0;
  const auto rank = static_cast<size_t>(theta.dims()[1]);
  const Dims space(y.dims().span().subspan(1, rank));
  int64_t at = 0;
  for (int64_t n = 0; n < theta.dims()[0]; ++n) {
    StridedWalk walk(space, {});
    for (int64_t p = 0; p < space.volume(); ++p, walk.next()) {
      double point[4] = {0, 0, 0, 0};
      for (size_t a = 0; a < rank; ++a) {  // the last axis is x
        const auto i = static_cast<double>(walk.position()[rank - 1 - a]),
                   extent = static_cast<double>(space[rank - 1 - a]);
        point[a] = align ? (extent == 1 ? -1 : -1 + 2 * i / (extent - 1)) : (2 * i + 1) / extent - 1;
      }
      point[rank] = 1;
      for (size_t r = 0; r < rank; ++r) {
        double sum = 0;
        for (size_t k = 0; k <= rank; ++k)
          sum += point[k] * theta.get_f64((n * static_cast<int64_t>(rank) + static_cast<int64_t>(r)) *
                                              static_cast<int64_t>(rank + 1) +
                                          static_cast<int64_t>(k));
        y.set_f64(at++, sum);
      }
    }
  }
  return {};
}

const OpDef kGridSample{
    .name = "GridSample",
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = {{"mode", AttrKind::kString}, {"padding_mode", AttrKind::kString}, {"align_corners", AttrKind::kInt}},
    .infer = infer_grid_sample,
    .reference = reference_grid_sample};
const OpDef kAffineGrid{.name = "AffineGrid",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .attributes = {{"align_corners", AttrKind::kInt}},
                        .infer = infer_affine_grid,
                        .reference = reference_affine_grid};

}  // namespace

double weighted_sum(const double* data, const Dims& extents, const std::vector<SampleTaps>& taps, size_t axis,
                    int64_t offset) {
  if (axis == taps.size()) return data[offset];
  double sum = 0;
  for (int t = 0; t < taps[axis].count; ++t)
    sum += taps[axis].weight[t] *
           weighted_sum(data, extents, taps, axis + 1, offset * extents[axis] + taps[axis].index[t]);
  return sum;
}

std::span<const OpDef* const> sample_ops() {
  static const OpDef* const kSampleDefs[] = {&kGridSample, &kAffineGrid, &deform_conv_op()};
  return kSampleDefs;
}

}  // namespace wootz::ops
