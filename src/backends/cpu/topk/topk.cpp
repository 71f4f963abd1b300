// Family topk: the k largest or smallest of each line with their indices, and argmax / argmin. Elements are compared by
// integer keys in the order of their values (-0 = 0, NaN above all numbers), so one code serves every type.
#include <algorithm>
#include <bit>

#include "backends/cpu/function_kernel.h"
#include "backends/cpu/row_reader.h"
#include "backends/cpu/simd/rows.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

constexpr uint64_t kNanKey = UINT64_MAX;
constexpr int64_t kInserted = 64;  // up to so many are kept sorted while walking the line

uint64_t key_of(double v) {
  if (v != v) return kNanKey;
  const auto bits = std::bit_cast<uint64_t>(v + 0.0);
  return bits >> 63 != 0 ? ~bits : bits | uint64_t{1} << 63;
}
uint64_t key_of(float v) { return key_of(static_cast<double>(v)); }
template <class T>
uint64_t key_of(T v) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(v)) ^ uint64_t { 1 } << 63;
  else
    return v;
}

// Keys of n elements that are `stride` apart.
using KeyFn = void (*)(const void* data, int64_t at, int64_t stride, int64_t n, uint64_t* keys);
template <class T, class Get>
void keys_by(const void* data, int64_t at, int64_t stride, int64_t n, uint64_t* keys, Get get) {
  const T* p = static_cast<const T*>(data) + at;
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(get(p[i * stride]));
}
template <class T>
void keys_plain(const void* data, int64_t at, int64_t stride, int64_t n, uint64_t* keys) {
  keys_by<T>(data, at, stride, n, keys, [](T v) { return v; });
}
KeyFn find_keys(DType type) {
  switch (type) {
    case DType::kF32: return keys_plain<float>;
    case DType::kF64: return keys_plain<double>;
    case DType::kF16:
      return [](const void* d, int64_t at, int64_t s, int64_t n, uint64_t* k) {
        keys_by<uint16_t>(d, at, s, n, k, f16_to_f32);
      };
    case DType::kBF16:
      return [](const void* d, int64_t at, int64_t s, int64_t n, uint64_t* k) {
        keys_by<uint16_t>(d, at, s, n, k, bf16_to_f32);
      };
    case DType::kI8: return keys_plain<int8_t>;
    case DType::kU8:
    case DType::kBool: return keys_plain<uint8_t>;
    case DType::kI16: return keys_plain<int16_t>;
    case DType::kU16: return keys_plain<uint16_t>;
    case DType::kI32: return keys_plain<int32_t>;
    case DType::kU32: return keys_plain<uint32_t>;
    case DType::kI64: return keys_plain<int64_t>;
    case DType::kU64: return keys_plain<uint64_t>;
    default: return nullptr;
  }
}

struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
};
Result<Lines> lines_of(const Problem& p, const Dims& x) {
  const int64_t axis = p.as<TopKParams>().axis;
  if (axis < 0 || axis >= x.rank()) return invalid_argument("topk: axis {} of {}", axis, x.to_string());
  Lines l;
  for (int d = 0; d < x.rank(); ++d) (d < axis ? l.outer : d == axis ? l.length : l.inner) *= x[static_cast<size_t>(d)];
  return l;
}

struct Entry {
  uint64_t key;
  int64_t index;
};

// Elements that are `stride` apart as f32, and f32 rounded to the type and back.
void widen(DType type, const void* data, int64_t at, int64_t stride, int64_t n, float* to) {
  const auto* f = static_cast<const float*>(data) + at;
  const auto* h = static_cast<const uint16_t*>(data) + at;
  if (type == DType::kF32)
    for (int64_t i = 0; i < n; ++i) to[i] = f[i * stride];
  else if (type == DType::kF16)
    for (int64_t i = 0; i < n; ++i) to[i] = f16_to_f32(h[i * stride]);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = bf16_to_f32(h[i * stride]);
}
void round_to(DType type, float* p, int64_t n) {
  if (type == DType::kF16)
    for (int64_t i = 0; i < n; ++i) p[i] = f16_to_f32(f32_to_f16(p[i]));
  else if (type == DType::kBF16)
    for (int64_t i = 0; i < n; ++i) p[i] = bf16_to_f32(f32_to_bf16(p[i]));
}
void store(DType type, void* to, float v) {
  const uint16_t half = type == DType::kF16 ? f32_to_f16(v) : f32_to_bf16(v);
  if (type == DType::kF32)
    std::memcpy(to, &v, sizeof(v));
  else
    std::memcpy(to, &half, sizeof(half));
}

