// Tensor cores read FP32 operands as TF32: they drop what is below the tenth bit of the mantissa. Constants rounded to the
// nearest such number beforehand lose half as much, and nothing in the mean.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wootz::cuda {

inline float round_to_tf32(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;  // infinite, or no number
  const uint32_t rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
  return (rounded & 0x7f800000u) == 0x7f800000u ? value : std::bit_cast<float>(rounded);
}

// `bytes`: FP32 numbers.
inline void round_to_tf32(std::span<std::byte> bytes) {
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data() + i, sizeof value);
    value = round_to_tf32(value);
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

}  // namespace wootz::cuda
