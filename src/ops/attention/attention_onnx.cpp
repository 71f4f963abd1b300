#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/attention_mask.h"
#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

// [B, S, heads*size] to [B, heads, S, size].
Value* split_heads(ImportContext& ctx, Composer& c, Value* x, int64_t heads, Status* status) {
  const Dim& hidden = x->shape()[2];
  if (!hidden.is_const() || heads < 1 || hidden.value() % heads != 0) {
    *status = ctx.fail("input {} does not split into {} heads", shape_to_string(x->shape()), heads);
    return nullptr;
  }
  return c.transpose(c.reshape(x, {0, 0, heads, hidden.value() / heads}), {0, 2, 1, 3});
}

// Query, keys and values as [B, heads, S, size]; with a cache, keys and values of all positions.
struct Operands {
  Value *q = nullptr, *k = nullptr, *v = nullptr;
};

Result<Operands> read_operands(ImportContext& ctx, Composer& c) {
  for (int i = 0; i < 3; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  Operands all{ctx.input(0), ctx.input(1), ctx.input(2)};
  const int rank = all.q->rank();
  if ((rank != 3 && rank != 4) || all.k->rank() != rank || all.v->rank() != rank)
    return ctx.fail("query {}, key {} and value {}: three or four axes each are needed",
                    shape_to_string(all.q->shape()), shape_to_string(all.k->shape()), shape_to_string(all.v->shape()));
  if (rank == 3) {
    Status status;
    const int64_t q_heads = ctx.attr_int("q_num_heads", 0), kv_heads = ctx.attr_int("kv_num_heads", 0);
    all.q = split_heads(ctx, c, all.q, q_heads, &status);
    if (status.ok()) all.k = split_heads(ctx, c, all.k, kv_heads, &status);
    if (status.ok()) all.v = split_heads(ctx, c, all.v, kv_heads, &status);
    WOOTZ_RETURN_IF_ERROR(status);
  }
  if (c.failed()) return c.status();
  Value *past_key = ctx.input(4), *past_value = ctx.input(5);
  if ((past_key == nullptr) != (past_value == nullptr)) return ctx.fail("past_key and past_value go together");
  if (past_key != nullptr && ctx.input(6) != nullptr) return ctx.fail("nonpad_kv_seqlen cannot be used with past_key");
  if (past_key != nullptr) {
    all.k = c.concat({past_key, all.k}, 2);
    all.v = c.concat({past_value, all.v}, 2);
  }
  all.v = c.cast(all.v, all.q->dtype());
  if (c.failed()) return c.status();
  return all;
}

// Attributes of the op. Scores are an output of it where `scores` is set.
Result<AttrMap> read_attributes(ImportContext& ctx, const Shape& q, bool causal, bool scores) {
  AttrMap attrs;
  if (causal) attrs["causal"] = int64_t{1};
  const Dim& size = q[3];
  if (ctx.has_attr("scale")) {
    attrs["scale"] = ctx.attr_float("scale", 1);
  } else {
    if (!size.is_const()) return ctx.fail("query {}: the head size must be known", shape_to_string(q));
    attrs["scale"] = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(size.value(), 1)));
  }
  if (const double cap = ctx.attr_float("softcap", 0); cap != 0) attrs["softcap"] = cap;
  if (scores) attrs["qk_output"] = ctx.attr_int("qk_matmul_output_mode", 0);
  return attrs;
}

Status import_attention(ImportContext& ctx) {
  Composer c(ctx);
  WOOTZ_ASSIGN_OR_RETURN(const Operands operands, read_operands(ctx, c));
  const auto [q, k, v] = operands;
  AttentionMask mask{.given = ctx.input(3), .past_key = ctx.input(4), .lengths = ctx.input(6)};
  mask.left = ctx.attr_int("left_window_size", -1);
  mask.right = ctx.attr_int("right_window_size", -1);
  mask.causal = ctx.attr_int("is_causal", 0) != 0;
  // Without an offset the op's own causal mask is meant.
  const bool own_causal =
      mask.causal && mask.past_key == nullptr && mask.lengths == nullptr && mask.left < 0 && mask.right < 0;
  if (own_causal) mask.causal = false;
  WOOTZ_ASSIGN_OR_RETURN(Value * combined, build_attention_mask(ctx, c, mask, q, k));
  const bool scores = ctx.num_outputs() > 3 && ctx.wants_output(3);
  WOOTZ_ASSIGN_OR_RETURN(AttrMap attrs, read_attributes(ctx, q->shape(), own_causal, scores));
  std::vector<Value*> inputs{q, k, v};
  if (combined != nullptr) inputs.push_back(combined);
  Node* node = c.node("Attention", std::move(inputs), std::move(attrs), scores ? 2 : 1);
  if (c.failed()) return c.status();
  Value* y = node->output(0);
  if (ctx.input(0)->rank() == 3) {
    const Shape& shape = y->shape();
    if (!shape[1].is_const() || !shape[3].is_const()) return ctx.fail("the hidden size must be known");
    y = c.reshape(c.transpose(y, {0, 2, 1, 3}), {0, 0, shape[1].value() * shape[3].value()});
  }
  WOOTZ_RETURN_IF_ERROR(c.output(0, y));
  WOOTZ_RETURN_IF_ERROR(c.output(1, k));
  WOOTZ_RETURN_IF_ERROR(c.output(2, v));
  return scores ? c.output(3, node->output(1)) : Status();
}

