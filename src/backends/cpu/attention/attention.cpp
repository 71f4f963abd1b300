// Family attention of f32, f16 and bf16: a block of queries goes over blocks of keys and values, keeping for each row
// the largest score so far, the sum of exponentials relative to it, and the weighted values. Scores of a whole row
// never exist at once. Scores are computed as keys by queries, so that neither keys nor values are ever transposed and
// the softmax runs down columns. A block's rows are one piece of work; each row is computed in one fixed order. BF16
// is multiplied as it is where the processor does that, and sums, scores and exponentials are f32; other narrow floats
// are widened first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/attention_heads.h"
#include "backends/cpu/attention/pairs.h"
#include "backends/cpu/attention/scratch.h"
#include "backends/cpu/attention/tile.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/move/transpose_block.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kFewQueries = 4;  // below: a query at a time, scores along the row
constexpr float kLow = -std::numeric_limits<float>::infinity();

class AttentionCall final : public Call {
 public:
  HeadLines q, k, v, y;
  int64_t batch = 0, heads = 0, kv_heads = 1, queries = 0, keys = 0, size = 0, v_size = 0;
  float scale = 1, cap = 0;
  bool causal = false, k_transposed = false;
  int64_t nan_rows = 0;
  DType mask = DType::kInvalid;
  Dims mask_strides;  // over [B, H, S, T]
  OpFn widen_mask = nullptr;
  RowReader reader;
  const RowOps* rows = nullptr;
  const TileOps* tiles = nullptr;
  const PairOps* pairs = nullptr;   // null: operands are widened
  const TilePairs* grid = nullptr;  // null: `pairs` does it all
  Epilogue::Bound end;
  int slots = 1;

  size_t workspace() const override {
    return static_cast<size_t>(slots) * static_cast<size_t>(AttentionScratch::elements(size, v_size)) * sizeof(float) +
           64;
  }

  Status run(const RunArgs& args) const override {
    const int64_t blocks = (queries + kQueries - 1) / kQueries;
    const int64_t cost = std::min(queries, kQueries) * std::max<int64_t>(1, keys) * (size + v_size);
    auto* memory = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
    parallel_slots(batch * heads * blocks, std::max<int64_t>(1, 200000 / std::max<int64_t>(1, cost)), slots,
                   [&](int slot, int64_t begin, int64_t last) {
                     const AttentionScratch s(memory + slot * AttentionScratch::elements(size, v_size), size, v_size);
                     for (int64_t i = begin; i < last; ++i) block(args, i / blocks, i % blocks * kQueries, s);
                   });
    return {};
  }

 private:
  struct Block {
    int64_t b, h, kv, first, m, wide;  // queries [first, first + m) of a head; wide: m filled up to whole vectors
  };

  // `n` rows of the operand from row `s` of a head as f32: where they lie, or widened side by side at `to`.
  const float* read(const RunArgs& args, int i, const HeadLines& lines, int64_t b, int64_t h, int64_t s, int64_t n,
                    float* to, int64_t* stride) const {
    const int64_t at = lines.at(b, h, s), width = lines.dims[3];
    *stride = reader.direct() ? lines.row : width;
    if (reader.direct()) return static_cast<const float*>(args.inputs[i]) + at;
    if (lines.dense()) {
      widen(args.inputs[i], at, n * width, to);
    } else {
      for (int64_t r = 0; r < n; ++r) widen(args.inputs[i], at + r * lines.row, width, to + r * width);
    }
    return to;
  }
  void widen(const void* from, int64_t at, int64_t n, float* to) const {
    for (int64_t j = 0; j < n; j += kRowChunk) reader.read(from, at + j, std::min(kRowChunk, n - j), to + j);
  }

