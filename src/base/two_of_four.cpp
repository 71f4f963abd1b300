#include "base/two_of_four.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace wootz {
namespace {

constexpr int64_t kFour = 4, kTwo = 2;

// The elements as [outer, along, inner].
struct Walk {
  int64_t outer = 1, along = 1, inner = 1;

  Walk(const Dims& dims, int axis) {
    for (int a = 0; a < dims.rank(); ++a) {
      int64_t& part = a < axis ? outer : a == axis ? along : inner;
      part *= dims[static_cast<size_t>(a)];
    }
  }
  // f(first element, how many) for each four; the elements are `inner` apart.
  template <class F>
  void each_four(F f) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < along; k += kFour)
        for (int64_t i = 0; i < inner; ++i) f((o * along + k) * inner + i, std::min(kFour, along - k));
  }
};

// By the bits of floats: their sign counts for nothing.
template <typename T>
bool by_bits(const T* values, const Walk& walk, T magnitude) {
  for (int64_t o = 0; o < walk.outer; ++o)
    for (int64_t k = 0; k < walk.along; k += kFour) {
      const T* const row = values + (o * walk.along + k) * walk.inner;
      const int64_t count = std::min(kFour, walk.along - k);
      bool many = false;
      for (int64_t i = 0; i < walk.inner; ++i) {
        int others = 0;
        for (int64_t j = 0; j < count; ++j) others += (row[j * walk.inner + i] & magnitude) != 0;
        many = many || others > kTwo;
      }
      if (many) return false;
    }
  return true;
}

template <typename T, class Get, class Zero>
void prune_by(const Walk& walk, Get get, Zero zero) {
  walk.each_four([&](int64_t first, int64_t count) {
    std::array<T, kFour> size{};
    for (int64_t j = 0; j < count; ++j) size[static_cast<size_t>(j)] = std::fabs(get(first + j * walk.inner));
    for (int64_t j = 0; j < count; ++j) {
      const T own = size[static_cast<size_t>(j)];
      int larger = 0;  // or as large and earlier
      for (int64_t i = 0; i < count; ++i) {
        const T other = size[static_cast<size_t>(i)];
        larger += i < j ? other >= own : i > j && other > own;
      }
      if (larger >= kTwo) zero(first + j * walk.inner);
    }
  });
}

}  // namespace

bool is_two_of_four(const HostTensor& tensor, int axis) {
  if (axis < 0 || axis >= tensor.rank()) return false;
  const Walk walk(tensor.dims(), axis);
  switch (tensor.dtype()) {
    case DType::kF32: return by_bits<uint32_t>(static_cast<const uint32_t*>(tensor.data()), walk, 0x7fffffff);
    case DType::kF16:
    case DType::kBF16: return by_bits<uint16_t>(static_cast<const uint16_t*>(tensor.data()), walk, 0x7fff);
    default: break;
  }
  bool holds = true;
  walk.each_four([&](int64_t first, int64_t count) {
    int others = 0;
    for (int64_t j = 0; j < count; ++j) others += tensor.get_f64(first + j * walk.inner) != 0;
    holds = holds && others <= kTwo;
  });
  return holds;
}

void zero_two_of_four(HostTensor* tensor, int axis, uint64_t seed) {
  if (axis < 0 || axis >= tensor->rank()) return;
  constexpr std::array<std::array<int64_t, 2>, 6> kPairs{{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};
  std::mt19937_64 rng(seed);
  const Walk walk(tensor->dims(), axis);
  walk.each_four([&](int64_t first, int64_t count) {
    for (const int64_t j : kPairs[(rng() >> 32) % kPairs.size()])
      if (j < count) tensor->set_f64(first + j * walk.inner, 0);
  });
}

void prune_two_of_four(HostTensor* tensor, int axis) {
  if (axis < 0 || axis >= tensor->rank()) return;
  const Walk walk(tensor->dims(), axis);
  if (tensor->dtype() == DType::kF32) {
    float* const values = static_cast<float*>(tensor->mutable_data());
    return prune_by<float>(
        walk, [&](int64_t i) { return values[i]; }, [&](int64_t i) { values[i] = 0; });
  }
  prune_by<double>(
      walk, [&](int64_t i) { return tensor->get_f64(i); }, [&](int64_t i) { tensor->set_f64(i, 0); });
}

bool all_zero(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.volume(); ++i)
    if (tensor.get_f64(i) != 0) return false;
  return true;
}

}  // namespace wootz
