// Activations that a tile of BF16 applies to its sums in registers.
#pragma once

#include <cstdint>

namespace wootz::cpu {

enum class Activation : uint8_t {
  kNone,
  kSilu,         // x * sigmoid(alpha * x)
  kSigmoid,      // 1 / (1 + exp(-x))
  kGeluErf,      // x / 2 * (1 + erf(x / sqrt(2)))
  kGeluTanh,     // the same by a tanh
  kHardSigmoid,  // clip(alpha * x + beta, 0, 1)
  kHardSwish,    // x * clip(x / 6 + 1 / 2, 0, 1)
};

}  // namespace wootz::cpu
