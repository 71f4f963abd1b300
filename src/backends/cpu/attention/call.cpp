// Family attention of f32, f16 and bf16: a block of queries goes over blocks of keys and values, keeping for each row
// the largest score so far, the sum of exponentials relative to it, and the weighted values. Scores of a whole row
// never exist at once. Scores are computed as keys by queries, so that neither keys nor values are ever transposed and
// the softmax runs down columns. A block's rows are one piece of work; each row is computed in one fixed order. BF16
// is multiplied as it is where the processor does that, and sums, scores and exponentials are f32; other narrow floats
// are widened first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/call.h"

namespace wootz::cpu {
namespace {

constexpr float kLow = -std::numeric_limits<float>::infinity();

const uint16_t* halves(const RunArgs& args, int i, int64_t at) {
  return static_cast<const uint16_t*>(args.inputs[i]) + at;
}

}  // namespace

// The same of BF16 as it lies in memory. Scores are scaled once they are sums: a scaled query would be rounded again.
struct AttentionCall::PairProducts {
  const AttentionCall& c;
  const RunArgs& args;
  const Block& at;
  const AttentionScratch& s;

  void prepare() const {
    // Side by side first: pairs need not lie at multiples of their size.
    auto* query = reinterpret_cast<uint16_t*>(s.query);
    const uint16_t* from = halves(args, 0, c.q.at(at.b, at.h, at.first));
    for (int64_t r = 0; r < at.m; ++r) std::copy_n(from + r * c.q.row, c.size, query + r * c.size);
    transpose_plane(reinterpret_cast<const char*>(query), c.size / 2, reinterpret_cast<char*>(s.turned), at.wide,
                    c.size / 2, at.m, 4);
    clear_after(s.turned, c.size / 2, at);
  }
  void score(int64_t t, int64_t n) const {
    c.pairs->multiply(halves(args, 1, c.k.at(at.b, at.kv, t)), c.k.row, reinterpret_cast<const uint16_t*>(s.turned),
                      2 * at.wide, s.scores, at.wide, n, at.wide, c.size / 2, false);
    if (c.scale != 1) c.rows->scale(s.scores, s.scores, n * at.wide, c.scale);
  }
  void gather(int64_t t, int64_t n) const {
    auto *weights = reinterpret_cast<uint16_t*>(s.mask), *value = reinterpret_cast<uint16_t*>(s.values);
    c.pairs->join_rounded(s.scores, at.wide, n, at.wide, weights);
    c.pairs->join(halves(args, 2, c.v.at(at.b, at.kv, t)), c.v.row, n, c.v_size, value);
    c.pairs->multiply_ta(weights, 2 * at.wide, value, 2 * c.v_size, s.out, c.v_size, at.m, c.v_size, (n + 1) / 2, true);
  }
};

size_t AttentionCall::workspace() const {
  int64_t floats = slots * elements();
  if (!all_bytes() && few_of_bytes())
    if (const FewPlan plan = few_plan(); plan.splits > 1) floats += plan.units * plan.splits * plan.part;
  return static_cast<size_t>(floats) * sizeof(float) + 64;
}

Status AttentionCall::run(const RunArgs& args) const {
  if (!all_bytes() && few_of_bytes()) return run_few(args);
  const int64_t blocks = (queries + at_once - 1) / at_once;
  const int64_t cost = std::min(queries, at_once) * std::max<int64_t>(1, keys) * (size + v_size);
  auto* memory = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
  parallel_slots(batch * heads * blocks, std::max<int64_t>(1, 200000 / std::max<int64_t>(1, cost)), slots,
                 [&](int slot, int64_t begin, int64_t last) {
                   float* const own = memory + slot * elements();
                   for (int64_t i = begin; i < last; ++i) {
                     const int64_t head = i / blocks, first = i % blocks * at_once;
                     all_bytes() ? rounded_block(args, head, first, own) : block(args, head, first, own);
                   }
                 });
  return {};
}

const float* AttentionCall::read(const RunArgs& args, int i, const HeadLines& lines, int64_t b, int64_t h, int64_t s,
                                 int64_t n, float* to, int64_t* stride) const {
  const int64_t at = lines.at(b, h, s), width = lines.dims[3];
  const bool direct = reader.direct() && bytes[i] == nullptr;
  *stride = direct ? lines.row : width;
  if (direct) return static_cast<const float*>(args.inputs[i]) + at;
  if (lines.dense()) {
    widen(args, i, at, n * width, to);
  } else {
    for (int64_t r = 0; r < n; ++r) widen(args, i, at + r * lines.row, width, to + r * width);
  }
  return to;
}

void AttentionCall::widen(const RunArgs& args, int i, int64_t at, int64_t n, float* to) const {
  if (bytes[i] != nullptr) return bytes[i]->widen(static_cast<const uint8_t*>(args.inputs[i]) + at, n, zeros[i], to);
  for (int64_t j = 0; j < n; j += kRowChunk) reader.read(args.inputs[i], at + j, std::min(kRowChunk, n - j), to + j);
}

void AttentionCall::scale_values(int64_t kv, int64_t m, float* out, const float* sum, float zero) const {
  if (value_factor.empty()) return;
  const float* factor = value_factor.data() + kv * v_size;
  for (int64_t r = 0; r < m; ++r) {
    const float less = zero * sum[r];
    for (int64_t d = 0; d < v_size; ++d) out[r * v_size + d] = (out[r * v_size + d] - less) * factor[d];
  }
}

int64_t AttentionCall::elements() const {
  if (byte_tiles != nullptr) return byte_tiles->elements(keys, size, v_size) + head_rows(at_once) * (v_size + 1);
  if (all_bytes()) return AttentionScratch::elements(size, v_size) + padded(at_once) * keys;
  if (head_tiles == nullptr) return AttentionScratch::elements(size, v_size);
  return head_tiles->elements(at_once, size, v_size) + head_rows(at_once) * (v_size + 1);
}

void AttentionCall::block(const RunArgs& args, int64_t head, int64_t first, float* memory) const {
  const int64_t m = std::min(at_once, queries - first), h = head % heads;
  const Block at{head / heads, h, h / (heads / kv_heads), first, m, padded(m)};
  if (head_tiles != nullptr) return by_tiles(args, at, memory);
  const AttentionScratch s(memory, size, v_size);
  std::fill_n(s.top, at.wide, kLow);
  std::fill_n(s.sum, at.wide, 0.0f);
  std::fill_n(s.out, m * v_size, 0.0f);
  if (m < kFewQueries) {
    few(args, at, s);
  } else if (pairs != nullptr) {
    many(args, at, s, PairProducts{*this, args, at, s});
  } else {
    many(args, at, s, FloatProducts{*this, args, at, s});
  }
  scale_values(at.kv, m, s.out, s.sum, 0);
  finish(args, at, s.out, s.sum);
}

AttentionCall::Fate AttentionCall::fate_of(float sum) const {
  if (sum == 0) return nan_rows == 1 && keys > 0 ? Fate::kNoNumber : Fate::kZero;
  return nan_rows == 2 && std::isnan(sum) ? Fate::kZero : Fate::kDivided;
}

void AttentionCall::finish(const RunArgs& args, const Block& at, float* out, const float* sum) const {
  for (int64_t r = 0; r < at.m; ++r) {
    float* row = out + r * v_size;
    const int64_t place = y.at(at.b, at.h, at.first + r);
    float* to = end.trivial() ? static_cast<float*>(args.outputs[0]) + place : row;
    const Fate fate = fate_of(sum[r]);
    if (fate == Fate::kDivided)
      rows->scale(to, row, v_size, 1 / sum[r]);
    else
      std::fill_n(to, v_size, fate == Fate::kZero ? 0.0f : std::numeric_limits<float>::quiet_NaN());
  }
  if (!end.trivial()) store(args, at, out);
}

void AttentionCall::store(const RunArgs& args, const Block& at, float* out) const {
  const int64_t place = y.at(at.b, at.h, at.first);
  if (y.dense())
    end.store(place, at.m * v_size, out, args);
  else
    end.store_rows({place, y.row, at.m, v_size}, out, args);
}

void AttentionCall::by_tiles(const RunArgs& args, const Block& at, float* memory) const {
  const RowMask added(*this, args, at);
  HeadBlock b{halves(args, 0, q.at(at.b, at.h, at.first)),
              halves(args, 1, k.at(at.b, at.kv, 0)),
              halves(args, 2, v.at(at.b, at.kv, 0)),
              q.row,
              k.row,
              v.row};
  b.queries = at.m;
  b.keys = keys;
  b.size = size;
  b.v_size = v_size;
  b.scale = scale;
  b.causal = causal;
  b.first = at.first;
  b.mask = mask == DType::kInvalid ? nullptr : &added;
  b.memory = memory;
  b.out = memory + head_tiles->elements(at_once, size, v_size);
  b.sum = b.out + head_rows(at.m) * v_size;
  head_tiles->attend(b);
  const bool divided = std::all_of(b.sum, b.sum + at.m, [&](float sum) { return fate_of(sum) == Fate::kDivided; });
  if (rounds && divided)
    head_tiles->divide(b, static_cast<uint16_t*>(args.outputs[0]) + y.at(at.b, at.h, at.first), y.row);
  else
    finish(args, at, b.out, b.sum);
}

void AttentionCall::clear_after(float* turned, int64_t n, const Block& at) {
  for (int64_t d = 0; d < n; ++d) std::fill(turned + d * at.wide + at.m, turned + (d + 1) * at.wide, 0.0f);
}

template <class Products>
void AttentionCall::many(const RunArgs& args, const Block& at, const AttentionScratch& s,
                         const Products& products) const {
  products.prepare();
  const int64_t visible = causal ? std::min(keys, at.first + at.m) : keys;
  for (int64_t t = 0; t < visible; t += kKeys) {
    const int64_t n = std::min(kKeys, visible - t);
    products.score(t, n);
    if (cap > 0) tiles->softcap(s.scores, n * at.wide, cap);
    if (mask != DType::kInvalid) mask_columns(args, at, t, n, s);
    for (int64_t j = std::max<int64_t>(0, at.first + 1 - t); causal && j < n; ++j)
      std::fill_n(s.scores + j * at.wide, std::min(at.wide, t + j - at.first), kLow);
    if (tiles->online_softmax_update(s.scores, n, at.wide, s.top, s.sum, s.factor) && t > 0)
      for (int64_t r = 0; r < at.m; ++r)
        if (s.factor[r] != 1) rows->scale(s.out + r * v_size, s.out + r * v_size, v_size, s.factor[r]);
    products.gather(t, n);
  }
}

std::pair<const float*, int64_t> AttentionCall::key_rows(const RunArgs& args, const Block& at, int64_t t, int64_t n,
                                                         const AttentionScratch& s) const {
  int64_t stride = 0;
  if (!k_transposed) {
    const float* rows_at = read(args, 1, k, at.b, at.kv, t, n, s.keys, &stride);
    return {rows_at, stride};
  }
  const int64_t base = k.at(at.b, at.kv, 0) + t;
  if (reader.direct() && bytes[1] == nullptr) return {static_cast<const float*>(args.inputs[1]) + base, keys};
  for (int64_t d = 0; d < size; ++d) widen(args, 1, base + d * keys, n, s.keys + d * kKeys);
  return {s.keys, kKeys};
}

void AttentionCall::few(const RunArgs& args, const Block& at, const AttentionScratch& s) const {
  int64_t stride = 0;
  for (int64_t r = 0; r < at.m; ++r) {
    const float* query = read(args, 0, q, at.b, at.h, at.first + r, 1, s.query, &stride);
    for (int64_t d = 0; d < size; ++d) s.query[d] = query[d] * key_factor_at(at.kv, d);
    const int64_t visible = causal ? std::min(keys, at.first + r + 1) : keys;
    for (int64_t t = 0; t < visible; t += kKeys) {
      const int64_t n = std::min(kKeys, visible - t);
      const auto [key, step] = key_rows(args, at, t, n, s);
      if (k_transposed)
        tiles->multiply(s.query, size, key, step, s.scores, kKeys, 1, n, size, false);
      else
        tiles->dots(s.query, key, step, s.scores, n, size);
      if (cap > 0) tiles->softcap(s.scores, n, cap);
      if (mask != DType::kInvalid) {
        mask_row(args, at, r, t, n, s.mask);
        tiles->add_masked(s.scores, s.mask, n);
      }
      softmax_update_row(s.scores, n, r, s);
      const float* value = read(args, 2, v, at.b, at.kv, t, n, s.values, &stride);
      tiles->multiply(s.scores, kKeys, value, stride, s.out + r * v_size, v_size, 1, v_size, n, true);
    }
  }
}

void AttentionCall::mask_row(const RunArgs& args, const Block& at, int64_t r, int64_t t, int64_t n, float* to) const {
  const int64_t step = mask_strides[3],
                from = at.b * mask_strides[0] + at.h * mask_strides[1] + (at.first + r) * mask_strides[2] + t * step;
  const int64_t count = step == 0 ? 1 : n;
  if (mask == DType::kBool) {
    const auto* allowed = static_cast<const uint8_t*>(args.inputs[3]) + from;
    for (int64_t j = 0; j < count; ++j) to[j] = allowed[j] != 0 ? 0 : kLow;
  } else if (widen_mask != nullptr) {
    widen_mask({to, static_cast<const uint16_t*>(args.inputs[3]) + from, nullptr, nullptr, count, 0, 0});
  } else {
    std::copy_n(static_cast<const float*>(args.inputs[3]) + from, count, to);
  }
  if (step == 0) std::fill_n(to, n, float(to[0]));
}

void AttentionCall::mask_columns(const RunArgs& args, const Block& at, int64_t t, int64_t n,
                                 const AttentionScratch& s) const {
  if (mask_strides[2] == 0) {  // the same for every query
    mask_row(args, at, 0, t, n, s.mask);
    for (int64_t j = 0; j < n; ++j) {
      if (s.mask[j] == 0) continue;
      float* row = s.scores + j * at.wide;
      if (s.mask[j] == kLow)
        std::fill_n(row, at.wide, kLow);
      else
        rows->add(row, row, at.wide, s.mask[j]);
    }
    return;
  }
  float* turned = s.mask + kQueries * kKeys;
  for (int64_t r = 0; r < at.m; ++r) mask_row(args, at, r, t, n, s.mask + r * kKeys);
  transpose_plane(reinterpret_cast<const char*>(s.mask), kKeys, reinterpret_cast<char*>(turned), at.wide, n, at.m, 4);
  for (int64_t j = 0; j < n; ++j) std::fill(turned + j * at.wide + at.m, turned + (j + 1) * at.wide, 0.0f);
  tiles->add_masked(s.scores, turned, n * at.wide);
}

void AttentionCall::softmax_update_row(float* row, int64_t n, int64_t r, const AttentionScratch& s) const {
  const float top = std::max(s.top[r], rows->max(row, n));
  if (top == kLow) {  // hidden; or not a number, which its sum then shows
    float sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += row[j] = row[j] == kLow ? 0 : row[j];
    s.sum[r] += sum;
    return;
  }
  const float sum = rows->exp_row(row, row, n, top);
  if (top != s.top[r]) {
    const float factor = s.top[r] == kLow ? (s.sum[r] == s.sum[r] ? 0 : s.sum[r]) : std::exp(s.top[r] - top);
    s.sum[r] *= factor;
    rows->scale(s.out + r * v_size, s.out + r * v_size, v_size, factor);
    s.top[r] = top;
  }
  s.sum[r] += sum;
}

}  // namespace wootz::cpu
