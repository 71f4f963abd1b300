// From sums on tensor cores to what their results read. The problem: kVector neighbours; kScaled: columns have a scale
// each, and those of integers a correction (kCorrected: not all zeros); otherwise kScale; kShort: no sum has more than
// 22 bits; Constants {columns}; kDirect: sums go from registers to the result.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Sums that begin at the bits of 3 * 2^22 are floats already.
constexpr bool kLifted = kDirect && kShort && !kCorrected;
constexpr int kSumsFrom = kLifted ? 0x4B400000 : 0;

// The sums of x's and w's real values from column n on. `scales`: the columns' scales, then their corrections.
W_FN void rescale(const Constants& c, const Pack<float, kVector>& sum, const float* scales, int n,
                  float (&a)[kVector]) {
  Pack<float, kVector> scale;
  if constexpr (kScaled) scale = *(const Pack<float, kVector>*)(scales + n);
#pragma unroll
  for (int v = 0; v < kVector; ++v)
    a[v] = kScaled ? sum.v[v] * scale.v[v] : kScale == 1 ? sum.v[v] : sum.v[v] * (float)kScale;
}
W_FN void rescale(const Constants& c, const Pack<int, kVector>& sum, const float* scales, int n, float (&a)[kVector]) {
  Pack<float, kVector> scale;
  Pack<int, kVector> less;
  if constexpr (kScaled) scale = *(const Pack<float, kVector>*)(scales + n);
  if constexpr (kCorrected) less = *(const Pack<int, kVector>*)((const int*)scales + c.columns + n);
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    const int own = kCorrected ? (int)((u32)sum.v[v] - (u32)less.v[v]) : sum.v[v];
    const float real = kLifted ? w_bits2f((u32)own) - kIntegersFrom : kShort ? w_short2f(own) : (float)own;
    a[v] = w_times(real, kScaled ? scale.v[v] : (float)kScale);
  }
}
