// A row that is normalized in registers as in norm/kept.cuh, by one exchange between its threads in place of two: of
// the sums of d and of d * d, where d is what an element is more than the row's first one. That one is no further from
// the mean than sqrt(length) deviations, mostly one or two, so that of a variance no more is lost than length * 2^-24
// of it, and mostly a few 2^-24. The problem: that of norm/kept.cuh, without kToLength; kDepth: a row's length.
#pragma once
#include "backends/cuda/kernels/common/inverse_root.cuh"

constexpr int kThreads = kRows * kRowThreads;
constexpr int kRowWarps = kRowThreads / 32, kNeeded = (kDepth / kVector + 31) / 32;  // of a row; those with packs of it
constexpr int kBusy = kNeeded < kRowWarps ? kNeeded : kRowWarps;

struct Moments {
  float sum, squares;
};

// v becomes d; the sums of this thread's.
W_FN Moments moments_of(const Constants& c, Values (&v)[kPacks], float first) {
  Moments own = {};
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const bool in = (int)threadIdx.x % kRowThreads + j * kRowThreads < c.packs;
      const float d = !in ? 0.0f : kCentered ? v[j].v[k] - first : v[j].v[k];
      v[j].v[k] = d;
      own.sum += d;
      own.squares += d * d;
    }
  return own;
}

// Sums over threads that have a row, as far as they are of one warp. Of a whole warp, the lower half adds one and the
// upper half the other, so that a shuffle is enough for both: they end in lanes 0 and 16.
W_FN Moments sums_of_warp(const Moments& own) {
  constexpr u32 kAll = 0xffffffffu;
  if constexpr (kRowThreads >= 32) {
    const bool upper = threadIdx.x % 32 >= 16;
    float sum = upper ? own.squares : own.sum;
    sum += __shfl_xor_sync(kAll, upper ? own.sum : own.squares, 16);
#pragma unroll
    for (int m = 8; m > 0; m /= 2) sum += __shfl_xor_sync(kAll, sum, m);
    return {sum, sum};
  }
  Moments all = own;
#pragma unroll
  for (int m = kRowThreads / 2; m > 0; m /= 2) {
    all.sum += __shfl_xor_sync(kAll, all.sum, m);
    all.squares += __shfl_xor_sync(kAll, all.squares, m);
  }
  return all;
}

// What warps tell each other: sums of each row's, then those of squares.
struct Told {
  alignas(16) float sums[kRows * kRowWarps + 1], squares[kRows * kRowWarps + 1];
};
W_FN void tell(const Moments& of_warp, Told& told) {
  if constexpr (kRowWarps > 0) {
    if (threadIdx.x % 32 == 0) told.sums[threadIdx.x / 32] = of_warp.sum;
    if (threadIdx.x % 32 == 16) told.squares[threadIdx.x / 32] = of_warp.squares;
  }
}
W_FN Moments all_of_row(const Moments& of_warp, const Told& told) {
  if constexpr (kRowWarps == 0) return of_warp;
  const int first = (int)threadIdx.x / kRowThreads * kRowWarps;
  Moments all = {};
#pragma unroll
  for (int w = 0; w < kBusy; ++w) {
    all.sum += told.sums[first + w];
    all.squares += told.squares[first + w];
  }
  return all;
}

// d becomes the normalized element.
W_FN void normalize_by(const Constants& c, const Moments& all, Values (&v)[kPacks]) {
  const float mean = kCentered ? all.sum / (float)c.length : 0.0f;
  const float variance = all.squares / (float)c.length - mean * mean;  // what is no number stays none
  const float factor = w_inverse_root((variance < 0 ? 0.0f : variance) + (float)kEpsilon);
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = fmaf(v[j].v[k], factor, -mean * factor);
}
