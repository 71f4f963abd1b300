// Conversions between float and the narrow floating-point formats. Scalar and exact; kernels use vector forms.
#pragma once

#include <bit>
#include <cstdint>

#include "base/dtype.h"

namespace wootz {

inline float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, mantissa = bits & 0x3ffu;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  if (exponent - 1 < 30) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  // Below the normal numbers: by way of an integer, since processors may be told to take such floats for zero.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}
uint16_t f32_to_f16(float value);  // round to nearest even, overflow to infinity
inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t f32_to_bf16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);  // keep NaN a NaN
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// 8-, 6- and 4-bit float formats, by table-free decoding. `dtype` is one of kF8*, kF4E2M1.
float small_float_to_f32(DType dtype, uint8_t bits);
// saturate: out-of-range values become the largest finite value; otherwise infinity or NaN as the format has it.
uint8_t f32_to_small_float(DType dtype, float value, bool saturate);

}  // namespace wootz
