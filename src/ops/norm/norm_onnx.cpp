#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

constexpr double kEpsilon = 1e-5;

// What the mean and variance of 16-bit inputs are computed in.
DType wide_type(DType type) { return type == DType::kF64 ? type : DType::kF32; }

std::vector<Value*> all_inputs(const ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  return inputs;
}

Status import_layer_norm(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  const int64_t axis = ctx.attr_int("axis", -1);
  const double epsilon = ctx.attr_float("epsilon", kEpsilon);
  Composer c(ctx);
  Value* y = c.op("LayerNorm", all_inputs(ctx), {{"axis", axis}, {"epsilon", epsilon}});
  WOOTZ_RETURN_IF_ERROR(c.output(0, y));
  if (!ctx.wants_output(1) && !ctx.wants_output(2)) return {};
  WOOTZ_ASSIGN_OR_RETURN(const int first, normalize_axis(axis, x->rank()));
  std::vector<int64_t> axes;
  for (int a = first; a < x->rank(); ++a) axes.push_back(a);
  const DType stash = ctx.attr_dtype("stash_type", DType::kF32);
  Value* wide = c.cast(x, wide_type(x->dtype()));
  Value* mean = c.reduce("mean", wide, axes, true);
  WOOTZ_RETURN_IF_ERROR(c.output(1, c.cast(mean, stash)));
  if (!ctx.wants_output(2)) return {};
  Value* centered = c.sub(wide, mean);
  Value* variance = c.reduce("mean", c.mul(centered, centered), axes, true);
  if (c.failed()) return c.status();
  Value* deviation = c.op("Sqrt", {c.add(variance, c.scalar(variance->dtype(), epsilon))});
  return c.output(2, c.cast(c.op("Reciprocal", {deviation}), stash));
}

Status import_rms_norm(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(0, c.op("RMSNorm", all_inputs(ctx),
                          {{"axis", ctx.attr_int("axis", -1)}, {"epsilon", ctx.attr_float("epsilon", kEpsilon)}}));
}

// ONNX Runtime's norm of a sum, which it gives as well: input, skip, scale, [bias of the norm,] [bias of the sum].
Status import_skip_norm(ImportContext& ctx, const char* op, bool norm_bias) {
  if (ctx.wants_output(1) || ctx.wants_output(2)) return ctx.fail("mean and deviation exist only in training");
  const int sum_bias = norm_bias ? 4 : 3;
  Composer c(ctx);
  Value* sum = c.add(ctx.input(0), ctx.input(1));
  if (ctx.has_input(sum_bias)) sum = c.add(sum, ctx.input(sum_bias));
  std::vector<Value*> inputs{sum, ctx.input(2)};
  if (norm_bias && ctx.has_input(3)) inputs.push_back(ctx.input(3));
  const double epsilon = ctx.attr_float("epsilon", 1e-12F);
  WOOTZ_RETURN_IF_ERROR(c.output(0, c.op(op, std::move(inputs), {{"axis", int64_t{-1}}, {"epsilon", epsilon}})));
  return c.output(3, sum);
}

Status import_skip_layer_norm(ImportContext& ctx) { return import_skip_norm(ctx, "LayerNorm", true); }
Status import_skip_rms_norm(ImportContext& ctx) { return import_skip_norm(ctx, "RMSNorm", false); }

Status import_instance_norm(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(0, c.op("InstanceNorm", all_inputs(ctx), {{"epsilon", ctx.attr_float("epsilon", kEpsilon)}}));
}

// Opset 18 has scale and bias per group; each value stands for all channels of its group.
Value* per_channel(ImportContext& ctx, Composer& c, Value* v, int64_t groups, const Dim& channels) {
  if (c.failed() || !channels.is_const() || v->shape().size() != 1 || !v->shape()[0].is_const()) return v;
  const int64_t each = channels.value() / std::max<int64_t>(groups, 1);
  if (v->shape()[0].value() != groups || each == 1) return v;
  if (v->is_constant()) {
    const HostTensor& given = v->constant();
    if (Result<HostTensor> all = HostTensor::allocate(given.dtype(), Dims{groups * each}); all.ok()) {
      for (int64_t i = 0; i < all->volume(); ++i) all->set_f64(i, given.get_f64(i / each));
      return ctx.add_constant(std::move(all).value());
    }
  }
  return c.reshape(c.op("Expand", {c.unsqueeze(v, {1}), ctx.ints({groups, each})}), std::vector<int64_t>{-1});
}

Status import_group_norm(ImportContext& ctx) {
  if (!ctx.has_input(0) || !ctx.has_input(1) || !ctx.has_input(2))
    return ctx.fail("input, scale and bias are required");
  Value* x = ctx.input(0);
  const int64_t groups = ctx.attr_int("num_groups", 0);
  if (x->rank() < 2) return ctx.fail("input {} has no channels", shape_to_string(x->shape()));
  Composer c(ctx);
  Value *scale = ctx.input(1), *bias = ctx.input(2);
  if (ctx.opset() < 21) {
    if (!x->shape()[1].is_const())
      return ctx.fail("input {}: the number of channels must be known", shape_to_string(x->shape()));
    scale = per_channel(ctx, c, scale, groups, x->shape()[1]);
    bias = per_channel(ctx, c, bias, groups, x->shape()[1]);
  }
  return c.output(
      0, c.op("GroupNorm", {x, scale, bias}, {{"groups", groups}, {"epsilon", ctx.attr_float("epsilon", kEpsilon)}}));
}