class TopKCall final : public Call {
 public:
  Lines l;
  int64_t k = 0;
  bool largest = true;
  KeyFn keys = nullptr;
  const RowOps* softmax = nullptr;  // the line is softmaxed first
  DType type = DType::kF32;
  int64_t bytes = 1;
  int slots = 1;

  // Entries, keys and probabilities of one line for each thread.
  size_t workspace() const override { return static_cast<size_t>(slots) * slot_bytes(); }
  Status run(const RunArgs& args) const override {
    parallel_slots(l.outer * l.inner, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, l.length)), slots,
                   [&](int slot, int64_t begin, int64_t end) {
                     auto* memory = static_cast<char*>(args.workspace) + static_cast<size_t>(slot) * slot_bytes();
                     for (int64_t i = begin; i < end; ++i) line(args, i, reinterpret_cast<Entry*>(memory));
                   });
    return {};
  }

 private:
  size_t slot_bytes() const {
    const size_t floats = softmax != nullptr ? static_cast<size_t>(l.length + l.length % 2) * sizeof(float) : 0;
    return static_cast<size_t>(l.length) * (sizeof(Entry) + sizeof(uint64_t)) + floats;
  }
  // The line's probabilities, each as its type rounds it, and their keys.
  void probabilities(const void* x, int64_t at, float* p, uint64_t* key) const {
    const float* from = p;
    if (type == DType::kF32 && l.inner == 1)
      from = static_cast<const float*>(x) + at;
    else
      widen(type, x, at, l.inner, l.length, p);
    const float factor = 1 / softmax->exp_row(p, from, l.length, softmax->max(from, l.length));
    softmax->scale(p, p, l.length, factor);
    round_to(type, p, l.length);
    keys_plain<float>(p, 0, 1, l.length, key);
  }
  // The k first of the keys' order, sorted; of equal ones those of lower index.
  void select(const uint64_t* key, Entry* entries) const {
    const uint64_t flip = largest ? ~uint64_t{0} : 0;
    if (k <= kInserted && k > 0) {
      int64_t held = 0;
      for (int64_t e = 0; e < l.length; ++e) {
        const uint64_t v = key[e] ^ flip;
        if (held == k && v >= entries[k - 1].key) continue;
        int64_t at = held < k ? held++ : k - 1;
        for (; at > 0 && entries[at - 1].key > v; --at) entries[at] = entries[at - 1];
        entries[at] = {v, e};
      }
      return;
    }
    for (int64_t e = 0; e < l.length; ++e) entries[e] = {key[e] ^ flip, e};
    const auto before = [](const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.index < b.index;
    };
    std::partial_sort(entries, entries + k, entries + l.length, before);
  }
  void line(const RunArgs& args, int64_t i, Entry* entries) const {
    auto* key = reinterpret_cast<uint64_t*>(entries + l.length);
    const int64_t o = i / l.inner, at = o * l.length * l.inner + i % l.inner;
    const char* x = static_cast<const char*>(args.inputs[0]);
    auto* p = reinterpret_cast<float*>(key + l.length);
    if (softmax != nullptr)
      probabilities(x, at, p, key);
    else
      keys(x, at, l.inner, l.length, key);
    select(key, entries);
    for (int64_t e = 0; e < k; ++e) {
      const int64_t to = (o * k + e) * l.inner + i % l.inner;
      if (args.outputs[0] != nullptr && softmax != nullptr)
        store(type, static_cast<char*>(args.outputs[0]) + to * bytes, p[entries[e].index]);
      else if (args.outputs[0] != nullptr)
        std::memcpy(static_cast<char*>(args.outputs[0]) + to * bytes, x + (at + entries[e].index * l.inner) * bytes,
                    static_cast<size_t>(bytes));
      if (args.outputs[1] != nullptr) static_cast<int64_t*>(args.outputs[1])[to] = entries[e].index;
    }
  }
};