  void block(const RunArgs& args, int64_t head, int64_t first, const AttentionScratch& s) const {
    const int64_t m = std::min(kQueries, queries - first), h = head % heads;
    const Block at{head / heads, h, h / (heads / kv_heads), first, m, padded(m)};
    std::fill_n(s.top, at.wide, kLow);
    std::fill_n(s.sum, at.wide, 0.0f);
    std::fill_n(s.out, m * v_size, 0.0f);
    if (m < kFewQueries) {
      few(args, at, s);
    } else if (grid != nullptr) {
      many(args, at, s, TileProducts{{*this, args, at, s}});
    } else if (pairs != nullptr) {
      many(args, at, s, PairProducts{*this, args, at, s});
    } else {
      many(args, at, s, FloatProducts{*this, args, at, s});
    }
    for (int64_t r = 0; r < m; ++r) {
      float* row = s.out + r * v_size;
      const bool zero = s.sum[r] == 0 ? nan_rows != 1 : nan_rows == 2 && std::isnan(s.sum[r]);
      float* to = row;
      const int64_t place = y.at(at.b, at.h, first + r);
      if (end.trivial()) to = static_cast<float*>(args.outputs[0]) + place;
      if (zero)
        std::fill_n(to, v_size, 0.0f);
      else
        rows->scale(to, row, v_size, 1 / s.sum[r]);
      if (s.sum[r] == 0 && !zero) std::fill_n(to, v_size, std::numeric_limits<float>::quiet_NaN());
      if (!end.trivial() && !y.dense()) end.store(place, v_size, row, args);
    }
    if (!end.trivial() && y.dense()) end.store(y.at(at.b, at.h, first), m * v_size, s.out, args);
  }

  // The two products of a block of queries: scores [n, wide] of keys from t, and weights times values.
  struct FloatProducts {
    const AttentionCall& c;
    const RunArgs& args;
    const Block& at;
    const AttentionScratch& s;

    void prepare() const {
      int64_t stride = 0;
      const float* query = c.read(args, 0, c.q, at.b, at.h, at.first, at.m, s.query, &stride);
      transpose_plane(reinterpret_cast<const char*>(query), stride, reinterpret_cast<char*>(s.turned), at.wide, c.size,
                      at.m, 4);
      clear_after(s.turned, c.size, at);
      c.rows->scale(s.turned, s.turned, c.size * at.wide, c.scale);
    }
    void score(int64_t t, int64_t n) const {
      const auto [key, step] = c.key_rows(args, at, t, n, s);
      (c.k_transposed ? c.tiles->multiply_ta : c.tiles->multiply)(key, step, s.turned, at.wide, s.scores, at.wide, n,
                                                                  at.wide, c.size, false);
    }
    void gather(int64_t t, int64_t n) const {
      int64_t stride = 0;
      const float* value = c.read(args, 2, c.v, at.b, at.kv, t, n, s.values, &stride);
      c.tiles->multiply_ta(s.scores, at.wide, value, stride, s.out, c.v_size, at.m, c.v_size, n, true);
    }
  };

  // The same of BF16 as it lies in memory. Scores are scaled once they are sums: a scaled query would be rounded again.
  struct PairProducts {
    const AttentionCall& c;
    const RunArgs& args;
    const Block& at;
    const AttentionScratch& s;

    const uint16_t* rows_of(int i, const HeadLines& lines, int64_t head, int64_t first) const {
      return static_cast<const uint16_t*>(args.inputs[i]) + lines.at(at.b, head, first);
    }
    void prepare() const {
      // Side by side first: pairs need not lie at multiples of their size.
      auto* query = reinterpret_cast<uint16_t*>(s.query);
      const uint16_t* from = rows_of(0, c.q, at.h, at.first);
      for (int64_t r = 0; r < at.m; ++r) std::copy_n(from + r * c.q.row, c.size, query + r * c.size);
      transpose_plane(reinterpret_cast<const char*>(query), c.size / 2, reinterpret_cast<char*>(s.turned), at.wide,
                      c.size / 2, at.m, 4);
      clear_after(s.turned, c.size / 2, at);
    }
    void score(int64_t t, int64_t n) const {
      const auto multiply = c.grid != nullptr ? c.grid->multiply : c.pairs->multiply;
      multiply(rows_of(1, c.k, at.kv, t), c.k.row, reinterpret_cast<const uint16_t*>(s.turned), 2 * at.wide, s.scores,
               at.wide, n, at.wide, c.size / 2, false);
      if (c.scale != 1) c.rows->scale(s.scores, s.scores, n * at.wide, c.scale);
    }
    void gather(int64_t t, int64_t n) const {
      auto *weights = reinterpret_cast<uint16_t*>(s.mask), *value = reinterpret_cast<uint16_t*>(s.values);
      c.pairs->join_rounded(s.scores, at.wide, n, at.wide, weights);
      c.pairs->join(rows_of(2, c.v, at.kv, t), c.v.row, n, c.v_size, value);
      c.pairs->multiply_ta(weights, 2 * at.wide, value, 2 * c.v_size, s.out, c.v_size, at.m, c.v_size, (n + 1) / 2,
                           true);
    }
  };

