// Losses: NllLoss; SoftmaxCrossEntropyLoss is LogSoftmax and NllLoss.
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/compose.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// Inputs log probabilities [N,C,d..], target classes [N,d..], [weight [C]]. Attributes reduction (none, sum, mean) and
// ignore_index (a class that counts for nothing).
Status infer_nll(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &target = ctx.shape(1);
  if (x.size() < 2 || target.size() + 1 != x.size())
    return ctx.fail("input {} with targets {}", shape_to_string(x), shape_to_string(target));
  for (size_t i = 0; i < target.size(); ++i) {
    const Dim& d = x[i == 0 ? 0 : i + 1];
    if (d.is_const() && target[i].is_const() && d.value() != target[i].value())
      return ctx.fail("input {} with targets {}", shape_to_string(x), shape_to_string(target));
  }
  if (!is_float(ctx.dtype(0)) || !is_integer(ctx.dtype(1)))
    return ctx.fail("inputs of type {} and {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  if (ctx.has(2) && (ctx.rank(2) != 1 || !is_float(ctx.dtype(2)) ||
                     (x[1].is_const() && ctx.shape(2)[0].is_const() && x[1].value() != ctx.shape(2)[0].value())))
    return ctx.fail("weights {} for input {}", shape_to_string(ctx.shape(2)), shape_to_string(x));
  const std::string reduction = ctx.node().attr_string("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return ctx.fail("unknown reduction '{}'", reduction);
  ctx.set_output(0, ctx.dtype(0), reduction == "none" ? target : Shape());
  return {};
}

Status reference_nll(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &target = ctx.in(1);
  const std::string reduction = ctx.node.attr_string("reduction", "mean");
  const bool ignores = ctx.node.has_attr("ignore_index");
  const int64_t ignored = ctx.node.attr_int("ignore_index"), classes = x.dims()[1], inner = x.dims().strides()[1];
  double sum = 0, weights = 0;
  for (int64_t e = 0; e < target.volume(); ++e) {
    const int64_t c = target.get_i64(e);
    double loss = 0, weight = 0;
    if (!ignores || c != ignored) {
      if (c < 0 || c >= classes) return invalid_argument("target {} with {} classes", c, classes);
      weight = ctx.has(2) ? ctx.in(2).get_f64(c) : 1;
      loss = -x.get_f64((e / inner * classes + c) * inner + e % inner) * weight;
    }
    if (reduction == "none") ctx.outputs[0].set_f64(e, loss);
    sum += loss;
    weights += weight;
  }
  if (reduction == "sum") ctx.outputs[0].set_f64(0, sum);
  if (reduction == "mean") ctx.outputs[0].set_f64(0, sum / weights);
  return {};
}

const OpDef kNllLoss{.name = "NllLoss",
                     .min_inputs = 2,
                     .max_inputs = 3,
                     .attributes = {{"reduction", AttrKind::kString}, {"ignore_index", AttrKind::kInt}},
                     .infer = infer_nll,
                     .reference = reference_nll};

Value* nll(ImportContext& ctx, Composer& c, Value* x) {
  AttrMap attrs{{"reduction", ctx.attr_string("reduction", "mean")}};
  if (ctx.has_attr("ignore_index")) attrs["ignore_index"] = ctx.attr_int("ignore_index", 0);
  std::vector<Value*> inputs{x, ctx.input(1)};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  return c.op("NllLoss", std::move(inputs), std::move(attrs));
}

Status import_nll(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(0, nll(ctx, c, ctx.input(0)));
}

Status import_cross_entropy(ImportContext& ctx) {
  Composer c(ctx);
  Value* logs = c.op("LogSoftmax", {ctx.input(0)}, {{"axis", int64_t{1}}});
  WOOTZ_RETURN_IF_ERROR(c.output(0, nll(ctx, c, logs)));
  return c.output(1, logs);
}

}  // namespace

std::span<const OpDef* const> loss_ops() {
  static const OpDef* const kLossDefs[] = {&kNllLoss};
  return kLossDefs;
}

std::span<const OnnxImport> loss_onnx() {
  static constexpr OnnxImport kLossImports[] = {
      {"NegativeLogLikelihoodLoss", 12, import_nll},
      {"SoftmaxCrossEntropyLoss", 12, import_cross_entropy},
  };
  return kLossImports;
}

}  // namespace wootz::ops
