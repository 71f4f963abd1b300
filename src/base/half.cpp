#include "base/half.h"

#include <cmath>
#include <limits>

namespace wootz {

uint16_t f32_to_f16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {                                               // subnormal or zero in half
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13));
}

namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;
  bool fnuz;           // only NaN is 0x80; no negative zero
  uint8_t max_finite;  // largest finite magnitude
  bool has_nan;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3: return {4, 3, 7, false, false, 0x7e, true};
    case DType::kF8E4M3Fnuz: return {4, 3, 8, false, true, 0x7f, true};
    case DType::kF8E5M2: return {5, 2, 15, true, false, 0x7b, true};
    case DType::kF8E5M2Fnuz: return {5, 2, 16, false, true, 0x7f, true};
    default: return {2, 1, 1, false, false, 0x07, false};  // kF4E2M1
  }
}

float decode_magnitude(const Format& f, unsigned bits) {
  const unsigned mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa_bits);
  const float fraction = static_cast<float>(mantissa) / static_cast<float>(1 << f.mantissa_bits);
  if (exponent == 0) return std::ldexp(fraction, 1 - f.bias);
  return std::ldexp(1.0f + fraction, exponent - f.bias);
}

}  // namespace

float small_float_to_f32(DType dtype, uint8_t bits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (dtype == DType::kF8E8M0) return bits == 0xff ? kNan : std::ldexp(1.0f, static_cast<int>(bits) - 127);
  const Format f = format_of(dtype);
  const int total = f.exponent_bits + f.mantissa_bits;
  const unsigned magnitude = bits & ((1u << total) - 1);
  const bool negative = (bits >> total) & 1u;
  if (f.fnuz) {
    if (negative && magnitude == 0) return kNan;
  } else if (f.has_infinity && (magnitude >> f.mantissa_bits) == (1u << f.exponent_bits) - 1) {
    if (magnitude & ((1u << f.mantissa_bits) - 1)) return kNan;
    return negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  } else if (f.has_nan && !f.has_infinity && magnitude == (1u << total) - 1) {
    return kNan;
  }
  const float value = decode_magnitude(f, magnitude);
  return negative ? -value : value;
}

uint8_t f32_to_small_float(DType dtype, float value, bool saturate) {
  if (dtype == DType::kF8E8M0) {
    if (!(value > 0)) return std::isnan(value) ? 0xff : 0;
    const int exponent = static_cast<int>(std::nearbyint(std::log2(value))) + 127;
    return static_cast<uint8_t>(exponent < 0 ? 0 : exponent > 254 ? (saturate ? 254 : 255) : exponent);
  }
  const Format f = format_of(dtype);
  const int total = f.exponent_bits + f.mantissa_bits;
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 1u << total : 0u);
  const auto nan_bits = static_cast<uint8_t>(f.fnuz ? 0x80u : (1u << total) - 1);
  // A format without NaN gives negative zero, as the ONNX suite has it.
  if (std::isnan(value)) return static_cast<uint8_t>(!f.has_nan ? 1u << total : f.fnuz ? nan_bits : nan_bits | sign);
  const float magnitude = std::fabs(value);
  const float max = decode_magnitude(f, f.max_finite);
  // Round to nearest even on the grid of the value's own exponent.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int low = 1 - f.bias;
  const int grid = (exponent - 1 < low ? low : exponent - 1) - f.mantissa_bits;
  const float rounded =
      std::isinf(magnitude) ? magnitude : std::ldexp(std::nearbyint(std::ldexp(magnitude, -grid)), grid);
  if (rounded > max) {
    if (saturate || !f.has_nan) return static_cast<uint8_t>(sign | f.max_finite);
    if (f.has_infinity) return static_cast<uint8_t>(sign | (((1u << f.exponent_bits) - 1) << f.mantissa_bits));
    return static_cast<uint8_t>(f.fnuz ? nan_bits : nan_bits | sign);
  }
  if (rounded == 0) return f.fnuz ? 0 : sign;
  std::frexp(rounded, &exponent);
  unsigned bits;
  if (exponent - 1 < low) {
    bits = static_cast<unsigned>(std::ldexp(rounded, f.mantissa_bits - low));
  } else {
    const auto mantissa =
        static_cast<unsigned>(std::ldexp(rounded, f.mantissa_bits - (exponent - 1))) & ((1u << f.mantissa_bits) - 1);
    bits = (static_cast<unsigned>(exponent - 1 + f.bias) << f.mantissa_bits) | mantissa;
  }
  return static_cast<uint8_t>(bits | sign);
}

}  // namespace wootz
