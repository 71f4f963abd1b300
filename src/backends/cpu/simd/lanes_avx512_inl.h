// Vectors of AVX-512. For files that are compiled for it.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace wootz::cpu {
namespace {

constexpr int64_t kLanes = 16;  // of f32

// The first n of a vector: none of fewer than one, all of more than there are.
inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n <= 0 ? 0 : n < kLanes ? (1U << n) - 1 : 0xffff);
}

// Four bytes, in all lanes.
inline __m512i four_in_all(const void* at) {
  int32_t four;
  std::memcpy(&four, at, sizeof four);
  return _mm512_set1_epi32(four);
}

}  // namespace
}  // namespace wootz::cpu
