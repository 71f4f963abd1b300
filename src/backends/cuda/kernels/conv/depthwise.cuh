// Depthwise convolution. The problem: that of common/strip.cuh; F: of the filters f, which lie as [h, w, channel];
// kScaled: X are bytes, kZero is their zero point, the filters are bytes as f16, and sums, which floats hold exactly,
// have a factor by channel, which lies after the filters; Constants {scales: elements of f before the factors};
//   float bias(p, channel)   what is added to a sum
#pragma once
#include "backends/cuda/kernels/common/strip.cuh"

// Elements as they are read; bytes by words.
template <bool SCALED, class T>
struct Elements {
  typedef Pack<T, kVector> Read;
  static W_M float get(const Read& v, int k) { return w_get(v.v[k]); }
};

// From the zero point on: a byte that is not negative becomes the last one of a float, from which a float is taken.
template <class T>
struct Elements<true, T> {
  typedef Pack<u32, kVector / 4> Read;
  static constexpr bool kSigned = (T)-1 < (T)0;
  static W_M float get(const Read& v, int k) {
    const u32 word = v.v[k / 4] ^ (kSigned ? 0x80808080u : 0u);
    const u32 sum = w_bytes_of(word, 0x4B400000u, 0x7650u | (u32)(k % 4));
    return w_bits2f(sum) - (kIntegersFrom + (float)(kZero + (kSigned ? 128 : 0)));
  }
};

// A sum of floats starts with the bias; one of integers has a factor first.
W_FN void start(const Operands& p, const Strip& s, float (&a)[kResults][kVector]) {
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const float first = kScaled ? 0 : bias(p, s.channel + k);
#pragma unroll
    for (int t = 0; t < kResults; ++t) a[t][k] = first;
  }
}

W_FN void rescale(const Operands& p, const Constants& c, const Strip& s, float (&a)[kResults][kVector]) {
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    const float scale = ((const float*)(p.f + c.scales))[s.channel + k], plus = bias(p, s.channel + k);
#pragma unroll
    for (int t = 0; t < kResults; ++t) a[t][k] = a[t][k] * scale + plus;
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  Strip s;
  if (!this_strip(c, &s)) return;
  float a[kResults][kVector];
  start(p, s, a);
  float g[kKernelW][kVector];  // a row of the filters
  const auto read_filters = [&](int ky) {
#pragma unroll
    for (int kx = 0; kx < kKernelW; ++kx) {
      const Pack<F, kVector> h = *(const Pack<F, kVector>*)(p.f + (ky * kKernelW + kx) * c.channels + s.channel);
#pragma unroll
      for (int k = 0; k < kVector; ++k) g[kx][k] = w_get(h.v[k]);
    }
  };
  typedef Elements<kScaled, X> Of;
  each_element<Of::Read>(p.x, c, s, read_filters, [&](const Of::Read& v, int t, int kx) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) a[t][k] += Of::get(v, k) * g[kx][k];
  });
  if constexpr (kScaled) rescale(p, c, s, a);
  store(p, c, s, a);
}
