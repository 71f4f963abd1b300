// Rows of floats times weights of 4 or 8 bits, which are unpacked in registers. kGroup threads share kColumns columns
// of the result; each reads 16 bytes of a column at a time, which lie in one block or are kScales blocks, for kRows
// rows. The problem: X; S, the scales' type; kThreads, kGroup, kColumns, kRows; kBits; kExponent: 0, the weights are
// integers, or bits of their exponents (E2M1, E4M3, E5M2); kVector: elements of x that are read
//   together, 8 at most; kWhole: no chunk reaches beyond the depth; kHasZero, and without them kZero, which stands for
//   0 in the packed weights; kScaled: the sums have a factor, the bits of c.alpha; Constants {columns, depth, rows;
//   chunks: of a column; blocks: of a column; block: chunks that share a scale, where kScales is 1; slices: blocks of
//   threads for the columns}; zero_point(p, at)          a packed zero point
//   epilogue(s, given(p, c, r, m))   the expression after the sum, and what it reads
//   store(p, c, r, m, value)   into the result that column m is of
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

constexpr int kWords = 4, kEach = 32 / kBits, kChunk = kWords * kEach;
constexpr bool kFloats = kExponent > 0;
constexpr float kSteps = kFloats ? 1 : 1 << kBits;

// Beside f32 each weight is freed of its one and its zero point, exactly; beside 16 bits the sum of x takes both away
// in the end, which leaves an error far below theirs.
constexpr bool kExact = IsF<X>::v && !kFloats;

// 1 + bits / kSteps: the bits are the first of the mantissa.
W_FN float above_one(u32 bits) { return w_bits2f(bits << (23 - kBits) | 0x3f800000u); }
// (word & mask) | ones, in one instruction: the compiler makes two of it.
W_FN u32 masked(u32 word, u32 mask, u32 ones) {
#ifdef WOOTZ_ON_HOST
  return (word & mask) | ones;
#else
  u32 made;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(made) : "r"(word), "r"(mask), "r"(ones));
  return made;
#endif
}

template <int kShift>
W_FN u32 shifted(u32 word) {
  return kShift >= 0 ? word << (kShift >= 0 ? kShift : 0) : word >> (kShift < 0 ? -kShift : 0);
}

// Exponent and mantissa as the lowest of a float's exponent and the first of its mantissa. The exponents' bias by one
// exact product, also for those below the normal ones.
template <int kElement>
W_FN float float_element(u32 word) {
  constexpr int kMantissa = kBits - 1 - kExponent, kAt = 24 - kBits + kExponent - kBits * kElement;
  constexpr u32 kMask = ((1u << (kBits - 1)) - 1) << (23 - kMantissa), kBias = 127 - ((1 << (kExponent - 1)) - 1);
  const u32 size = shifted<kAt>(word) & kMask, sign = word << (32 - kBits * (kElement + 1)) & 0x80000000u;
  return w_bits2f(size | sign) * w_bits2f((127 + kBias) << 23);
}

template <int kElement>
W_FN float element(u32 word) {
  if constexpr (kFloats) return float_element<kElement>(word);
  constexpr u32 kMask = ((1u << kBits) - 1) << (23 - kBits);
  constexpr int kShift = 23 - kBits - kBits * kElement;
  return w_bits2f(masked(shifted<kShift>(word), kMask, 0x3f800000u));
}

template <int kElement>
W_FN void unpack_from(u32 word, float* to) {
  to[kElement] = element<kElement>(word);
  if constexpr (kElement + 1 < kEach) unpack_from<kElement + 1>(word, to);
}

W_FN void unpack(u32 word, float* to) {
#ifdef W_CONVERTS_FLOAT8
  if constexpr (kFloats && kBits == 8) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 halves;
      if constexpr (kExponent == 4)
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((u16)(word >> (16 * i))));
      else
        asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"((u16)(word >> (16 * i))));
      to[2 * i] = w_h2f((u16)halves);
      to[2 * i + 1] = w_h2f((u16)(halves >> 16));
    }
    return;
  }
