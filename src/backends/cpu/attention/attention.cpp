// Family attention of f32, f16 and bf16: a block of queries goes over blocks of keys and values, keeping for each row
// the largest score so far, the sum of exponentials relative to it, and the weighted values. Scores of a whole row
// never exist at once. A block's rows are one piece of work; each row is computed in one fixed order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/attention/tile.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/function_kernel.h"
#include "backends/cpu/move/transpose_block.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kQueries = 48, kKeys = 128;
constexpr int64_t kFewQueries = 4;  // below: keys are read as they lie, without transposing them first
constexpr float kLow = -std::numeric_limits<float>::infinity();

int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }

// What one thread needs, in f32 elements.
struct Scratch {
  float *query, *keys, *values, *wide, *scores, *out, *top, *sum;
  static int64_t elements(int64_t size, int64_t v_size) {
    return kQueries * padded(size) + padded(size) * kKeys + kKeys * padded(v_size) + kKeys * padded(size) +
           kQueries * kKeys + kQueries * padded(v_size) + 2 * padded(kQueries);
  }
  Scratch(float* at, int64_t size, int64_t v_size) {
    const auto take = [&at](int64_t n) { return std::exchange(at, at + n); };
    query = take(kQueries * padded(size));
    keys = take(padded(size) * kKeys);
    values = take(kKeys * padded(v_size));
    wide = take(kKeys * padded(size));
    scores = take(kQueries * kKeys);
    out = take(kQueries * padded(v_size));
    top = take(padded(kQueries));
    sum = take(padded(kQueries));
  }
};

class AttentionCall final : public Call {
 public:
  int64_t batch = 0, heads = 0, kv_heads = 1, queries = 0, keys = 0, size = 0, v_size = 0;
  float scale = 1, cap = 0;
  bool causal = false, k_transposed = false;
  DType mask = DType::kInvalid;
  Dims mask_strides;  // over [B, H, S, T]
  OpFn widen_mask = nullptr;
  RowReader reader;
  int type_bytes = 4;
  const RowOps* rows = nullptr;
  const TileOps* tiles = nullptr;
  Epilogue::Bound end;
  int slots = 1;

  size_t workspace() const override {
    return static_cast<size_t>(slots) * static_cast<size_t>(Scratch::elements(size, v_size)) * sizeof(float) + 64;
  }

