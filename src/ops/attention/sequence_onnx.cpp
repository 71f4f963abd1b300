// Import of the attention-like ops that came with opset 27, and of FlexAttention.
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/control/inline_graph.h"
#include "ops/support/compose.h"

namespace wootz::ops {

Status import_linear_attention(ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  const bool state = ctx.num_outputs() > 1 && ctx.wants_output(1);
  Composer c(ctx);
  Node* node = c.node("LinearAttention", std::move(inputs),
                      {{"q_heads", ctx.attr_int("q_num_heads", 0)},
                       {"kv_heads", ctx.attr_int("kv_num_heads", 0)},
                       {"rule", ctx.attr_string("update_rule", "gated_delta")},
                       {"scale", ctx.attr_float("scale", 0)}},
                      state ? 2 : 1);
  if (c.failed()) return c.status();
  if (state) ctx.set_output(1, node->output(1));
  return c.output(0, node->output(0));
}

// Inputs x [B,C,L], weights [C,1,k], [bias], [past [B,C,k-1]].
Status import_causal_conv(ImportContext& ctx) {
  Value *x = ctx.input(0), *w = ctx.input(1), *past = ctx.input(3);
  if (x == nullptr || w == nullptr) return ctx.fail("input and weights are required");
  if (x->rank() != 3 || w->rank() != 3 || !w->shape()[0].is_const() || !w->shape()[2].is_const() ||
      w->shape()[2].value() < 1)
    return ctx.fail("input {} with weights {}", shape_to_string(x->shape()), shape_to_string(w->shape()));
  const int64_t before = w->shape()[2].value() - 1;
  Composer c(ctx);
  Value* padded = x;
  if (before > 0) {
    padded = past != nullptr ? c.concat({past, x}, 2)
                             : c.op("Pad", {x, c.ints({0, 0, before, 0, 0, 0})}, {{"mode", std::string("constant")}});
  }
  std::vector<Value*> inputs{padded, w};
  if (ctx.has_input(2)) inputs.push_back(ctx.input(2));
  Value* y = c.op("Conv", std::move(inputs), {{"groups", w->shape()[0].value()}});
  const std::string activation = ctx.attr_string("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = c.mul(y, c.op("Sigmoid", {y}));
  else if (activation != "none")
    return ctx.fail("unknown activation '{}'", activation);
  WOOTZ_RETURN_IF_ERROR(c.output(0, y));
  if (!ctx.wants_output(1)) return {};
  return c.output(1, before > 0 ? c.slice(padded, 2, -before, INT64_MAX) : c.slice(padded, 2, 0, 0));
}

namespace {

// Runs a modifier subgraph on scores or probabilities, in place.
Status modify(ImportContext& ctx, Composer& c, const char* name, Value** value) {
  if (!ctx.has_attr(name) || c.failed()) return c.status();
  TypeInfo info;
  info.dtype = (*value)->dtype();
  info.shape = (*value)->shape();
  info.present = true;
  std::vector<Value*> captured;
  WOOTZ_ASSIGN_OR_RETURN(const auto graph, ctx.attr_graph(name, &captured, {info}));
  std::vector<Value*> inputs{*value};
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> outputs, inline_graph(ctx, *graph, inputs));
  if (outputs.size() != 1) return ctx.fail("{} gives {} outputs", name, outputs.size());
  *value = outputs[0];
  return {};
}

}  // namespace

Status import_flex_attention(ImportContext& ctx) {
  for (int i = 0; i < 3; ++i)
    if (!ctx.has_input(i) || ctx.input(i)->rank() != 4) return ctx.fail("input {} must have four axes", i);
  Value *q = ctx.input(0), *k = ctx.input(1), *v = ctx.input(2);
  const Dim &heads = q->shape()[1], &kv = k->shape()[1], &size = q->shape()[3];
  if (!heads.is_const() || !kv.is_const() || !size.is_const() || kv.value() < 1 || heads.value() % kv.value() != 0)
    return ctx.fail("query {} with key {}", shape_to_string(q->shape()), shape_to_string(k->shape()));
  const int64_t group = heads.value() / kv.value();
  const DType type = q->dtype(), wide = ctx.attr_dtype("softmax_precision", type == DType::kF64 ? type : DType::kF32);
  Composer c(ctx);
  // Groups of query heads share a key head: [B, Hkv, group, S, D] against [B, Hkv, 1, T, D].
  const auto split = [&](Value* x) { return group == 1 ? x : c.reshape(x, {0, kv.value(), group, -1, size.value()}); };
  const auto share = [&](Value* x) { return group == 1 ? x : c.unsqueeze(x, {2}); };
  const auto merged = [&](Value* x, Value* rows_of, Value* columns) {
    return group == 1 || c.failed()
               ? x
               : c.reshape(x, Shape{q->shape()[0], heads, q->shape()[2], columns->shape()[2]}, {q, rows_of, columns});
  };
  const double scale = ctx.attr_float("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(size.value(), 1))));
  Value* scores = c.op("MatMul", {split(q), share(k)}, {{"trans_b", int64_t{1}}, {"alpha", scale}});
  scores = c.cast(merged(scores, q, k), wide);
  WOOTZ_RETURN_IF_ERROR(modify(ctx, c, "score_mod", &scores));
  Value* probs = c.op("Softmax", {c.cast(scores, wide)}, {{"axis", int64_t{-1}}});
  WOOTZ_RETURN_IF_ERROR(modify(ctx, c, "prob_mod", &probs));
  probs = c.cast(probs, wide);
  if (group != 1 && !c.failed())
    probs = c.reshape(probs, Shape{q->shape()[0], kv, Dim(group), q->shape()[2], k->shape()[2]}, {q, k});
  Value* y = c.op("MatMul", {probs, share(c.cast(v, wide))});
  if (group != 1 && !c.failed()) y = c.reshape(y, Shape{q->shape()[0], heads, q->shape()[2], v->shape()[3]}, {q, v});
  return c.output(0, c.cast(y, v->dtype()));
}

}  // namespace wootz::ops
