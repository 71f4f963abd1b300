// Activations whose results are rounded to 16 bits or fewer next, in few instructions.
#pragma once
#include "backends/cuda/kernels/common/scalar.cuh"

// The exponential is off by the rounding of its argument: 1e-6 where results are
// normal numbers.
W_FN float w_sigmoid_near(float x) { return w_inverse_near(1.0f + w_exp2_near(x * -1.44269504088896f)); }

W_FN float w_silu_near(float a, float k) { return a * w_sigmoid_near(k * a); }

// (1 + tanh(x)) / 2 is the sigmoid of 2 x.
W_FN float w_gelu_tanh_near(float a) { return a * w_sigmoid_near(1.5957691216057308f * (a + 0.044715f * a * a * a)); }

// By erf: x times what share of the normal distribution is below x, whose log-odds are x by a polynomial of its square.
// Off by 2.6e-5 at most, beyond sqrt(30) by less than any 16 bits tell from 0 or 1.
W_FN float w_gelu_erf_near(float a) {
  const float square = fminf(a * a, 30.0f);
  return a * w_sigmoid_near(a * (1.59501577f + square * (0.0740112921f - 0.000703033585f * square)));
}
