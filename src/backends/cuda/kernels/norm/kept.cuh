// A row that is normalized in registers. Its threads are neighbours, each of which keeps kPacks packs of kVector of its
// elements; what lies behind the row's end is 0.
// The problem: A: type of sums; kRows, kRowThreads: rows of a block, threads of a row; kPacks; kVector; kCentered: the
// mean is subtracted; kToLength: to length 1, otherwise by the mean square; kEpsilon; Constants {length: of a row;
// packs: of a row}; Values: A v[kVector].
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

constexpr int kThreads = kRows * kRowThreads;

W_FN void normalize(const Constants& c, Values (&v)[kPacks]) {
  __shared__ A shared[kThreads];
  const int thread = threadIdx.x % kRowThreads;
  A a = 0, mean = 0;
  if constexpr (kCentered) {
#pragma unroll
    for (int j = 0; j < kPacks; ++j)
#pragma unroll
      for (int k = 0; k < kVector; ++k) a += v[j].v[k];
    mean = w_group<kRows, kRowThreads, true>(a, shared, Sum()) / (A)c.length;
    a = 0;
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      const A d = thread + j * kRowThreads < c.packs ? v[j].v[k] - mean : (A)0;
      a += d * d;
    }
  a = w_group<kRows, kRowThreads, true>(a, shared, Sum());
  A factor;
  if constexpr (kToLength) {
    const A length = w_sqrt(a);
    factor = (A)1 / (length < (A)kEpsilon ? (A)kEpsilon : length);
  } else {
    factor = (A)1 / w_sqrt(a / (A)c.length + (A)kEpsilon);
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j)
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[j].v[k] = (v[j].v[k] - mean) * factor;
}
