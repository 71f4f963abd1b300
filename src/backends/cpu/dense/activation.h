// Activations that tiles apply to their sums in registers.
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

// GELU for results of 8 bits: x * (1 / 2 + c P(c^2 * 0.08 - 1)), c being x within +-5. Least squares over Chebyshev's
// points, weighted by x^2, degree 12, the highest power first; absolute error 6e-7, and 1.5e-6 where |x| is near 5.
inline constexpr float kFineGelu[] = {0.000479090202f, -0.00150380714f, 0.00203793636f, -0.00294163241f, 0.00613155542f,
                                      -0.0109501267f,  0.0165116359f,   -0.0233454797f, 0.0314237848f,   -0.040431641f,
                                      0.051521562f,    -0.0702967048f,  0.141363785f};

}  // namespace wootz::cpu
