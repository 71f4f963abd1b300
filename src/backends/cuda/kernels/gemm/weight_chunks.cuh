// Few rows of 16-bit floats times weights of 4 bits, on tensor cores. A block makes 16 columns of the result, and its
// warps divide the sum: each takes kEach chunks of 64 elements, of which it has kAhead on their way, the first ones
// before the step ahead has ended. A thread's part of a chunk is 16 bytes: of four products, the eight weights that it
// holds in each as w_mma() has them, freed of their zero point exactly. Of a row, it takes 16 neighbours of a chunk for
// them: which elements of a sum meet does not matter as long as both operands agree.
// The problem: X; S, the scales' type; kThreads, kEach, kAhead; kRows, 8 at most; kHasZero, and without them kZero,
// which stands for 0 in the packed weights; Constants {columns, depth, rows; chunks: of a column; blocks: of a column;
// block: chunks that share a scale; tiles: of columns}
//   u8 zero_point(p, at)       a packed zero point
//   epilogue(p, c, s, r, m)    the expression after the sum
//   store(p, c, r, m, value)   into the result that column m is of
#pragma once
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kWarps = kThreads / 32, kTile = 16, kChunk = 64;

template <class T>
struct Bits;
// As floats, weights are the last bits of a significand: kOne + bits, and kMinusOne + zero is what is added then.
template <>
struct Bits<f16> {
  static const u32 kOne = 0x6400, kMinusOne = 0xe400, kFactor = 0x3c003c00;
};

template <>
struct Bits<bf16> {
  static const u32 kOne = 0x4300, kMinusOne = 0xc300, kFactor = 0x3f803f80;
};

#ifdef WOOTZ_ON_HOST
W_FN u32 weights_of(u32 bits, u32 less) {
  X each[4];
  each[0].x = (u16)((bits & 15) | Bits<X>::kOne);
  each[1].x = (u16)((bits >> 16 & 15) | Bits<X>::kOne);
  each[2].x = (u16)less;
  each[3].x = (u16)(less >> 16);
  return w_halves<X>(w_get(each[0]) + w_get(each[2]), w_get(each[1]) + w_get(each[3]));
}
template <class T>
W_FN T fetched(const T* from) {
  return *from;
}
#else
// Those in the lowest bits of both halves, with `less`, in two instructions.
W_FN u32 weights_of(u32 bits, u32 less) {
  u32 made;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(made) : "r"(bits), "n"(0x000f000f), "r"(Bits<X>::kOne * 0x10001u));
  if constexpr (Bits<X>::kOne == Bits<f16>::kOne)
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(Bits<X>::kFactor), "r"(less));
  else
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(made) : "r"(Bits<X>::kFactor), "r"(less));
  return made;
}
// Constants, read here and not where they are needed.
W_FN Pack<u32, 4> fetched(const Pack<u32, 4>* from) {
  Pack<u32, 4> to;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(to.v[0]), "=r"(to.v[1]), "=r"(to.v[2]), "=r"(to.v[3])
               : "l"(from));
  return to;
}
W_FN float fetched(const float* from) {
  float to;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(to) : "l"(from));
  return to;
}
template <class T>
W_FN T fetched(const T* from) {
  T to;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(to.x) : "l"(from));
  return to;
}
#endif

struct Chunk {
  Pack<u32, 4> bits;
  S scale[2];  // of columns lane / 4 and 8 more
};

W_FN int within(int i, int count) { return i < count ? i : count - 1; }

W_FN Chunk fetch(const Operands& p, const Constants& c, int tile, int number) {
  const int lane = threadIdx.x % 32, chunk = within(number, c.chunks);
  const s64 at = ((s64)tile * c.blocks + chunk / c.block) * kTile + lane / 4;
  Chunk to;
  to.bits = fetched((const Pack<u32, 4>*)p.w + ((s64)tile * c.chunks + chunk) * 32 + lane);
  to.scale[0] = fetched(p.scale + at);
  to.scale[1] = fetched(p.scale + at + 8);
  return to;
}

// sums += the chunk's products, times its scales; what lies behind the last chunk is none.
W_FN void add_chunk(const Operands& p, const Constants& c, const Chunk& w, const X* row, int tile, int number,
                    float (&sums)[4]) {
  const int lane = threadIdx.x % 32, chunk = within(number, c.chunks);
  Pack<u32, 4> x[2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
    x[half] = *(const Pack<u32, 4>*)(row + chunk * kChunk + lane % 4 * 16 + half * 8);
  u32 less[2];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const s64 at = ((s64)tile * c.blocks + chunk / c.block) * kTile + lane / 4 + e * 8;
    less[e] = (Bits<X>::kMinusOne | (kHasZero ? (u32)zero_point(p, at) : (u32)kZero)) * 0x10001u;
  }
  float products[4] = {};
#pragma unroll
  for (int s = 0; s < 4; ++s) {
    u32 a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = weights_of(w.bits.v[s] >> (i * 4), less[i % 2]);
    w_mma<X>(products, a[0], a[1], a[2], a[3], x[s / 2].v[s % 2 * 2], x[s / 2].v[s % 2 * 2 + 1]);
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) sums[e] += number < c.chunks ? products[e] * w_get(w.scale[e / 2]) : 0.0f;
}

// `rows(r0, r)`, which every thread asks once, when the step ahead has ended: where row r of those from r0 on is; any
// row for what lies behind the last.
template <class Rows>
W_FN void multiply(const Operands& p, const Constants& c, Rows rows) {
  __shared__ float shared[kWarps][kRows][kTile];
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int tile = blockIdx.x % c.tiles, r0 = blockIdx.x / c.tiles * kRows, first = warp * kEach;
  Chunk w[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i) w[i] = fetch(p, c, tile, first + i);
  w_begin();
  const X* const row = rows(r0, g % kRows);
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    add_chunk(p, c, w[i % kAhead], row, tile, first + i, sums);
    if (i + kAhead < kEach) w[i % kAhead] = fetch(p, c, tile, first + i + kAhead);
  }
#pragma unroll
  for (int e = 0; e < 4; ++e)
    if (const int r = t * 2 + e % 2; r < kRows) shared[warp][r][g + e / 2 * 8] = sums[e];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kTile; i += kThreads) {
    const int r = i / kTile, m = tile * kTile + i % kTile;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kWarps; ++k) sum += shared[k][r][i % kTile];
    if (r0 + r < c.rows && m < c.columns) store(p, c, r0 + r, m, epilogue(p, c, sum, r0 + r, m));
  }
}
