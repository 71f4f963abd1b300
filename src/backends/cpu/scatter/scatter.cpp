// Family scatter: a copy of the data with updates written, or combined, where indices say.
#include <algorithm>
#include <cmath>

#include "backends/cpu/function_kernel.h"
#include "backends/cpu/indices.h"
#include "base/half.h"

namespace wootz::cpu {
namespace {

using CombineFn = void (*)(void* to, const void* from, int64_t n);

struct F16 {
  static float get(uint16_t v) { return f16_to_f32(v); }
  static uint16_t put(float v) { return f32_to_f16(v); }
};
struct Bf16 {
  static float get(uint16_t v) { return bf16_to_f32(v); }
  static uint16_t put(float v) { return f32_to_bf16(v); }
};

enum class Kind : uint8_t { kAdd, kMul, kMax, kMin };
template <Kind kKind, class T>
T combine(T a, T b) {
  if constexpr (kKind == Kind::kMax)
    return a != a || a > b ? a : b;
  else if constexpr (kKind == Kind::kMin)
    return a != a || a < b ? a : b;
  else if constexpr (std::is_floating_point_v<T>)
    return kKind == Kind::kAdd ? a + b : a * b;
  else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);  // wraps
    return static_cast<T>(kKind == Kind::kAdd ? x + y : x * y);
  }
}
template <Kind kKind, class T>
void combine_plain(void* to, const void* from, int64_t n) {
  auto* a = static_cast<T*>(to);
  const auto* b = static_cast<const T*>(from);
  for (int64_t i = 0; i < n; ++i) a[i] = combine<kKind, T>(a[i], b[i]);
}
template <Kind kKind, class H>
void combine_half(void* to, const void* from, int64_t n) {
  auto* a = static_cast<uint16_t*>(to);
  const auto* b = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < n; ++i) a[i] = H::put(combine<kKind, float>(H::get(a[i]), H::get(b[i])));
}
template <Kind kKind>
CombineFn find_combine(DType type) {
  switch (type) {
    case DType::kF32: return combine_plain<kKind, float>;
    case DType::kF64: return combine_plain<kKind, double>;
    case DType::kF16: return combine_half<kKind, F16>;
    case DType::kBF16: return combine_half<kKind, Bf16>;
    case DType::kI8: return combine_plain<kKind, int8_t>;
    case DType::kU8: return combine_plain<kKind, uint8_t>;
    case DType::kI16: return combine_plain<kKind, int16_t>;
    case DType::kU16: return combine_plain<kKind, uint16_t>;
    case DType::kI32: return combine_plain<kKind, int32_t>;
    case DType::kU32: return combine_plain<kKind, uint32_t>;
    case DType::kI64: return combine_plain<kKind, int64_t>;
    case DType::kU64: return combine_plain<kKind, uint64_t>;
    default: return nullptr;
  }
}
template <size_t kBytes>
void replace(void* to, const void* from, int64_t n) {
  std::memcpy(to, from, static_cast<size_t>(n) * kBytes);
}

CombineFn combine_of(const Problem& p) {
  const ScatterReduction reduction = p.as<ScatterParams>().reduction;
  const DType type = p.inputs[0].dtype;
  if (reduction == ScatterReduction::kAdd) return find_combine<Kind::kAdd>(type);
  if (reduction == ScatterReduction::kMul) return find_combine<Kind::kMul>(type);
  if (reduction == ScatterReduction::kMax) return find_combine<Kind::kMax>(type);
  if (reduction == ScatterReduction::kMin) return find_combine<Kind::kMin>(type);
  switch (dtype_bits(type)) {
    case 8: return replace<1>;
    case 16: return replace<2>;
    case 32: return replace<4>;
    case 64: return replace<8>;
    default: return nullptr;
  }
}

class ScatterCall final : public Call {
 public:
  Dims data, indices;
  bool elements = false;
  size_t axis = 0, tuple = 0;
  int64_t inner = 1, rows = 0;
  DType index_type = DType::kI64;
  int64_t bytes = 1;
  CombineFn fn = nullptr;

  Status run(const RunArgs& args) const override {
    const int64_t total = data.volume() * bytes;
    if (args.inputs[0] != args.outputs[0])
      parallel_for(total, 1 << 18, [&](int64_t begin, int64_t end) {
        std::memcpy(static_cast<char*>(args.outputs[0]) + begin, static_cast<const char*>(args.inputs[0]) + begin,
                    static_cast<size_t>(end - begin));
      });
    IndexReader reader(index_type, args.inputs[1]);
    const char* updates = static_cast<const char*>(args.inputs[2]);
    char* out = static_cast<char*>(args.outputs[0]);
    if (elements) {
      const auto put = [&]<size_t kBytes>() {
        scatter_elements(reader, [=](int64_t to, int64_t i) {
          std::memcpy(out + to * static_cast<int64_t>(kBytes), updates + i * static_cast<int64_t>(kBytes), kBytes);
        });
      };
      if (fn == replace<1>)
        put.template operator()<1>();
      else if (fn == replace<2>)
        put.template operator()<2>();
      else if (fn == replace<4>)
        put.template operator()<4>();
      else if (fn == replace<8>)
        put.template operator()<8>();
      else
        scatter_elements(reader, [&](int64_t to, int64_t i) { fn(out + to * bytes, updates + i * bytes, 1); });
      return reader.status("scatter");
    }
    const Dims strides = data.strides();
    for (int64_t r = 0; r < rows; ++r) {
      int64_t at = 0;
      bool inside = true;
      for (size_t t = 0; t < tuple; ++t) {
        const int64_t k = reader.read(r * static_cast<int64_t>(tuple) + static_cast<int64_t>(t), data[t]);
        inside = inside && k >= 0;
        at += k * strides[t];
      }
      if (inside) fn(out + at * bytes, updates + r * inner * bytes, inner);
    }
    return reader.status("scatter");
  }