Result<std::unique_ptr<Call>> bind_topk(const Problem& p, const KernelOptions& options, const BindArgs& args) {
  auto call = std::make_unique<TopKCall>();
  WOOTZ_ASSIGN_OR_RETURN(call->l, lines_of(p, args.inputs[0]));
  const Dims &y = args.outputs[0], &indices = args.outputs[1];
  const auto axis = static_cast<size_t>(p.as<TopKParams>().axis);
  Dims want = args.inputs[0];
  if (y.rank() == want.rank()) want[axis] = y[axis];
  if (!(y == want) || !(indices == want) || want[axis] > call->l.length)
    return invalid_argument("topk of {} gives {} and {}", args.inputs[0].to_string(), y.to_string(),
                            indices.to_string());
  call->k = want[axis];
  call->largest = p.as<TopKParams>().largest;
  call->keys = find_keys(p.inputs[0].dtype);
  call->type = p.inputs[0].dtype;
  if (p.as<TopKParams>().softmax) call->softmax = &row_ops(options.isa);
  call->bytes = dtype_bits(p.inputs[0].dtype) / 8;
  call->slots = options.threads;
  return std::unique_ptr<Call>(std::move(call));
}

class ArgCall final : public Call {
 public:
  Lines l;
  bool max = true, last = false, floats = false;
  KeyFn keys = nullptr;

  Status run(const RunArgs& args) const override {
    parallel_for(l.outer * l.inner, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, l.length)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     static_cast<int64_t*>(args.outputs[0])[i] = line(args.inputs[0], i);
                 });
    return {};
  }

 private:
  int64_t line(const void* x, int64_t i) const {
    constexpr int64_t kChunk = 512;
    uint64_t key[kChunk];
    const int64_t at = i / l.inner * l.length * l.inner + i % l.inner;
    uint64_t best = 0;
    int64_t where = 0;
    for (int64_t e = 0; e < l.length; e += kChunk) {
      const int64_t n = std::min(kChunk, l.length - e);
      keys(x, at + e * l.inner, l.inner, n, key);
      for (int64_t j = 0; j < n; ++j) {
        const uint64_t v = max || (floats && key[j] == kNanKey) ? key[j] : ~key[j];  // NaN is the extreme either way
        if (v > best || (e + j == 0) || (last && v == best)) best = v, where = e + j;
      }
    }
    return where;
  }
};

Result<std::unique_ptr<Call>> bind_arg(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<ArgCall>();
  WOOTZ_ASSIGN_OR_RETURN(call->l, lines_of(p, args.inputs[0]));
  if (args.outputs[0].volume() != call->l.outer * call->l.inner ||
      (call->l.length == 0 && args.outputs[0].volume() > 0))
    return invalid_argument("{} of {} gives {}", name_of(p.as<TopKParams>().kind), args.inputs[0].to_string(),
                            args.outputs[0].to_string());
  call->max = p.as<TopKParams>().kind == TopKKind::kArgMax;
  call->last = p.as<TopKParams>().select_last;
  call->floats = is_float(p.inputs[0].dtype);
  call->keys = find_keys(p.inputs[0].dtype);
  return std::unique_ptr<Call>(std::move(call));
}

Status applies_common(const Problem& p, size_t outputs) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 1, outputs));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (find_keys(p.inputs[0].dtype) == nullptr) return unsupported("topk of {}", dtype_name(p.inputs[0].dtype));
  if (p.outputs.back().dtype != DType::kI64)
    return unsupported("topk with indices of {}", dtype_name(p.outputs.back().dtype));
  return {};
}
Status applies_topk(const Problem& p) {
  if (p.as<TopKParams>().kind != TopKKind::kTopK) return unsupported("kind '{}'", name_of(p.as<TopKParams>().kind));
  WOOTZ_RETURN_IF_ERROR(applies_common(p, 2));
  if (p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("topk of {} gives {}", dtype_name(p.inputs[0].dtype), dtype_name(p.outputs[0].dtype));
  if (p.as<TopKParams>().softmax && !is_row_type(p.inputs[0].dtype))
    return unsupported("topk of the softmax of {}", dtype_name(p.inputs[0].dtype));
  return try_bind(bind_topk, p);
}
Status applies_arg(const Problem& p) {
  const TopKKind kind = p.as<TopKParams>().kind;
  if (kind != TopKKind::kArgMax && kind != TopKKind::kArgMin) return unsupported("kind '{}'", name_of(kind));
  WOOTZ_RETURN_IF_ERROR(applies_common(p, 1));
  return try_bind(bind_arg, p);
}

}  // namespace

const KernelEntry topk_any_lines{Family::kTopK, kSchemeLinear, applies_topk, make_function_kernel<bind_topk>, true};
const KernelEntry argreduce_any_lines{Family::kTopK, kSchemeLinear, applies_arg, make_function_kernel<bind_arg>};

}  // namespace wootz::cpu