#endif
  unpack_from<0>(word, to);
}

struct Column {
  u32 word[kWords];
  float zero;
};

W_FN int column_at(const Constants& c, int m) { return m < c.columns ? m : c.columns - 1; }
W_FN s64 scale_at(const Constants& c, int m, int q, int part) {
  const int block = kScales == 1 ? q / c.block : q * kScales + part;
  return (s64)column_at(c, m) * c.blocks + (kScales == 1 || block < c.blocks ? block : c.blocks - 1);
}
W_FN int row_at(const Constants& c, int r) { return r < c.rows ? r : c.rows - 1; }

W_FN void read_row(const X* x, int k, int depth, float* to) {
#pragma unroll
  for (int e = 0; e < kEach; e += kVector) {
    Pack<X, kVector> u;
    const bool inside = kWhole || k + e < depth;
    if (inside) u = *(const Pack<X, kVector>*)(x + k + e);
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[e + i] = inside ? w_get(u.v[i]) : 0.f;
  }
}

// The sums of a chunk or its part, and those of x alone.
struct Part {
  float of[kRows][kColumns], x[kRows];
};

W_FN void add_words(const Operands& p, const Constants& c, const Column* w, int r0, int k, int first, Part& part) {
#pragma unroll
  for (int i = first; i < first + kWords / kScales; ++i) {
    float f[kColumns][kEach];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      unpack(w[j].word[i], f[j]);
#pragma unroll
      for (int e = 0; e < kEach; ++e) f[j][e] -= kExact ? w[j].zero : 0.f;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float x[kEach];
      read_row(p.x + (s64)row_at(c, r0 + r) * c.depth, k + i * kEach, c.depth, x);
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        part.x[r] += x[e];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) part.of[r][j] += x[e] * f[j][e];
      }
    }
  }
}

// With the block's scales.
W_FN void add_part(const Operands& p, const Constants& c, const Column* w, const Part& part, int m0, int q, int of,
                   float (*sums)[kColumns]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const float scale = w_get(p.scale[scale_at(c, m0 + j, q, of)]) * kSteps;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sums[r][j] += (kExact || kFloats ? part.of[r][j] : part.of[r][j] - part.x[r] * w[j].zero) * scale;
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  constexpr int kTogether = kThreads / kGroup;
  __shared__ float shared[kThreads];
  const int lane = threadIdx.x % kGroup;
  const int slice = blockIdx.x % c.slices, r0 = blockIdx.x / c.slices * kRows;
  const int m0 = (slice * kTogether + threadIdx.x / kGroup) * kColumns;
  float sums[kRows][kColumns] = {};
#pragma unroll 2
  for (int q = lane; q < c.chunks; q += kGroup) {
    Column w[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const Pack<u32, 4> bits = *(const Pack<u32, 4>*)(p.w + ((s64)column_at(c, m0 + j) * c.chunks + q) * kWords);
#pragma unroll
      for (int i = 0; i < kWords; ++i) w[j].word[i] = bits.v[i];
    }
#pragma unroll
    for (int of = 0; of < kScales; ++of) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        w[j].zero = above_one(kHasZero ? (u32)zero_point(p, scale_at(c, m0 + j, q, of)) : (u32)kZero);
      Part part = {};
      add_words(p, c, w, r0, q * kChunk, of * (kWords / kScales), part);
      add_part(p, c, w, part, m0, q, of, sums);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      float sum = w_group<kTogether, kGroup, true>(sums[r][j], shared, Sum());
      if constexpr (kScaled) sum *= w_bits2f((u32)c.alpha);
      if (lane == 0 && m0 + j < c.columns && r0 + r < c.rows)
        store(p, c, r0 + r, m0 + j, epilogue(sum, given(p, c, r0 + r, m0 + j)));
    }
}
