#include "ops/attention/attention_mask.h"

#include <cmath>

namespace wootz::ops {
namespace {

// Pads the last axis to the number of keys: what the mask does not speak of is not attended to.
Value* pad_to_keys(Composer& c, Value* mask, Value* k) {
  const Dim &have = mask->shape().back(), &want = k->shape()[2];
  if (have == want) return mask;
  const std::vector<int64_t> zeros(2 * static_cast<size_t>(mask->rank()) - 1, 0);
  Value* missing = have.is_const() && want.is_const() ? c.ints({want.value() - have.value()})
                                                      : c.sub(c.extent(k, 2), c.extent(mask, mask->rank() - 1));
  Value* pads = c.concat({c.ints(zeros), missing}, 0);
  Value* filler = c.scalar(mask->dtype(), mask->dtype() == DType::kBool ? 0 : -INFINITY);
  return c.op("Pad", {mask, pads, filler}, {{"mode", std::string("constant")}});
}

// 0, 1, ... as i64 of the given number.
Value* positions(Composer& c, Value* count) {
  return c.op("Range", {c.scalar(DType::kI64, 0), c.as_scalar(count), c.scalar(DType::kI64, 1)});
}

}  // namespace

Result<Value*> build_attention_mask(ImportContext& ctx, Composer& c, const AttentionMask& m, Value* q, Value* k) {
  if (m.left < -1 || m.right < -1) return ctx.fail("window sizes {} and {}", m.left, m.right);
  Value* given = m.given;
  if (given != nullptr) {
    if (given->rank() < 1) return ctx.fail("the mask is a scalar");
    const Dim &have = given->shape().back(), &want = k->shape()[2];
    if (have.is_const() && want.is_const() && have.value() > want.value())
      return ctx.fail("mask {} for {} keys", shape_to_string(given->shape()), want.value());
    given = pad_to_keys(c, given, k);
  }
  const bool window = m.left >= 0 || m.right >= 0;
  if (!m.causal && !window && m.lengths == nullptr) {
    if (c.failed()) return c.status();
    return given;
  }
  Value* rows = c.extent(q, 2);
  Value* key = positions(c, c.extent(k, 2));            // [T]
  Value* query = c.unsqueeze(positions(c, rows), {1});  // [S,1]
  Value* lengths = nullptr;
  if (m.lengths != nullptr) lengths = c.reshape(c.cast(m.lengths, DType::kI64), {-1, 1, 1, 1});
  if (m.past_key != nullptr) query = c.add(query, c.extent(m.past_key, 2));
  if (lengths != nullptr) query = c.add(query, c.sub(lengths, rows));  // [B,1,S,1]
  Value* allowed = nullptr;
  const auto also = [&](Value* condition) {
    allowed = allowed == nullptr ? condition : c.op("And", {allowed, condition});
  };
  if (m.causal) also(c.op("LessOrEqual", {key, query}));
  if (m.left >= 0) also(c.op("LessOrEqual", {c.sub(query, c.scalar(DType::kI64, static_cast<double>(m.left))), key}));
  if (m.right >= 0) also(c.op("LessOrEqual", {key, c.add(query, c.scalar(DType::kI64, static_cast<double>(m.right)))}));
  if (lengths != nullptr) also(c.op("Less", {key, lengths}));
  if (given != nullptr && given->dtype() == DType::kBool) {
    also(given);
  } else if (given != nullptr) {
    allowed = c.op("Where", {allowed, given, c.scalar(given->dtype(), -INFINITY)});
  }
  if (c.failed()) return c.status();
  return allowed;
}

}  // namespace wootz::ops
