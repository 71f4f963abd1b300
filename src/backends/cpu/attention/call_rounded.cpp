// Attention whose weights are rounded to 8 bits before they are multiplied, of operands of 8 bits: what rounds a weight
// follows from its whole row's sum, so that all scores of a block exist at once. By AMX as whole numbers
// (head_bytes_amx.cpp), otherwise by the same products of floats as others, which hold these sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/call.h"

namespace wootz::cpu {
namespace {

constexpr float kLow = -std::numeric_limits<float>::infinity();

}  // namespace

void AttentionCall::by_byte_tiles(const RunArgs& args, int64_t head, int64_t first, float* memory) const {
  const int64_t h = head % heads, m = std::min(at_once, queries - first);
  const Block at{head / heads, h, h / (heads / kv_heads), first, m, padded(m)};
  const RowMask added(*this, args, at);
  const auto bytes_of = [&](int i, int64_t place) { return static_cast<const uint8_t*>(args.inputs[i]) + place; };
  ByteHead b;
  b.q = bytes_of(0, q.at(at.b, at.h, first));
  b.k = bytes_of(1, k.at(at.b, at.kv, 0));
  b.v = bytes_of(2, v.at(at.b, at.kv, 0));
  b.q_row = q.row, b.k_row = k.row, b.v_row = v.row;
  b.q_signed = signed_bytes[0], b.k_signed = signed_bytes[1], b.v_signed = signed_bytes[2];
  b.q_zero = static_cast<int32_t>(zeros[0]), b.k_zero = static_cast<int32_t>(zeros[1]);
  b.v_zero = static_cast<int32_t>(zeros[2]);
  b.queries = m;
  b.keys = keys;
  b.size = size;
  b.v_size = v_size;
  b.scale = key_factor_at(at.kv, 0);
  b.causal = causal;
  b.first = first;
  b.mask = mask == DType::kInvalid ? nullptr : &added;
  b.scores = score_grid;
  b.weights = weight_grid;
  b.memory = memory;
  b.out = memory + byte_tiles->elements(keys, size, v_size);
  b.sum = b.out + head_rows(m) * v_size;
  byte_tiles->attend(b);
  finish_rounded(args, at, b.out);
}

// Whole numbers of weights and values as results.
void AttentionCall::finish_rounded(const RunArgs& args, const Block& at, float* out) const {
  const float* factor = value_factor.data() + at.kv * v_size;
  for (int64_t r = 0; r < at.m; ++r) {
    float* const row = out + r * v_size;
    float* const to = end.trivial() ? static_cast<float*>(args.outputs[0]) + y.at(at.b, at.h, at.first + r) : row;
    for (int64_t d = 0; d < v_size; ++d) to[d] = row[d] * (factor[d] * weight_grid.scale);
  }
  if (!end.trivial()) store(args, at, out);
}

void AttentionCall::rounded_scores(const RunArgs& args, const Block& at, const AttentionScratch& s, int64_t seen,
                                   float* scores) const {
  for (int64_t t = 0; t < seen; t += kKeys) {
    const int64_t n = std::min(kKeys, seen - t);
    AttentionScratch part = s;
    part.scores = scores + t * at.wide;
    FloatProducts{*this, args, at, part}.score(t, n);
    if (score_grid.scale > 0)
      tiles->round(part.scores, n * at.wide, 1 / score_grid.scale, score_grid.low - score_grid.zero,
                   score_grid.high - score_grid.zero, score_grid.scale);
    if (cap > 0) tiles->softcap(part.scores, n * at.wide, cap);
    if (mask != DType::kInvalid) mask_columns(args, at, t, n, part);
    for (int64_t j = std::max<int64_t>(0, at.first + 1 - t); causal && j < n; ++j)
      std::fill_n(part.scores + j * at.wide, std::min(at.wide, t + j - at.first), kLow);
  }
  tiles->online_softmax_update(scores, seen, at.wide, s.top, s.sum, s.factor);
}

void AttentionCall::rounded_block(const RunArgs& args, int64_t head, int64_t first, float* memory) const {
  if (byte_tiles != nullptr) return by_byte_tiles(args, head, first, memory);
  const int64_t h = head % heads, m = std::min(at_once, queries - first);
  const Block at{head / heads, h, h / (heads / kv_heads), first, m, padded(m)};
  const AttentionScratch s(memory, size, v_size);
  float* const scores = memory + AttentionScratch::elements(size, v_size);
  std::fill_n(s.top, at.wide, kLow);
  std::fill_n(s.sum, at.wide, 0.0f);
  std::fill_n(s.out, m * v_size, 0.0f);
  FloatProducts{*this, args, at, s}.prepare();
  const int64_t seen = causal ? std::min(keys, first + m) : keys;
  rounded_scores(args, at, s, seen, scores);
  // A row that sees nothing, or whose scores are no numbers, has no weights.
  for (int64_t r = 0; r < at.wide; ++r) s.factor[r] = s.sum[r] > 0 ? 1 / (s.sum[r] * weight_grid.scale) : 0;
  tiles->round_columns(scores, seen, at.wide, s.factor, weight_grid.high);
  for (int64_t t = 0; t < seen; t += kKeys) {
    AttentionScratch part = s;
    part.scores = scores + t * at.wide;
    FloatProducts{*this, args, at, part}.gather(t, std::min(kKeys, seen - t));
  }
  finish_rounded(args, at, s.out);
}

}  // namespace wootz::cpu
