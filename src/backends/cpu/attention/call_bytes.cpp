// Few queries over keys and values of 8 bits, as in a decoder's step: all heads that share keys go over them together,
// so that each byte is read, and made a float, once. Where there are fewer heads of keys than threads, these divide the
// keys, and what they made is added up in the order of the keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/call.h"

namespace wootz::cpu {
namespace {

constexpr float kLow = -std::numeric_limits<float>::infinity();
constexpr int64_t kMostRows = 16;       // of queries together
constexpr int64_t kLeastOfSplit = 512;  // keys, a multiple of kKeys

const uint8_t* bytes_at(const RunArgs& args, int i, int64_t at) {
  return static_cast<const uint8_t*>(args.inputs[i]) + at;
}

}  // namespace

AttentionCall::FewPlan AttentionCall::few_plan() const {
  FewPlan plan;
  const int64_t group = heads / kv_heads;
  plan.heads = std::max<int64_t>(1, std::min(group, kMostRows / std::max<int64_t>(1, queries)));
  plan.blocks = (group + plan.heads - 1) / plan.heads;
  plan.units = batch * kv_heads * plan.blocks;
  const int64_t most = std::max<int64_t>(1, keys / kLeastOfSplit);
  if (plan.units > 0 && plan.units < slots)
    plan.splits = std::min<int64_t>(most, (slots + plan.units - 1) / plan.units);
  const int64_t each = (keys + plan.splits - 1) / plan.splits;
  plan.keys = std::max<int64_t>(kKeys, (each + kKeys - 1) / kKeys * kKeys);
  plan.part = kMostRows * (v_size + 2);
  return plan;
}

void AttentionCall::attend_few(const RunArgs& args, const FewPlan& plan, int64_t unit, int64_t split,
                               const AttentionScratch& s) const {
  const FewRows rows_of = few_rows(plan, unit);
  const int64_t m = rows_of.heads * queries;
  std::fill_n(s.top, m, kLow);
  std::fill_n(s.sum, m, 0.0f);
  std::fill_n(s.out, m * v_size, 0.0f);
  const float* factor = key_factor.data() + rows_of.kv * size;
  for (int64_t r = 0; r < m; ++r) {
    int64_t stride = 0;
    float* to = s.query + r * size;
    const float* from = read(args, 0, q, rows_of.b, rows_of.first + r / queries, r % queries, 1, to, &stride);
    float sum = 0;
    for (int64_t d = 0; d < size; ++d) sum += to[d] = from[d] * factor[d];
    s.factor[r] = -sum * zeros[1];
  }
  const int64_t seen = causal ? std::min(keys, queries) : keys, end = std::min(seen, (split + 1) * plan.keys);
  for (int64_t t = split * plan.keys; t < end; t += kKeys) {
    const int64_t n = std::min(kKeys, end - t);
    bytes[1]->dots(s.query, size, m, bytes_at(args, 1, k.at(rows_of.b, rows_of.kv, t)), k.row, n, s.scores, kKeys,
                   size);
    for (int64_t r = 0; r < m; ++r) {
      float* scores = s.scores + r * kKeys;
      if (zeros[1] != 0) rows->add(scores, scores, n, s.factor[r]);
      if (cap > 0) tiles->softcap(scores, n, cap);
      if (mask != DType::kInvalid) {
        const int64_t h = rows_of.first + r / queries;
        mask_row(args, {rows_of.b, h, rows_of.kv, 0, queries, queries}, r % queries, t, n, s.mask);
        tiles->add_masked(scores, s.mask, n);
      }
      for (int64_t j = std::max<int64_t>(0, r % queries + 1 - t); causal && j < n; ++j) scores[j] = kLow;
      softmax_update_row(scores, n, r, s);
    }
    bytes[2]->gather(s.scores, kKeys, m, bytes_at(args, 2, v.at(rows_of.b, rows_of.kv, t)), v.row, n, s.out, v_size,
                     v_size);
  }
}

AttentionCall::FewRows AttentionCall::few_rows(const FewPlan& plan, int64_t unit) const {
  const int64_t group = heads / kv_heads, kv = unit / plan.blocks % kv_heads, block = unit % plan.blocks;
  const int64_t first = block * plan.heads;
  return {unit / plan.blocks / kv_heads, kv, kv * group + first, std::min(plan.heads, group - first)};
}

// What the splits of a unit made, brought to the terms of the largest score of all.
void AttentionCall::add_splits(const FewPlan& plan, const float* parts, int64_t m, const AttentionScratch& s) const {
  for (int64_t r = 0; r < m; ++r) {
    const auto top = [&](int64_t i) { return parts[i * plan.part + kMostRows * v_size + r]; };
    const auto sum = [&](int64_t i) { return parts[i * plan.part + kMostRows * (v_size + 1) + r]; };
    float most = kLow, total = 0;
    for (int64_t i = 0; i < plan.splits; ++i) most = std::max(most, top(i));
    float* out = s.out + r * v_size;
    std::fill_n(out, v_size, 0.0f);
    for (int64_t i = 0; i < plan.splits; ++i) {
      // Nothing is seen there, or what is no number, which its sum then shows.
      const float factor = top(i) == kLow ? (sum(i) == 0 ? 0.0f : 1.0f) : std::exp(top(i) - most);
      total += sum(i) * factor;
      const float* from = parts + i * plan.part + r * v_size;
      for (int64_t d = 0; d < v_size; ++d) out[d] += from[d] * factor;
    }
    s.sum[r] = total;
  }
}

void AttentionCall::finish_few(const RunArgs& args, const FewPlan& plan, int64_t unit,
                               const AttentionScratch& s) const {
  const FewRows rows_of = few_rows(plan, unit);
  scale_values(rows_of.kv, rows_of.heads * queries, s.out, s.sum, zeros[2]);
  for (int64_t i = 0; i < rows_of.heads; ++i)
    finish(args, {rows_of.b, rows_of.first + i, rows_of.kv, 0, queries, queries}, s.out + i * queries * v_size,
           s.sum + i * queries);
}

Status AttentionCall::run_few(const RunArgs& args) const {
  const FewPlan plan = few_plan();
  auto* memory = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
  float* const parts = memory + slots * elements();
  const auto scratch = [&](int slot) { return AttentionScratch(memory + slot * elements(), size, v_size); };
  parallel_slots(plan.units * plan.splits, 1, slots, [&](int slot, int64_t begin, int64_t last) {
    const AttentionScratch s = scratch(slot);
    for (int64_t i = begin; i < last; ++i) {
      attend_few(args, plan, i / plan.splits, i % plan.splits, s);
      if (plan.splits == 1) {
        finish_few(args, plan, i, s);
        continue;
      }
      float* to = parts + i * plan.part;
      std::copy_n(s.out, kMostRows * v_size, to);
      std::copy_n(s.top, kMostRows, to + kMostRows * v_size);
      std::copy_n(s.sum, kMostRows, to + kMostRows * (v_size + 1));
    }
  });
  if (plan.splits == 1) return {};
  parallel_slots(plan.units, 1, slots, [&](int slot, int64_t begin, int64_t last) {
    const AttentionScratch s = scratch(slot);
    for (int64_t i = begin; i < last; ++i) {
      add_splits(plan, parts + i * plan.splits * plan.part, few_rows(plan, i).heads * queries, s);
      finish_few(args, plan, i, s);
    }
  });
  return {};
}

}  // namespace wootz::cpu
