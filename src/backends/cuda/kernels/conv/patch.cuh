// Depthwise convolution of channels-last images in 16 or 8 bits by patches: what the windows of a block's results
// cover, of some channels, is in shared memory, all of it on its way at once; the filters are on theirs before the
// kernel ahead of this one has ended. A thread has two channels and a strip of neighbours along a row. The problem: X,
// Y; kThreads; kVector: 2; F: of the filters; kScaled: X are bytes whose zero point is 0, and sums have a factor by
// channel, which lies behind the filters, c.scales elements from their beginning on; kGroup: channels of a block, in
// packs of eight; kHigh, kAcross: rows of its results, and strips along a row; kResults: of a strip; kKernelH,
// kKernelW, kStrideH, kStrideW: of the window; Constants {channels; in_h, in_w, out_h, out_w; top, left: of the
// padding; tiles_w: blocks along a row};
//   float bias(p, channel)   where a sum starts, or what is added to one that has a factor
//   Pack<Y, kVector> results(p, c, a, n, channel, oy, ox)   what is stored where `a` are the results for such a pixel
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kWide = kAcross * kResults;
constexpr int kInHigh = (kHigh - 1) * kStrideH + kKernelH, kInWide = (kWide - 1) * kStrideW + kKernelW;
constexpr int kPacks = kGroup / 8, kPairs = kGroup / 2, kTaps = kKernelH * kKernelW;
constexpr int kPatchBytes = (kTaps * (int)sizeof(F) + kInHigh * kInWide * (int)sizeof(X)) * kGroup;

// The filters of a block's channels, tap after tap.
W_FN void load_filters(const Operands& p, const Constants& c, int first, F* to) {
#pragma unroll
  for (int j = 0; j < (kTaps * kPacks + kThreads - 1) / kThreads; ++j) {
    const int i = j * kThreads + (int)threadIdx.x, channel = first + i % kPacks * 8;
    const bool in = channel < c.channels;
    if (i < kTaps * kPacks) w_copy16(to + i * 8, in ? p.f + i / kPacks * c.channels + channel : p.f, in);
  }
}

// Pixel after pixel; zeros outside of the image.
W_FN void load_patch(const X* x, const Constants& c, int first, int top, int left, X* to) {
  constexpr int kAll = kInHigh * kInWide * kPacks;
#pragma unroll
  for (int j = 0; j < (kAll + kThreads - 1) / kThreads; ++j) {
    const int i = j * kThreads + (int)threadIdx.x, pixel = i / kPacks, channel = first + i % kPacks * 8;
    const int iy = top + pixel / kInWide, ix = left + pixel % kInWide;
    const bool in = (u32)iy < (u32)c.in_h && (u32)ix < (u32)c.in_w && channel < c.channels;
    const X* const from = in ? x + ((iy * c.in_w + ix) * c.channels + channel) : x;
    if (i >= kAll) continue;
    if constexpr (sizeof(X) == 1)
      w_copy8(to + i * 8, from, in);
    else
      w_copy16(to + i * 8, from, in);
  }
}

typedef float Pair[kVector];

// A byte becomes the last one of a float, from which a float is taken.
template <class T>
W_FN void get_pair(const T* at, Pair& v) {
  if constexpr (sizeof(T) == 1) {
    constexpr u32 kSign = (T)-1 < (T)0 ? 128 : 0;
    const u32 word = *(const u16*)at ^ (kSign | kSign << 8);
#pragma unroll
    for (int k = 0; k < kVector; ++k)
      v[k] = w_bits2f(w_bytes_of(word, 0x4B400000u, 0x7650u | (u32)k)) - (kIntegersFrom + (float)kSign);
  } else {
    const Pack<T, kVector> pack = *(const Pack<T, kVector>*)at;
#pragma unroll
    for (int k = 0; k < kVector; ++k) v[k] = w_get(pack.v[k]);
  }
}

