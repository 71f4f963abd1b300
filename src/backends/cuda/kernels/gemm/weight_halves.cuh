// Few rows of 16-bit floats times weights of 4 bits on tensor cores, as products of 16-bit floats, which the weights
// become. The problem: that of gemm/weight_chunks.cuh. Rows: shared memory or not (kShared), and whether a row begins
// with the warp's first chunk (kFromFirst) or with the sum.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

template <class T>
struct Bits;
// As floats, weights are the last bits of a significand: kOne + bits, and kMinusOne + zero is what is added then. Where
// they may stand four bits higher, a sixteenth of that, of which kMinusHigh + zero * kHighStep frees it.
template <>
struct Bits<f16> {
  static const u32 kOne = 0x6400, kMinusOne = 0xe400, kFactor = 0x3c003c00;
  static const bool kHigh = true;
  static const u32 kMinusHigh = 0xd400, kHighStep = 16, kSixteenth = 0x2c002c00;
};

template <>
struct Bits<bf16> {
  static const u32 kOne = 0x4300, kMinusOne = 0xc300, kFactor = 0x3f803f80;
  static const bool kHigh = false;  // seven bits do not hold them
  static const u32 kMinusHigh = kMinusOne, kHighStep = 1, kSixteenth = kFactor;
};

// Weights in bits kAt and on of both halves, with `less`, in two instructions.
#ifdef WOOTZ_ON_HOST
template <int kAt>
W_FN u32 weights_of(u32 bits, u32 less) {
  X each[4];
  each[0].x = (u16)((bits & 15u << kAt) | Bits<X>::kOne);
  each[1].x = (u16)((bits >> 16 & 15u << kAt) | Bits<X>::kOne);
  each[2].x = (u16)less;
  each[3].x = (u16)(less >> 16);
  const float factor = kAt == 0 ? 1.0f : 0.0625f;
  return w_halves<X>(w_get(each[0]) * factor + w_get(each[2]), w_get(each[1]) * factor + w_get(each[3]));
}
#else
template <int kAt>
W_FN u32 weights_of(u32 bits, u32 less) {
  constexpr u32 kMask = 0x000f000fu << kAt, kFactor = kAt == 0 ? Bits<X>::kFactor : Bits<X>::kSixteenth;
  u32 made;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(made) : "r"(bits), "n"(kMask), "r"(Bits<X>::kOne * 0x10001u));
  if constexpr (Bits<X>::kHigh)
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(kFactor), "r"(less));
  else
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(kFactor), "r"(less));
  return made;
}
#endif

// What frees the eight weights of a word of their zero point, as halves: by column, and by where they stand.
struct Less {
  u32 low[2], high[2];
};
W_FN Less less_of(const u8* zeros) {
  Less less;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const u32 zero = kHasZero ? (u32)zeros[e * 8] : (u32)kZero;
    less.low[e] = (Bits<X>::kMinusOne | zero) * 0x10001u;
    less.high[e] = (Bits<X>::kMinusHigh | zero * Bits<X>::kHighStep) * 0x10001u;
  }
  return less;
}

// Operand i of product s of a thread.
template <int kOperand>
W_FN u32 operand_of(u32 word, const Less& less) {
  if constexpr (Bits<X>::kHigh && kOperand % 2 == 1)
    return weights_of<4>(word >> (kOperand / 2 * 8), less.high[1]);
  else
    return weights_of<0>(word >> (kOperand * 4), less.low[kOperand % 2]);
}

struct Halves {
  static constexpr int kLines = 1;
  Pack<u32, 4> x[2] = {};

  // sums += the products of a line, times its scales; what lies behind the last chunk is none.
  template <class Rows>
  W_M void add(const Constants& c, const Place& at, const u8* row, int line, Sums& sums) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const bool in = kEven || at.first + line < c.chunks;
    const int chunk = in ? at.first + line : c.chunks - 1;
    const u8* const own = row + ((Rows::kFromFirst ? line : chunk) * kChunk + t * 16) * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if constexpr (Rows::kShared)
        read_active(g < kRows, own + half * kPiece, &x[half]);
      else
        x[half] = *(const Pack<u32, 4>*)(own + half * kPiece);
    const int block = in ? chunk / c.block - at.first / c.block : 0;
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      const Pack<u32, 4> bits = *(const Pack<u32, 4>*)(line_at(at, line) + o * kTileBytes);
      const int grid = o * kGrids + block;
      const Less less = less_of(at.grid + kZerosAt + grid * kTile + g);
      float products[4] = {};
#pragma unroll
      for (int s = 0; s < 4; ++s)
        w_mma<X>(products, operand_of<0>(bits.v[s], less), operand_of<1>(bits.v[s], less),
                 operand_of<2>(bits.v[s], less), operand_of<3>(bits.v[s], less), x[s / 2].v[s % 2 * 2],
                 x[s / 2].v[s % 2 * 2 + 1]);
      const S* const scale = (const S*)(at.grid + grid * kScaleBytes) + g;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (kRows > 1 || e % 2 == 0) sums[o][e] += in ? products[e] * w_get(scale[e / 2 * 8]) : 0.0f;
    }
  }
  W_M void put(const Place& at, const Sums& sums) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float* const to = (float*)at.lines;
#pragma unroll
    for (int o = 0; o < kOwn; ++o)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (const int r = t * 2 + e % 2; r < kRows) to[(r * kOwn + o) * kTile + g + e / 2 * 8] = sums[o][e];
  }
};