  // By tiles: the weights' pairs are turned, so that a query's lie side by side, and filled up to whole lines of a
  // tile.
  struct TileProducts : PairProducts {
    void gather(int64_t t, int64_t n) const {
      auto *weights = reinterpret_cast<uint16_t*>(s.mask), *value = reinterpret_cast<uint16_t*>(s.values);
      auto* turned = reinterpret_cast<uint16_t*>(s.mask + kQueries * kKeys);
      const int64_t have = (n + 1) / 2, want = padded(have);
      c.pairs->join_rounded(s.scores, at.wide, n, at.wide, weights);
      std::fill(weights + have * 2 * at.wide, weights + want * 2 * at.wide, uint16_t{0});
      transpose_plane(reinterpret_cast<const char*>(weights), at.wide, reinterpret_cast<char*>(turned), want, at.wide,
                      want, 4);
      c.pairs->join(rows_of(2, c.v, at.kv, t), c.v.row, n, c.v_size, value);
      std::fill(value + have * 2 * c.v_size, value + want * 2 * c.v_size, uint16_t{0});
      c.grid->multiply(turned, 2 * want, value, 2 * c.v_size, s.out, c.v_size, at.m, c.v_size, want, true);
    }
  };

  // Zeros where the last vectors of turned rows have no query.
  static void clear_after(float* turned, int64_t n, const Block& at) {
    for (int64_t d = 0; d < n; ++d) std::fill(turned + d * at.wide + at.m, turned + (d + 1) * at.wide, 0.0f);
  }