// Sums of a strip; `patch` and `filters` are where its first window and the thread's channels begin.
W_FN void sum_up(const X* patch, const F* filters, Pair (&a)[kResults]) {
  constexpr int kSpan = (kResults - 1) * kStrideW + kKernelW;
#pragma unroll
  for (int ky = 0; ky < kKernelH; ++ky) {
    Pair g[kKernelW];
#pragma unroll
    for (int kx = 0; kx < kKernelW; ++kx) get_pair(filters + (ky * kKernelW + kx) * kGroup, g[kx]);
#pragma unroll
    for (int j = 0; j < kSpan; ++j) {
      Pair v;
      get_pair(patch + (ky * kInWide + j) * kGroup, v);
#pragma unroll
      for (int t = 0; t < kResults; ++t)
#pragma unroll
        for (int kx = 0; kx < kKernelW; ++kx)
          if (t * kStrideW + kx == j) {
#pragma unroll
            for (int k = 0; k < kVector; ++k) a[t][k] += v[k] * g[kx][k];
          }
    }
  }
}

// What a thread computes.
struct Own {
  int n, y0, x0;      // the block's image, and its first result there
  int first, inside;  // the block's first channel; the thread's, counted from there
  int strip, row, column;
  bool any;
};

W_FN Own own_results(const Constants& c) {
  Own own;
  own.n = (int)blockIdx.z;
  own.first = (int)blockIdx.y * kGroup;
  own.y0 = (int)blockIdx.x / c.tiles_w * kHigh;
  own.x0 = (int)blockIdx.x % c.tiles_w * kWide;
  own.inside = (int)threadIdx.x % kPairs * kVector;
  own.strip = (int)threadIdx.x / kPairs;
  own.row = own.strip / kAcross;
  own.column = own.strip % kAcross * kResults;
  own.any = own.row < kHigh && own.first + own.inside < c.channels && own.y0 + own.row < c.out_h;
  return own;
}

// The sums of a strip; of a thread that has none they say nothing.
W_FN void convolve(const Operands& p, const Constants& c, u8* memory, const Own& own, Pair (&a)[kResults]) {
  F* const filters = (F*)memory;
  X* const patch = (X*)(filters + kTaps * kGroup);
  load_filters(p, c, own.first, filters);
  w_begin();
  load_patch(p.x + (s64)own.n * c.in_h * c.in_w * c.channels, c, own.first, own.y0 * kStrideH - c.top,
             own.x0 * kStrideW - c.left, patch);
  w_commit();
  Pair start, scale;
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const int channel = own.first + own.inside + k;
    start[k] = own.any ? bias(p, channel) : 0.f;
    scale[k] = kScaled && own.any ? ((const float*)(p.f + c.scales))[channel] : 1.f;
#pragma unroll
    for (int t = 0; t < kResults; ++t) a[t][k] = kScaled ? 0.f : start[k];
  }
  w_wait<0>();
  __syncthreads();
  if (own.any)
    sum_up(patch + (own.row * kStrideH * kInWide + own.column * kStrideW) * kGroup + own.inside, filters + own.inside,
           a);
  if constexpr (kScaled)
#pragma unroll
    for (int k = 0; k < kVector; ++k)
#pragma unroll
      for (int t = 0; t < kResults; ++t) a[t][k] = a[t][k] * scale[k] + start[k];
}

// Stores what a strip comes to, and hands each pixel's to `take`.
template <class Take>
W_FN void store_strip(const Operands& p, const Constants& c, const Own& own, const Pair (&a)[kResults],
                      const Take& take) {
  const int channel = own.first + own.inside, oy = own.y0 + own.row;
#pragma unroll
  for (int t = 0; t < kResults; ++t) {
    const int ox = own.x0 + own.column + t;
    if (!own.any || ox >= c.out_w) continue;
    const Pack<Y, kVector> v = results(p, c, a[t], own.n, channel, oy, ox);
    *(Pack<Y, kVector>*)(p.y + (((s64)own.n * c.out_h + oy) * c.out_w + ox) * c.channels + channel) = v;
    take(v);
  }
}