 private:
  // Updates meet only along the axis: another dimension is divided among threads, and each of them goes through its
  // part in order.
  template <class Put>
  void scatter_elements(IndexReader& reader, Put put) const {
    size_t split = axis;
    for (size_t d = 0; d < indices.size(); ++d)
      if (d != axis && (split == axis || indices[d] > indices[split])) split = d;
    int64_t outer = 1, block = 1;
    for (size_t d = 0; d < indices.size(); ++d)
      if (d != split) (d < split ? outer : block) *= indices[d];
    const int64_t extent = indices[split], pieces = split == axis ? 1 : extent;
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, outer * block));
    parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
      if (split == axis) end = extent;
      for (int64_t o = 0; o < outer; ++o) walk(reader, (o * extent + begin) * block, (end - begin) * block, put);
    });
  }
  // `n` neighbours from update `first` on.
  template <class Put>
  void walk(IndexReader& reader, int64_t first, int64_t n, Put put) const {
    const Dims strides = data.strides();
    Dims place = indices;
    int64_t rest = first, at = 0;
    for (size_t d = indices.size(); n > 0 && d-- > 0; rest /= indices[d]) {
      place[d] = rest % indices[d];
      if (d != axis) at += place[d] * strides[d];
    }
    for (int64_t i = first; i < first + n; ++i) {
      const int64_t k = reader.read(i, data[axis]);
      if (k >= 0) put(at + k * strides[axis], i);
      for (size_t d = indices.size(); d-- > 0;) {
        const int64_t step = d == axis ? 0 : strides[d];
        at += step;
        if (++place[d] < indices[d]) break;
        at -= step * place[d];
        place[d] = 0;
      }
    }
  }
};

Result<std::unique_ptr<Call>> bind_scatter(const Problem& p, const KernelOptions&, const BindArgs& args) {
  auto call = std::make_unique<ScatterCall>();
  const Dims &data = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2];
  const ScatterKind kind = p.as<ScatterParams>().kind;
  const auto mismatch = [&] {
    return invalid_argument("scatter {}: data {}, indices {} and updates {} do not fit {}", name_of(kind),
                            data.to_string(), indices.to_string(), updates.to_string(), args.outputs[0].to_string());
  };
  if (!(data == args.outputs[0])) return mismatch();
  call->data = data;
  call->indices = indices;
  if (kind == ScatterKind::kElements) {
    const int64_t axis = p.as<ScatterParams>().axis;
    if (axis < 0 || axis >= data.rank() || indices.rank() != data.rank() || !(indices == updates)) return mismatch();
    call->axis = static_cast<size_t>(axis);
    for (size_t d = 0; d < data.size(); ++d)
      if (d != call->axis && indices[d] > data[d]) return mismatch();
    call->elements = true;
  } else if (kind == ScatterKind::kNd) {
    if (indices.rank() < 1 || indices.back() < 1 || indices.back() > data.rank()) return mismatch();
    call->tuple = static_cast<size_t>(indices.back());
    Dims want = indices;
    want.pop_back();
    call->rows = want.volume();
    for (size_t d = call->tuple; d < data.size(); ++d) {
      want.push_back(data[d]);
      call->inner *= data[d];
    }
    if (!(want == updates)) return mismatch();
  } else {
    return invalid_argument("scatter of kind '{}'", name_of(kind));
  }
  call->index_type = p.inputs[1].dtype;
  call->bytes = dtype_bits(p.inputs[0].dtype) / 8;
  call->fn = combine_of(p);
  return std::unique_ptr<Call>(std::move(call));
}

Status scatter_applies(const Problem& p) {
  WOOTZ_RETURN_IF_ERROR(check_counts(p, 3, 1));
  WOOTZ_RETURN_IF_ERROR(check_linear(p, false));
  if (p.inputs[0].dtype != p.outputs[0].dtype || p.inputs[2].dtype != p.inputs[0].dtype)
    return invalid_argument("scatter of {} into {}", dtype_name(p.inputs[2].dtype), dtype_name(p.inputs[0].dtype));
  if (!IndexReader::readable(p.inputs[1].dtype)) return unsupported("scatter by {}", dtype_name(p.inputs[1].dtype));
  if (combine_of(p) == nullptr)
    return unsupported("scatter {} of {}", name_of(p.as<ScatterParams>().reduction), dtype_name(p.inputs[0].dtype));
  return try_bind(bind_scatter, p);
}

int in_place(const Problem& p, int output) { return output == 0 && !p.inputs[0].constant ? 0 : -1; }

}  // namespace

const KernelEntry scatter_any_serial{Family::kScatter, kSchemeLinear, scatter_applies,
                                     make_function_kernel<bind_scatter, in_place>};

}  // namespace wootz::cpu