  // Scores by columns: keys down, queries across.
  template <class Products>
  void many(const RunArgs& args, const Block& at, const AttentionScratch& s, const Products& products) const {
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

  // Keys from t: by rows, or (k_transposed) by columns.
  std::pair<const float*, int64_t> key_rows(const RunArgs& args, const Block& at, int64_t t, int64_t n,
                                            const AttentionScratch& s) const {
    int64_t stride = 0;
    if (!k_transposed) {
      const float* rows_at = read(args, 1, k, at.b, at.kv, t, n, s.keys, &stride);
      return {rows_at, stride};
    }
    const int64_t base = k.at(at.b, at.kv, 0) + t;
    if (reader.direct()) return {static_cast<const float*>(args.inputs[1]) + base, keys};
    for (int64_t d = 0; d < size; ++d) reader.read(args.inputs[1], base + d * keys, n, s.keys + d * kKeys);
    return {s.keys, kKeys};
  }

  void few(const RunArgs& args, const Block& at, const AttentionScratch& s) const {
    int64_t stride = 0;
    for (int64_t r = 0; r < at.m; ++r) {
      const float* query = read(args, 0, q, at.b, at.h, at.first + r, 1, s.query, &stride);
      rows->scale(s.query, query, size, scale);
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

  // What is added to the scores of query `first + r` and keys [t, t + n), as f32 (-inf: hidden).
  void mask_row(const RunArgs& args, const Block& at, int64_t r, int64_t t, int64_t n, float* to) const {
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

  void mask_columns(const RunArgs& args, const Block& at, int64_t t, int64_t n, const AttentionScratch& s) const {
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

  // Turns a row of scores into weights relative to the largest so far, and brings what is there to the same terms.
  void softmax_update_row(float* row, int64_t n, int64_t r, const AttentionScratch& s) const {
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
};

// BF16 whose rows are whole pairs, on a processor that multiplies them; weights are rounded to it, as the result is.
bool in_pairs(const Problem& p, const KernelOptions& options, const AttentionCall& c) {
  if (options.isa != Isa::kAvx512 || !cpu_info().avx512_bf16 || p.inputs[0].dtype != DType::kBF16) return false;
  return p.outputs[0].dtype == DType::kBF16 && !c.k_transposed && c.size % 2 == 0;
}

// Of these, what fills the lines of tiles.
bool in_tiles(const AttentionCall& c) {
  return c.pairs != nullptr && cpu_info().amx_bf16 && c.size > 0 && c.size % 32 == 0 && c.v_size % 16 == 0;
}

Result<std::unique_ptr<Call>> bind_attention(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<AttentionCall>();
  WOOTZ_ASSIGN_OR_RETURN(call->q, operand_lines(p, 0, args.inputs[0]));
  WOOTZ_ASSIGN_OR_RETURN(call->k, operand_lines(p, 1, args.inputs[1]));
  WOOTZ_ASSIGN_OR_RETURN(call->v, operand_lines(p, 2, args.inputs[2]));
  const Dims &q = call->q.dims, &k = call->k.dims, &v = call->v.dims;
  const bool transposed = p.as<AttentionParams>().k_transposed;
  if (transposed && args.inputs[1].rank() != 4) return unsupported("attention: a view of transposed keys");
  const int64_t keys = k[transposed ? 3 : 2], size = k[transposed ? 2 : 3];
  const bool heads_fit = k[1] >= 1 && q[1] % k[1] == 0 && v[1] == k[1];
  if (k[0] != q[0] || v[0] != q[0] || !heads_fit || size != q[3] || v[2] != keys)
    return invalid_argument("attention: q {}, k {} and v {} do not fit", q.to_string(), k.to_string(), v.to_string());
  WOOTZ_ASSIGN_OR_RETURN(call->y, result_lines(p, Dims{q[0], q[1], q[2], v[3]}, args.outputs[0]));
  call->batch = q[0];
  call->heads = q[1];
  call->kv_heads = k[1];
  call->queries = q[2];
  call->keys = keys;
  call->size = size;
  call->v_size = v[3];
  call->scale = static_cast<float>(p.as<AttentionParams>().scale);
  call->cap = static_cast<float>(p.as<AttentionParams>().softcap);
  call->causal = p.as<AttentionParams>().causal;
  call->nan_rows = p.as<AttentionParams>().nan_rows;
  call->k_transposed = transposed;
  if (p.as<AttentionParams>().has_mask) {
    const Dims scores{q[0], q[1], q[2], keys};
    const Result<Dims> both = broadcast_dims(args.inputs[3], scores);
    if (!both.ok() || !(*both == scores))
      return invalid_argument("attention: mask {} over scores {}", args.inputs[3].to_string(), scores.to_string());
    call->mask = p.inputs[3].dtype;
    call->mask_strides = broadcast_strides(args.inputs[3], scores);
    if (call->mask == DType::kF16 || call->mask == DType::kBF16) call->widen_mask = find_widen(options.isa, call->mask);
  }
  call->reader = RowReader(p.inputs[0].dtype, options.isa);
  call->rows = &row_ops(options.isa);
  if (in_pairs(p, options, *call)) call->pairs = &kPairOps;
  if (in_tiles(*call)) call->grid = &kTilePairs;
  call->tiles = &tile_ops(options.isa);
  call->slots = options.threads;
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  return std::unique_ptr<Call>(std::move(call));
}

Status attention_applies(const Problem& p) {
  const bool has_mask = p.as<AttentionParams>().has_mask;
  WOOTZ_RETURN_IF_ERROR(check_counts(p, has_mask ? 4 : 3, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, true));
  if (dtype_bits(p.outputs[0].dtype) == 8) return unsupported("a rounded result, which is better a step of its own");
  const DType type = p.inputs[0].dtype;
  if (!is_row_type(type) || p.inputs[1].dtype != type || p.inputs[2].dtype != type)
    return unsupported("attention of {}, {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype),
                       dtype_name(p.inputs[2].dtype));
  if (has_mask && p.inputs[3].dtype != DType::kBool && !is_row_type(p.inputs[3].dtype))
    return unsupported("attention with a mask of {}", dtype_name(p.inputs[3].dtype));
  for (int i = 0; i < 3; ++i) {
    const TensorDesc& t = p.inputs[static_cast<size_t>(i)];
    WOOTZ_ASSIGN_OR_RETURN(const HeadLines lines, operand_lines(p, i, t.max_dims));
    if (lines.dims.back() > 65536) return unsupported("attention with heads of {} elements", lines.dims.back());
  }
  return try_bind(bind_attention, p);
}

}  // namespace

const KernelEntry attention_float_flash{Family::kAttention, kSchemeLinear, attention_applies,
                                        make_function_kernel<bind_attention>, true};

}  // namespace wootz::cpu
