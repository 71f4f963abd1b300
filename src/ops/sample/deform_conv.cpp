// DeformConv: a convolution whose taps are moved by learned offsets.
#include <cmath>

#include "ops/sample/sample.h"
#include "ops/support/ref_math.h"
#include "ops/support/window.h"

namespace wootz::ops {
namespace {

Dim product(const Shape& shape, size_t from) {
  Dim p(1);
  for (size_t i = from; i < shape.size(); ++i) p = p * shape[i];
  return p;
}

// Inputs x [N,C,in..], w [M,C/groups,k..], offset [N,offset_groups*K*r,out..], [bias M], [mask
// [N,offset_groups*K,out..]].
Status infer_deform_conv(InferContext& ctx) {
  const Node& node = ctx.node();
  const Shape &x = ctx.shape(0), &w = ctx.shape(1), &offset = ctx.shape(2);
  const int64_t groups = node.attr_int("groups", 1), parts = node.attr_int("offset_groups", 1);
  if (x.size() < 3 || w.size() != x.size() || offset.size() != x.size() || groups < 1 || parts < 1)
    return ctx.fail("input {}, weights {}, offsets {} in {} groups and {} offset groups", shape_to_string(x),
                    shape_to_string(w), shape_to_string(offset), groups, parts);
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(node, ctx.rank(0) - 2));
  if (window.auto_pad != AutoPad::kExplicit) return ctx.fail("auto_pad is not part of this op");
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && (!is_float(ctx.dtype(i)) || ctx.dtype(i) != ctx.dtype(0)))
      return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
  const auto differ = [](const Dim& a, const Dim& b) { return a.is_const() && b.is_const() && a.value() != b.value(); };
  const Dim taps = product(w, 2) * Dim(parts);
  if (differ(x[1], w[1] * Dim(groups)) || (w[0].is_const() && w[0].value() % groups != 0) ||
      (x[1].is_const() && x[1].value() % parts != 0) || differ(offset[1], taps * Dim(window.rank)) ||
      differ(offset[0], x[0]))
    return ctx.fail("input {}, weights {} and offsets {} do not fit", shape_to_string(x), shape_to_string(w),
                    shape_to_string(offset));
  Shape y{x[0], w[0]};
  for (size_t i = 2; i < x.size(); ++i) {
    y.push_back(window_output(window, static_cast<int>(i) - 2, x[i], w[i]));
    if (differ(y[i], offset[i]) || (y[i].is_const() && y[i].value() < 1))
      return ctx.fail("an output of {} with offsets {}", shape_to_string(y), shape_to_string(offset));
  }
  if (ctx.has(3) && (ctx.rank(3) != 1 || differ(ctx.shape(3)[0], w[0])))
    return ctx.fail("bias {}", shape_to_string(ctx.shape(3)));
  if (ctx.has(4)) {
    const Shape& mask = ctx.shape(4);
    bool fits = mask.size() == x.size() && !differ(mask[0], x[0]) && !differ(mask[1], taps);
    for (size_t i = 2; fits && i < x.size(); ++i) fits = !differ(mask[i], y[i]);
    if (!fits) return ctx.fail("mask {} for offsets {}", shape_to_string(mask), shape_to_string(offset));
  }
  ctx.set_output(0, ctx.dtype(0), y);
  return {};
}

// Linear taps around x; what lies outside counts as zero.
SampleTaps linear_taps(double x, int64_t extent) {
  SampleTaps t;
  if (!(std::abs(x) < 1e15)) return t;
  const double base = std::floor(x);
  const auto b = static_cast<int64_t>(base);
  if (b >= 0 && b < extent) t.add(b, 1 - (x - base));
  if (b + 1 >= 0 && b + 1 < extent) t.add(b + 1, x - base);
  return t;
}

Status reference_deform_conv(EvalContext& ctx) {
  const Node& node = ctx.node;
  HostTensor& y = ctx.outputs[0];
  const Dims &xd = ctx.in(0).dims(), &wd = ctx.in(1).dims();
  const auto rank = xd.size() - 2;
  WOOTZ_ASSIGN_OR_RETURN(const Window window, read_window(node, static_cast<int>(rank)));
  const int64_t groups = node.attr_int("groups", 1), parts = node.attr_int("offset_groups", 1);
  const Dims in(xd.span().subspan(2)), out(y.dims().span().subspan(2)), kernel(wd.span().subspan(2));
  const int64_t batch = xd[0], channels = xd[1], outputs = wd[0], taps = kernel.volume(), points = out.volume();
  const int64_t per_group = channels / groups, per_part = channels / parts;
  const std::vector<double> x = load_f64(ctx.in(0)), w = load_f64(ctx.in(1)), offset = load_f64(ctx.in(2));
  const std::vector<double> bias = ctx.has(3) ? load_f64(ctx.in(3)) : std::vector<double>();
  const std::vector<double> mask = ctx.has(4) ? load_f64(ctx.in(4)) : std::vector<double>();
  std::vector<double> columns(static_cast<size_t>(channels * taps * points)),
      result(static_cast<size_t>(outputs / groups * points));
  std::vector<SampleTaps> at(rank);
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t g = 0; g < parts; ++g) {
      StridedWalk tap(kernel, {});
      for (int64_t k = 0; k < taps; ++k, tap.next()) {
        StridedWalk to(out, {});
        for (int64_t p = 0; p < points; ++p, to.next()) {
          const int64_t first = (n * parts + g) * taps + k;
          for (size_t a = 0; a < rank; ++a) {
            const double moved = offset[static_cast<size_t>(
                (first * static_cast<int64_t>(rank) + static_cast<int64_t>(a)) * points + p)];
            const int64_t fixed =
                to.position()[a] * window.strides[a] - window.begins[a] + tap.position()[a] * window.dilations[a];
            at[a] = linear_taps(static_cast<double>(fixed) + moved, in[a]);
          }
          const double factor = mask.empty() ? 1 : mask[static_cast<size_t>(first * points + p)];
          for (int64_t c = g * per_part; c < (g + 1) * per_part; ++c)
            columns[static_cast<size_t>((c * taps + k) * points + p)] =
                factor * weighted_sum(x.data() + (n * channels + c) * in.volume(), in, at);
        }
      }
    }
    for (int64_t g = 0; g < groups; ++g) {
      std::fill(result.begin(), result.end(), 0.0);
      matmul_accumulate(outputs / groups, points, per_group * taps,
                        w.data() + g * (outputs / groups) * per_group * taps,
                        columns.data() + g * per_group * taps * points, result.data());
      for (size_t i = 0; i < result.size() && !bias.empty(); ++i)
        result[i] += bias[static_cast<size_t>(g * (outputs / groups) + static_cast<int64_t>(i) / points)];
      store_f64(&y, (n * outputs + g * (outputs / groups)) * points, result);
    }
  }
  return {};
}

}  // namespace

const OpDef& deform_conv_op() {
  static const OpDef kDeformConv{.name = "DeformConv",
                                 .min_inputs = 3,
                                 .max_inputs = 5,
                                 .attributes = {{"strides", AttrKind::kInts},
                                                {"pads", AttrKind::kInts},
                                                {"dilations", AttrKind::kInts},
                                                {"groups", AttrKind::kInt},
                                                {"offset_groups", AttrKind::kInt}},
                                 .infer = infer_deform_conv,
                                 .reference = reference_deform_conv};
  return kDeformConv;
}

}  // namespace wootz::ops