// Rotates pairs of elements: (x1, x2) -> (cos x1 - sin x2, sin x1 + cos x2). Inputs x, cos, sin, [position ids].
Status import_rotary(ImportContext& ctx) {
  for (int i = 0; i < 3; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  Value *x = ctx.input(0), *cosine = ctx.input(1), *sine = ctx.input(2);
  const int rank = x->rank();
  if (rank != 3 && rank != 4) return ctx.fail("input {}: three or four axes are needed", shape_to_string(x->shape()));
  Composer c(ctx);
  const Dim& last = x->shape().back();
  if (!last.is_const()) return ctx.fail("input {}: the last extent must be known", shape_to_string(x->shape()));
  int64_t size = last.value();
  Value* heads = x;
  if (rank == 3) {
    const int64_t count = ctx.attr_int("num_heads", 0);
    if (count < 1 || size % count != 0)
      return ctx.fail("input {} does not split into {} heads", shape_to_string(x->shape()), count);
    size /= count;
    heads = c.reshape(x, {0, 0, count, size});
  }
  int64_t rotated = ctx.attr_int("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = size;
  if (rotated < 0 || rotated > size || rotated % 2 != 0)
    return ctx.fail("rotary_embedding_dim of {} with heads of size {}", rotated, size);
  if (ctx.has_input(3)) {
    cosine = c.op("Gather", {cosine, ctx.input(3)}, {{"axis", int64_t{0}}});
    sine = c.op("Gather", {sine, ctx.input(3)}, {{"axis", int64_t{0}}});
  }
  const int64_t head_axis = rank == 3 ? 2 : 1;  // [B,S,half] beside [B,S,H,size] or [B,H,S,size]
  cosine = c.unsqueeze(cosine, {head_axis});
  sine = c.unsqueeze(sine, {head_axis});
  Value* turning = rotated == size ? heads : c.slice(heads, 3, 0, rotated);
  const bool interleaved = ctx.attr_int("interleaved", 0) != 0;
  Value* y = nullptr;
  if (interleaved) {
    // Pairs lie side by side: x * cos + (x with each pair exchanged) * (-1, 1, ...) * sin, both angles twice.
    std::vector<int64_t> twice, exchanged;
    for (int64_t i = 0; i < rotated; ++i) {
      twice.push_back(i / 2);
      exchanged.push_back(i ^ 1);
    }
    WOOTZ_ASSIGN_OR_RETURN(HostTensor signs, HostTensor::allocate(x->dtype(), Dims{rotated}));
    for (int64_t i = 0; i < rotated; ++i) signs.set_f64(i, i % 2 == 0 ? -1 : 1);
    const auto picked = [&](Value* v, const std::vector<int64_t>& places) {
      return c.op("Gather", {v, c.ints(places)}, {{"axis", int64_t{-1}}});
    };
    Value* other = c.mul(picked(turning, exchanged), ctx.add_constant(std::move(signs)));
    y = c.add(c.mul(turning, picked(cosine, twice)), c.mul(other, picked(sine, twice)));
  } else {
    Value *first = c.slice(turning, 3, 0, rotated / 2), *second = c.slice(turning, 3, rotated / 2, rotated);
    Value* real = c.sub(c.mul(cosine, first), c.mul(sine, second));
    Value* imaginary = c.add(c.mul(sine, first), c.mul(cosine, second));
    y = c.concat({real, imaginary}, 3);
  }
  if (rotated != size) y = c.concat({y, c.slice(heads, 3, rotated, size)}, 3);
  if (rank == 3) y = c.reshape(y, {0, 0, last.value()});
  return c.output(0, y);
}

// a * sigmoid(alpha * a) * b
Status import_swiglu(ImportContext& ctx) {
  if (!ctx.has_input(0) || !ctx.has_input(1)) return ctx.fail("both inputs are required");
  Value* gate = ctx.input(0);
  Composer c(ctx);
  Value* swish = c.mul(gate, c.op("Sigmoid", {c.scale(gate, ctx.attr_float("alpha", 1))}));
  return c.output(0, c.mul(swish, ctx.input(1)));
}

}  // namespace

std::span<const OnnxImport> attention_onnx() {
  static constexpr OnnxImport kAttentionImports[] = {
      {"Attention", 23, import_attention},
      {"CausalConvWithState", 27, import_causal_conv},
      {"FlexAttention", 1, import_flex_attention, "ai.onnx.preview"},
      {"LinearAttention", 27, import_linear_attention},
      {"RotaryEmbedding", 23, import_rotary},
      {"SwiGLU", 28, import_swiglu},
  };
  return kAttentionImports;
}

}  // namespace wootz::ops
