// What follows the sums of a product or a convolution, for kernels that do it themselves.
#pragma once

#include <cstdint>

#include "backends/cpu/dense/activation.h"

namespace wootz::cpu {

// What is done with results, in order.
struct SumsEnd {
  enum class Kind : uint8_t {
    kLinear,  // alpha * x + beta
    kClip,    // alpha <= x <= beta; NaN stays NaN
    kRound,   // to an integer, halves to even
    kAdd,     // plus alpha * operand + beta; the operand lies as the results do
    kActivation,
  };
  enum class Type : uint8_t { kF32, kBf16, kU8, kI8 };
  Kind kind = Kind::kLinear;
  Type type = Type::kF32;  // the operand's
  Activation activation = Activation::kNone;
  float alpha = 1, beta = 0;
  int input = -1;  // the operand's
};
constexpr int64_t bytes_of(SumsEnd::Type type) {
  return type == SumsEnd::Type::kF32 ? 4 : type == SumsEnd::Type::kBf16 ? 2 : 1;
}
constexpr bool is_bytes(SumsEnd::Type type) { return bytes_of(type) == 1; }

}  // namespace wootz::cpu
