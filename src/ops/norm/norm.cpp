// Normalizations over part of a tensor: LayerNorm, RMSNorm, InstanceNorm, GroupNorm; and BatchNorm, which is pointwise.
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// Scale and bias of LayerNorm and RMSNorm broadcast to the input; those of InstanceNorm and GroupNorm are one per
// channel.
Status check_parameters(InferContext& ctx, bool per_channel) {
  const Shape& x = ctx.shape(0);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    if (!is_float(ctx.dtype(i))) return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
    if (i == 0) continue;
    const Shape& p = ctx.shape(i);
    bool fits = true;
    if (per_channel) {
      fits = p.size() == 1 && (!p[0].is_const() || !x[1].is_const() || p[0].value() == x[1].value());
    } else {
      const Result<Shape> all = broadcast_shapes(x, p);
      fits = all.ok() && all->size() == x.size();
      for (size_t a = 0; fits && a < x.size(); ++a) fits = !x[a].is_const() || x[a].value() != 1 || (*all)[a] == x[a];
    }
    if (!fits) return ctx.fail("input {} of shape {} for {}", i, shape_to_string(p), shape_to_string(x));
  }
  if (!(ctx.node().attr_float("epsilon", 1e-5) >= 0))
    return ctx.fail("epsilon is {}", ctx.node().attr_float("epsilon"));
  ctx.set_output(0, ctx.dtype(0), x);
  return {};
}

Status infer_from_axis(InferContext& ctx) {
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -1), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} of input {}", axis.status().message(), shape_to_string(ctx.shape(0)));
  return check_parameters(ctx, false);
}

Status infer_channels(InferContext& ctx) {
  if (ctx.rank(0) < 2) return ctx.fail("input {} has no channels", shape_to_string(ctx.shape(0)));
  const int64_t groups = ctx.node().attr_int("groups", 1);
  const Dim& channels = ctx.shape(0)[1];
  if (groups < 1 || (channels.is_const() && channels.value() % groups != 0))
    return ctx.fail("input {} does not split into {} groups of channels", shape_to_string(ctx.shape(0)), groups);
  return check_parameters(ctx, true);
}

// Brings lines of `length` consecutive elements to mean 0 (when centered) and variance 1.
void normalize_lines(std::vector<double>* data, int64_t length, double epsilon, bool centered) {
  const auto n = static_cast<size_t>(length);
  for (size_t first = 0; n > 0 && first < data->size(); first += n) {
    double* v = data->data() + first;
    double mean = 0, square = 0;
    for (size_t i = 0; centered && i < n; ++i) mean += v[i];
    mean /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) square += (v[i] - mean) * (v[i] - mean);
    const double factor = 1 / std::sqrt(square / static_cast<double>(n) + epsilon);
    for (size_t i = 0; i < n; ++i) v[i] = (v[i] - mean) * factor;
  }
}

// data * scale + bias, either of which may be missing; both broadcast by the given strides.
void apply_parameters(const EvalContext& ctx, const Dims& scale_strides, const Dims& bias_strides,
                      std::vector<double>* data) {
  const std::vector<double> scale = ctx.has(1) ? load_f64(ctx.in(1)) : std::vector<double>();
  const std::vector<double> bias = ctx.has(2) ? load_f64(ctx.in(2)) : std::vector<double>();
  StridedWalk walk(ctx.in(0).dims(), {scale_strides, bias_strides});
  for (double& v : *data) {
    if (!scale.empty()) v *= scale[static_cast<size_t>(walk.offset(0))];
    if (!bias.empty()) v += bias[static_cast<size_t>(walk.offset(1))];
    walk.next();
  }
}

template <bool kCentered>
Status reference_from_axis(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -1), x.rank()));
  int64_t length = 1;
  for (int i = axis; i < x.rank(); ++i) length *= x.dims()[static_cast<size_t>(i)];
  std::vector<double> data = load_f64(x);
  normalize_lines(&data, length, ctx.node.attr_float("epsilon", 1e-5), kCentered);
  const auto strides = [&](size_t i) {
    return ctx.has(i) ? broadcast_strides(ctx.in(i).dims(), x.dims()) : Dims::filled(x.rank(), 0);
  };
  apply_parameters(ctx, strides(1), strides(2), &data);
  store_f64(&ctx.outputs[0], 0, data);
  return {};
}

Status reference_channels(EvalContext& ctx, int64_t groups) {
  const HostTensor& x = ctx.in(0);
  const int64_t lines = x.dims()[0] * groups;
  std::vector<double> data = load_f64(x);
  normalize_lines(&data, lines == 0 ? 0 : x.volume() / lines, ctx.node.attr_float("epsilon", 1e-5), true);
  Dims strides = Dims::filled(x.rank(), 0);
  strides[1] = 1;
  apply_parameters(ctx, strides, strides, &data);
  store_f64(&ctx.outputs[0], 0, data);
  return {};
}
Status reference_instance(EvalContext& ctx) { return reference_channels(ctx, ctx.in(0).dims()[1]); }
Status reference_group(EvalContext& ctx) { return reference_channels(ctx, ctx.node.attr_int("groups", 1)); }