// A parameter [C] as it broadcasts against [N, C, ...].
Value* beside_channels(Composer& c, Value* v, int rank) {
  if (c.failed() || v->rank() != 1 || rank <= 2) return v;
  std::vector<int64_t> dims(static_cast<size_t>(rank) - 1, 1);
  dims[0] = -1;
  return c.reshape(v, dims);
}

// Mean and variance of this very input, and the running averages that follow from them.
Status import_batch_norm_training(ImportContext& ctx, Composer& c) {
  Value* x = ctx.input(0);
  const double momentum = ctx.attr_float("momentum", 0.9);
  std::vector<int64_t> axes;
  for (int a = 0; a < x->rank(); ++a)
    if (a != 1) axes.push_back(a);
  Value* wide = c.cast(x, wide_type(x->dtype()));
  Value* mean = c.reduce("mean", wide, axes, true);
  Value* centered = c.sub(wide, mean);
  Value* variance = c.reduce("mean", c.mul(centered, centered), axes, true);
  Value* y = c.op(
      "BatchNorm",
      {x, beside_channels(c, ctx.input(1), x->rank()), beside_channels(c, ctx.input(2), x->rank()), mean, variance},
      {{"epsilon", ctx.attr_float("epsilon", kEpsilon)}});
  WOOTZ_RETURN_IF_ERROR(c.output(0, y));
  const auto running = [&](int input, Value* now) {
    Value* old = ctx.input(input);
    Value* flat = c.cast(c.reshape(now, std::vector<int64_t>{-1}), old->dtype());
    return c.add(c.scale(old, momentum), c.scale(flat, 1 - momentum));
  };
  if (ctx.wants_output(1)) WOOTZ_RETURN_IF_ERROR(c.output(1, running(3, mean)));
  if (ctx.wants_output(2)) WOOTZ_RETURN_IF_ERROR(c.output(2, running(4, variance)));
  return {};
}

Status import_batch_norm(ImportContext& ctx) {
  for (int i = 0; i < 5; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  Value* x = ctx.input(0);
  if (x->rank() < 1) return ctx.fail("input {} has no channels", shape_to_string(x->shape()));
  Composer c(ctx);
  if (ctx.opset() >= 14 && ctx.attr_int("training_mode", 0) != 0) {
    if (x->rank() < 2) return ctx.fail("training mode with input {}", shape_to_string(x->shape()));
    return import_batch_norm_training(ctx, c);
  }
  for (int i = 1; i < ctx.num_outputs(); ++i)
    if (ctx.wants_output(i)) return ctx.fail("output {} exists only in training", i);
  std::vector<Value*> inputs{x};
  for (int i = 1; i < 5; ++i) inputs.push_back(beside_channels(c, ctx.input(i), x->rank()));
  return c.output(0, c.op("BatchNorm", std::move(inputs), {{"epsilon", ctx.attr_float("epsilon", kEpsilon)}}));
}

Status import_lp_normalization(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  const int64_t p = ctx.attr_int("p", 2);
  if (p != 1 && p != 2) return ctx.fail("p is {}; 1 or 2 is allowed", p);
  Composer c(ctx);
  Value* norm = c.reduce(p == 1 ? "l1" : "l2", x, {ctx.attr_int("axis", -1)}, true);
  Value* zero = c.scalar(x->dtype(), 0);
  Value* empty = c.op("Equal", {norm, zero});
  return c.output(0, c.op("Where", {empty, zero, c.div(x, norm)}));
}

Status import_mean_variance(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  const std::vector<int64_t> axes = ctx.attr_ints("axes", {0, 2, 3});
  Composer c(ctx);
  Value* wide = c.cast(x, wide_type(x->dtype()));
  Value* centered = c.sub(wide, c.reduce("mean", wide, axes, true));
  Value* deviation = c.op("Sqrt", {c.reduce("mean", c.mul(centered, centered), axes, true)});
  if (c.failed()) return c.status();
  Value* y = c.div(centered, c.add(deviation, c.scalar(deviation->dtype(), 1e-9)));
  return c.output(0, c.cast(y, x->dtype()));
}

}  // namespace

std::span<const OnnxImport> norm_onnx() {
  static constexpr OnnxImport kNormImports[] = {
      {"BatchNormalization", 1, import_batch_norm},
      {"GroupNormalization", 18, import_group_norm},
      {"InstanceNormalization", 1, import_instance_norm},
      {"LayerNormalization", 1, import_layer_norm},
      {"LpNormalization", 1, import_lp_normalization},
      {"MeanVarianceNormalization", 9, import_mean_variance},
      {"RMSNormalization", 23, import_rms_norm},
      {"SimplifiedLayerNormalization", 1, import_rms_norm},  // ONNX Runtime's name of it, in ONNX's domain
      {"SkipLayerNormalization", 1, import_skip_layer_norm, "com.microsoft"},
      {"SkipSimplifiedLayerNormalization", 1, import_skip_rms_norm, "com.microsoft"},
  };
  return kNormImports;
}

}  // namespace wootz::ops
