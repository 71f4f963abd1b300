// The same, and beside the results their sums over each block's pixels, as what they are stored as, in FP32: for the
// mean of an image, which need not be read again. Order of sums: by the block's shape alone. The problem is
// conv/patch.cuh's, with Operands {sums: of [image][block][channel]} and Constants {tiles: blocks of an image}.
#pragma once
#include "backends/cuda/kernels/conv/patch.cuh"

constexpr int kStrips = kHigh * kAcross;

// What a thread's results add up in.
template <bool BYTES>
struct CountOf {
  typedef float type;
};
template <>
struct CountOf<true> {
  typedef int type;
};
typedef CountOf<sizeof(Y) == 1>::type Count;

// What the strips of the block come to, channel by channel.
W_FN void add_strips(const Operands& p, const Constants& c, const Own& own, const float* sums) {
#pragma unroll 1
  for (int i = threadIdx.x; i < kGroup; i += kThreads) {
    if (own.first + i >= c.channels) break;
    float s = 0;
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip) s += sums[strip * kGroup + i];
    p.sums[((s64)own.n * c.tiles + blockIdx.x) * c.channels + own.first + i] = s;
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kPatchBytes + kStrips * kGroup * 4);
  float* const sums = (float*)(memory + kPatchBytes);
  const Own own = own_results(c);
  Pair a[kResults];
  convolve(p, c, memory, own, a);
  Pack<Count, kVector> s = {};
  store_strip(p, c, own, a, [&](const Pack<Y, kVector>& v) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) s.v[k] += (Count)w_get(v.v[k]);
  });
  if (own.strip < kStrips)
    *(Pack<float, kVector>*)(sums + own.strip * kGroup + own.inside) = {(float)s.v[0], (float)s.v[1]};
  __syncthreads();
  add_strips(p, c, own, sums);
}