// x / max(|x|, epsilon), |x| being the Euclidean length of what lies in the axes from `axis` on.
Status infer_l2(InferContext& ctx) {
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", -1), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} of input {}", axis.status().message(), shape_to_string(ctx.shape(0)));
  if (!is_float(ctx.dtype(0))) return ctx.fail("input 0 of type {}", dtype_name(ctx.dtype(0)));
  if (!(ctx.node().attr_float("epsilon") >= 0)) return ctx.fail("epsilon is {}", ctx.node().attr_float("epsilon"));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

Status reference_l2(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", -1), x.rank()));
  size_t length = 1;
  for (int i = axis; i < x.rank(); ++i) length *= static_cast<size_t>(x.dims()[static_cast<size_t>(i)]);
  std::vector<double> data = load_f64(x);
  for (size_t first = 0; length > 0 && first < data.size(); first += length) {
    double square = 0;
    for (size_t i = first; i < first + length; ++i) square += data[i] * data[i];
    const double norm = std::sqrt(square), bound = ctx.node.attr_float("epsilon");
    for (size_t i = first; i < first + length; ++i) data[i] /= norm < bound ? bound : norm;
  }
  store_f64(&ctx.outputs[0], 0, data);
  return {};
}

// Inputs x, scale, bias, mean, var, which broadcast to x ([C,1,1] against [N,C,H,W]).
Result<PointwiseExpr> batch_norm_expression(const Node& node) {
  PointwiseExpr e;
  const DType type = node.input(0)->dtype();
  const DType wide = type == DType::kF64 ? DType::kF64 : DType::kF32;
  uint16_t v[5];
  for (uint16_t i = 0; i < 5; ++i) {
    const DType from = node.input(i)->dtype();
    if (!is_float(from)) return at_node(node, invalid_argument("input {} of type {}", i, dtype_name(from)));
    v[i] = e.input(i, from);
    if (from != wide) v[i] = e.push(PwOp::kCast, wide, v[i]);
  }
  const uint16_t epsilon = e.constant(node.attr_float("epsilon", 1e-5), wide);
  const uint16_t deviation = e.push(PwOp::kSqrt, wide, e.push(PwOp::kAdd, wide, v[4], epsilon));
  const uint16_t factor = e.push(PwOp::kDiv, wide, v[1], deviation);
  const uint16_t centered = e.push(PwOp::kSub, wide, v[0], v[3]);
  uint16_t y = e.push(PwOp::kAdd, wide, e.push(PwOp::kMul, wide, centered, factor), v[2]);
  if (type != wide) y = e.push(PwOp::kCast, type, y);
  e.outputs = {y};
  return e;
}

const OpDef kLayerNorm{.name = "LayerNorm",
                       .max_inputs = 3,
                       .attributes = {{"axis", AttrKind::kInt}, {"epsilon", AttrKind::kFloat}},
                       .infer = infer_from_axis,
                       .reference = reference_from_axis<true>,
                       .lowering = Lowering::kNorm};
const OpDef kRmsNorm{.name = "RMSNorm",
                     .max_inputs = 3,
                     .attributes = {{"axis", AttrKind::kInt}, {"epsilon", AttrKind::kFloat}},
                     .infer = infer_from_axis,
                     .reference = reference_from_axis<false>,
                     .lowering = Lowering::kNorm};
const OpDef kInstanceNorm{.name = "InstanceNorm",
                          .max_inputs = 3,
                          .attributes = {{"epsilon", AttrKind::kFloat}},
                          .infer = infer_channels,
                          .reference = reference_instance,
                          .lowering = Lowering::kNorm};
const OpDef kGroupNorm{.name = "GroupNorm",
                       .max_inputs = 3,
                       .attributes = {{"groups", AttrKind::kInt, true}, {"epsilon", AttrKind::kFloat}},
                       .infer = infer_channels,
                       .reference = reference_group,
                       .lowering = Lowering::kNorm};
const OpDef kL2Norm{.name = "L2Norm",
                    .attributes = {{"axis", AttrKind::kInt}, {"epsilon", AttrKind::kFloat}},
                    .infer = infer_l2,
                    .reference = reference_l2,
                    .lowering = Lowering::kNorm};
const OpDef kBatchNorm{.name = "BatchNorm",
                       .min_inputs = 5,
                       .max_inputs = 5,
                       .attributes = {{"epsilon", AttrKind::kFloat}},
                       .lowering = Lowering::kPointwise,
                       .pointwise = batch_norm_expression};

}  // namespace

std::span<const OpDef* const> norm_ops() {
  static const OpDef* const kNormDefs[] = {&kLayerNorm, &kRmsNorm, &kInstanceNorm, &kGroupNorm, &kL2Norm, &kBatchNorm};
  return kNormDefs;
}

}  // namespace wootz::ops