  Status run(const RunArgs& args) const override {
    const int64_t blocks = (queries + kQueries - 1) / kQueries;
    const int64_t cost = std::min(queries, kQueries) * std::max<int64_t>(1, keys) * (size + v_size);
    auto* memory = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(args.workspace) + 63) / 64 * 64);
    parallel_slots(batch * heads * blocks, std::max<int64_t>(1, 200000 / std::max<int64_t>(1, cost)), slots,
                   [&](int slot, int64_t begin, int64_t last) {
                     const Scratch s(memory + slot * Scratch::elements(size, v_size), size, v_size);
                     for (int64_t i = begin; i < last; ++i) block(args, i / blocks, i % blocks * kQueries, s);
                   });
    return {};
  }

 private:
  // n elements from `at` of input `i` as f32 at `to`; or, where they are f32 already, where they lie.
  const float* read(const RunArgs& args, int i, int64_t at, int64_t n, float* to) const {
    if (reader.direct()) return static_cast<const float*>(args.inputs[i]) + at;
    for (int64_t k = 0; k < n; k += kRowChunk) reader.read(args.inputs[i], at + k, std::min(kRowChunk, n - k), to + k);
    return to;
  }

  void block(const RunArgs& args, int64_t head, int64_t first, const Scratch& s) const {
    const int64_t m = std::min(kQueries, queries - first);
    const int64_t kv = head / heads * kv_heads + head % heads / (heads / kv_heads);
    const float* q = read(args, 0, (head * queries + first) * size, m * size, s.query);
    rows->scale(s.query, q, m * size, scale);
    std::fill_n(s.top, m, kLow);
    std::fill_n(s.sum, m, 0.0f);
    std::fill_n(s.out, m * v_size, 0.0f);
    const int64_t visible = causal ? std::min(keys, first + m) : keys;
    for (int64_t t = 0; t < visible; t += kKeys) {
      const int64_t n = std::min(kKeys, visible - t);
      score(args, kv, t, m, n, s);
      if (cap > 0)
        for (int64_t r = 0; r < m; ++r) tiles->softcap(s.scores + r * kKeys, n, cap);
      for (int64_t r = 0; r < m; ++r) {
        float* row = s.scores + r * kKeys;
        if (mask != DType::kInvalid) apply_mask(args, head, first + r, t, n, row, s.wide);
        if (causal)
          for (int64_t j = std::max<int64_t>(0, first + r + 1 - t); j < n; ++j) row[j] = kLow;
        soften(row, n, r, s);
      }
      const float* v = read(args, 2, (kv * keys + t) * v_size, n * v_size, s.values);
      tiles->multiply(s.scores, kKeys, v, v_size, s.out, v_size, m, v_size, n, true);
    }
    for (int64_t r = 0; r < m; ++r)  // nothing visible: zeros
      rows->scale(s.out + r * v_size, s.out + r * v_size, v_size, s.sum[r] == 0 ? 0 : 1 / s.sum[r]);
    end.store((head * queries + first) * v_size, m * v_size, s.out, args);
  }

  // scores = query * keys^T for n keys from t.
  void score(const RunArgs& args, int64_t kv, int64_t t, int64_t m, int64_t n, const Scratch& s) const {
    if (k_transposed) {
      const int64_t base = kv * size * keys + t;
      const float* b = static_cast<const float*>(args.inputs[1]) + base;
      int64_t stride = keys;
      if (!reader.direct()) {
        for (int64_t d = 0; d < size; ++d) reader.read(args.inputs[1], base + d * keys, n, s.keys + d * kKeys);
        b = s.keys;
        stride = kKeys;
      }
      tiles->multiply(s.query, size, b, stride, s.scores, kKeys, m, n, size, false);
      return;
    }
    const float* k = read(args, 1, (kv * keys + t) * size, n * size, s.wide);
    if (m < kFewQueries) {
      for (int64_t r = 0; r < m; ++r) tiles->dots(s.query + r * size, k, size, s.scores + r * kKeys, n, size);
      return;
    }
    transpose_plane(reinterpret_cast<const char*>(k), size, reinterpret_cast<char*>(s.keys), kKeys, size, n, 4);
    tiles->multiply(s.query, size, s.keys, kKeys, s.scores, kKeys, m, n, size, false);
  }

  void apply_mask(const RunArgs& args, int64_t head, int64_t row, int64_t t, int64_t n, float* scores,
                  float* buffer) const {
    const int64_t at =
        head / heads * mask_strides[0] + head % heads * mask_strides[1] + row * mask_strides[2] + t * mask_strides[3];
    const int64_t step = mask_strides[3];
    if (mask == DType::kBool) {
      const auto* allowed = static_cast<const uint8_t*>(args.inputs[3]) + at;
      for (int64_t j = 0; j < n; ++j) scores[j] = allowed[j * step] != 0 ? scores[j] : kLow;
      return;
    }
    const float* add = static_cast<const float*>(args.inputs[3]) + at;
    if (widen_mask != nullptr) {
      widen_mask(
          {buffer, static_cast<const uint16_t*>(args.inputs[3]) + at, nullptr, nullptr, step == 0 ? 1 : n, 0, 0});
      add = buffer;
    }
    for (int64_t j = 0; j < n; ++j) {
      const float v = add[j * step];
      scores[j] = v == kLow ? kLow : scores[j] + v;  // hidden even where the score is not a number
    }
  }

  // Turns a row of scores into weights relative to the largest so far, and brings what is there to the same terms.
  void soften(float* row, int64_t n, int64_t r, const Scratch& s) const {
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

Result<std::unique_ptr<Call>> bind(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<AttentionCall>();
  const Dims &q = args.inputs[0], &k = args.inputs[1], &v = args.inputs[2], &y = args.outputs[0];
  const bool transposed = p.get_int("k_transposed") != 0;
  const auto mismatch = [&] {
    return invalid_argument("attention: q {}, k {} and v {} do not give {}", q.to_string(), k.to_string(),
                            v.to_string(), y.to_string());
  };
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) return mismatch();
  const int64_t keys = k[transposed ? 3 : 2], size = k[transposed ? 2 : 3];
  const bool heads_fit = k[1] >= 1 && q[1] % k[1] == 0 && v[1] == k[1];
  if (k[0] != q[0] || v[0] != q[0] || !heads_fit || size != q[3] || v[2] != keys ||
      !(y == Dims{q[0], q[1], q[2], v[3]}))
    return mismatch();
  call->batch = q[0];
  call->heads = q[1];
  call->kv_heads = k[1];
  call->queries = q[2];
  call->keys = keys;
  call->size = size;
  call->v_size = v[3];
  call->scale = static_cast<float>(p.get_float("scale", 1));
  call->cap = static_cast<float>(p.get_float("softcap", 0));
  call->causal = p.get_int("causal") != 0;
  call->k_transposed = transposed;
  if (p.get_int("has_mask") != 0) {
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
  call->tiles = &tile_ops(options.isa);
  call->slots = options.threads;
  WOOTZ_ASSIGN_OR_RETURN(const Epilogue e, Epilogue::make(p, DType::kF32, options.isa));
  WOOTZ_ASSIGN_OR_RETURN(call->end, e.bind(p, args));
  return std::unique_ptr<Call>(std::move(call));
}

Status applies(const Problem& p) {
  const bool has_mask = p.get_int("has_mask") != 0;
  WOOTZ_RETURN_IF_ERROR(check_counts(p, has_mask ? 4 : 3, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, true));
  const DType type = p.inputs[0].dtype;
  if (!is_row_type(type) || p.inputs[1].dtype != type || p.inputs[2].dtype != type)
    return unsupported("attention of {}, {} and {}", dtype_name(type), dtype_name(p.inputs[1].dtype),
                       dtype_name(p.inputs[2].dtype));
  if (has_mask && p.inputs[3].dtype != DType::kBool && !is_row_type(p.inputs[3].dtype))
    return unsupported("attention with a mask of {}", dtype_name(p.inputs[3].dtype));
  for (int i = 0; i < 3; ++i)
    if (p.inputs[static_cast<size_t>(i)].dims.rank() == 4 && p.inputs[static_cast<size_t>(i)].max_dims.back() > 65536)
      return unsupported("attention with heads of {} elements", p.inputs[static_cast<size_t>(i)].max_dims.back());
  return try_bind(bind, p);
}

}  // namespace

const KernelEntry attention_float_flash{Family::kAttention, kSchemeLinear, applies, make_function_kernel<bind>, true};

}  // namespace wootz::cpu
