#include "ops/support/ref_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wootz {
namespace {

template <typename T>
void widen(const HostTensor& tensor, int64_t begin, std::span<double> out) {
  const T* p = static_cast<const T*>(tensor.data()) + begin;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(p[i]);
}

template <typename T>
void narrow(HostTensor* tensor, int64_t begin, std::span<const double> values) {
  T* p = static_cast<T*>(tensor->mutable_data()) + begin;
  for (size_t i = 0; i < values.size(); ++i) p[i] = static_cast<T>(values[i]);
}

}  // namespace

void load_f64(const HostTensor& tensor, int64_t begin, std::span<double> out) {
  switch (tensor.dtype()) {
    case DType::kF32: return widen<float>(tensor, begin, out);
    case DType::kF64: return widen<double>(tensor, begin, out);
    case DType::kI8: return widen<int8_t>(tensor, begin, out);
    case DType::kU8: return widen<uint8_t>(tensor, begin, out);
    case DType::kI32: return widen<int32_t>(tensor, begin, out);
    default:
      for (size_t i = 0; i < out.size(); ++i) out[i] = tensor.get_f64(begin + static_cast<int64_t>(i));
  }
}

std::vector<double> load_f64(const HostTensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.volume()));
  load_f64(tensor, 0, out);
  return out;
}

void store_f64(HostTensor* tensor, int64_t begin, std::span<const double> values) {
  if (tensor->dtype() == DType::kF32) return narrow<float>(tensor, begin, values);
  if (tensor->dtype() == DType::kF64) return narrow<double>(tensor, begin, values);
  const bool whole = is_integer(tensor->dtype());
  for (size_t i = 0; i < values.size(); ++i)
    tensor->set_f64(begin + static_cast<int64_t>(i), whole ? std::nearbyint(values[i]) : values[i]);
}

namespace {

// Vectors by hand: at -O2 the compiler leaves loops of unknown length scalar. Every width multiplies, then adds, in the
// same order, so results do not depend on the processor.
typedef double Pair __attribute__((vector_size(16)));
typedef double Quad __attribute__((vector_size(32)));

template <typename V>
[[gnu::always_inline]] inline V load_vector(const double* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// c[0, n) += a[0] * b[0][0, n) + ... + a[3] * b[3][0, n)
template <typename V>
[[gnu::always_inline]] inline void add_four_rows(int64_t n, const double* a, const double* const* b, double* c) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(double);
  const double *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  const V a0 = a[0] - V{}, a1 = a[1] - V{}, a2 = a[2] - V{}, a3 = a[3] - V{};
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    const V sum = load_vector<V>(c + j) + ((a0 * load_vector<V>(b0 + j) + a1 * load_vector<V>(b1 + j)) +
                                           (a2 * load_vector<V>(b2 + j) + a3 * load_vector<V>(b3 + j)));
    std::memcpy(c + j, &sum, sizeof sum);
  }
  for (; j < n; ++j) c[j] += (a[0] * b0[j] + a[1] * b1[j]) + (a[2] * b2[j] + a[3] * b3[j]);
}

using AddFourRows = void (*)(int64_t, const double*, const double* const*, double*);
void add_four_rows_plain(int64_t n, const double* a, const double* const* b, double* c) {
  add_four_rows<Pair>(n, a, b, c);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_four_rows_avx2(int64_t n, const double* a, const double* const* b, double* c) {
  add_four_rows<Quad>(n, a, b, c);
}
AddFourRows choose_add_four_rows() { return __builtin_cpu_supports("avx2") ? add_four_rows_avx2 : add_four_rows_plain; }
#else
AddFourRows choose_add_four_rows() { return add_four_rows_plain; }
#endif

}  // namespace

void matmul_accumulate(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
  static const AddFourRows add_rows = choose_add_four_rows();
  constexpr int64_t kColumns = 512, kRows = 4;  // a block of b stays in cache over all rows of a
  if (n == 1) {                                 // a matrix times a vector: plain dot products
    for (int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p];
      c[i] += sum;
    }
    return;
  }
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t width = std::min(kColumns, n - j0);
    int64_t p = 0;
    for (; p + kRows <= k; p += kRows) {
      const double* rows[kRows];
      for (int64_t r = 0; r < kRows; ++r) rows[r] = b + (p + r) * n + j0;
      for (int64_t i = 0; i < m; ++i) add_rows(width, a + i * k + p, rows, c + i * n + j0);
    }
    for (; p < k; ++p) {
      for (int64_t i = 0; i < m; ++i) {
        const double ap = a[i * k + p];
        const double* bp = b + p * n + j0;
        double* ci = c + i * n + j0;
        for (int64_t j = 0; j < width; ++j) ci[j] += ap * bp[j];
      }
    }
  }
}

StridedWalk::StridedWalk(const Dims& dims, std::vector<Dims> strides)
    : dims_(dims),
      position_(Dims::filled(dims.rank(), 0)),
      strides_(std::move(strides)),
      offsets_(strides_.size(), 0) {}

void StridedWalk::next() {
  for (size_t axis = dims_.size(); axis-- > 0;) {
    ++position_[axis];
    for (size_t t = 0; t < strides_.size(); ++t) offsets_[t] += strides_[t][axis];
    if (position_[axis] < dims_[axis]) return;
    for (size_t t = 0; t < strides_.size(); ++t) offsets_[t] -= strides_[t][axis] * dims_[axis];
    position_[axis] = 0;
  }
}

}  // namespace wootz
