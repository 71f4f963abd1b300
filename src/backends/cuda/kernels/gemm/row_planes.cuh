// Rows of 16-bit floats times weights of 4 bits by 8-bit integers on tensor cores. Of a row, kSame chunks share a step,
// by which its elements are integers of 22 bits: three digits, signed bytes, in three planes, which are columns of one
// product. The step is 2 to the power of -20 of the largest element's power: of f16, elements from a thousandth of that
// one on are exact, smaller ones off by half a millionth of it at most. Sums are exact until they meet a scale. The
// problem: that of gemm/weight_chunks.cuh, with kRows 2 at most; kRun: chunks side by side of one block of the weights,
// 2 at most; kSame: a multiple of it, 4 at most. With 4, a warp's threads have chunks of one step.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

constexpr int kPlanes = 3, kRowBytes = kPlanes * kChunk;  // of a chunk
constexpr int kStepsAt = kRowsAt + kWarps * kEach * kRows * kRowBytes;

// The largest of |x| of threads that have chunks of one step, as a float; no number where one is none. Their bits are
// in the same order.
W_FN float largest_of(const Pack<u32, 4>& x) {
  constexpr u32 kAll = 0xffffffffu;
  u32 most = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) most = w_largest<X>(most, x.v[i] & 0x7fff7fffu);
  most = w_largest<X>(most, most >> 16) & 0xffffu;
  if constexpr (kSame == 4)
    most = __reduce_max_sync(kAll, most);
  else
#pragma unroll
    for (int m = 1; m < kSame * 8; m *= 2) {
      const u32 other = __shfl_xor_sync(kAll, most, m);
      most = other > most ? other : most;
    }
  X each;
  each.x = (u16)most;
  return w_get(each);
}

// By `inverse`, elements become numbers of steps; `scale` takes results back. Where an element is infinite or no
// number, results are none. Steps of elements below 2 to the power of -95 get no smaller.
struct Step {
  float inverse, scale;
};
W_FN Step step_of(float largest) {
  constexpr u32 kLeast = 32, kNone = 255;
  const u32 own = w_f2bits(largest) >> 23, power = own > kLeast ? own : kLeast;
  return {w_bits2f((274 - power) << 23), power == kNone ? W_NAN : w_bits2f((power - 20) << 23)};
}

// Four neighbours as three digits each, those of the second and the third one after the other way round, as packed
// weights are.
struct Digits {
  u32 plane[kPlanes];
};
W_FN Digits digits_of(const float* v, float inverse) {
  // 1.5 * 2^23, so that an integer is a float's last bits, and a half more for each of the two lower digits.
  constexpr float kOne = 12582912.0f, kHalves = 32896.0f;
  u32 q[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) q[e] = w_f2bits(fmaf(v[e], inverse, kOne + kHalves));
  const u32 low = w_bytes_of(q[0], q[2], 0x5140), high = w_bytes_of(q[1], q[3], 0x5140);
  const u32 top = w_bytes_of(w_bytes_of(q[0], q[2], 0x0062), w_bytes_of(q[1], q[3], 0x0062), 0x5410);
  return {{((top | 0x80808080u) - 0x40404040u) ^ 0x80808080u, w_bytes_of(low, high, 0x7632) ^ 0x80808080u,
           w_bytes_of(low, high, 0x5410) ^ 0x80808080u}};
}

// Eight neighbours of row r of the block's: piece i of the row. All threads of a warp call it at once, with pieces side
// by side for neighbours.
W_FN void keep_planes(const Place& at, int r, int i, const Pack<u32, 4>& x, bool in) {
  const Step step = step_of(largest_of(x));
  Digits digits[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      X own;
      own.x = (u16)(x.v[half * 2 + e / 2] >> (e % 2 * 16));
      v[e] = w_get(own);
    }
    digits[half] = digits_of(v, step.inverse);
  }
  if (!in) return;
  u8* const to = at.rows + (i / 8 * kRows + r) * kRowBytes + i % 8 * 8;
#pragma unroll
  for (int n = 0; n < kPlanes; ++n)
    *(Pack<u32, 2>*)(to + n * kChunk) = Pack<u32, 2>{{digits[0].plane[n], digits[1].plane[n]}};
  if (i % (kSame * 8) == 0) ((float*)(at.rows + kStepsAt - kRowsAt))[i / (kSame * 8) * kRows + r] = step.scale;
}

// Columns of a product: digits 0 to 2 of row 0, one that is none, digits of row 1. Rows of a product: a word of weights
// as it is, which is 16 times the weights of the tile's columns from the eighth on and those of the first eight, and
// the former alone: an instruction for eight weights. Where zero is another packed weight than 0, the sums of digits
// take it away: they are the product with ones.
struct Planes {
  static constexpr int kLines = kRun;
  static constexpr u32 kOne = 0x4b400000;  // of 1.5 * 2^23: an integer that is added to the bits is added to the float
  Pack<u32, 4> x[kRun] = {};

  W_M static void product(int (&sums)[4], u32 first, u32 second, u32 x0, u32 x1) {
    constexpr u32 kMask = 0xf0f0f0f0u;
    w_mma<u8>(sums, first, first & kMask, second, second & kMask, x0, x1);
  }
  W_M void sum_digits(int (&sums)[4]) const {
    constexpr u32 kOnes = 0x01010101u;
#pragma unroll
    for (int h = 0; h < kRun * 2; ++h)
      w_mma<u8>(sums, kOnes, kOnes, kOnes, kOnes, x[h / 2].v[h % 2 * 2], x[h / 2].v[h % 2 * 2 + 1]);
  }

  // A run of lines; what lies behind the last chunk is none.
  template <class Rows>
  W_M void add(const Constants& c, const Place& at, const u8* row, int line, Sums& sums) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const bool in = kEven || at.first + line < c.chunks;
    const int chunk = at.first + line;
#pragma unroll
    for (int h = 0; h < kRun; ++h)
      read_active(g % 4 < kPlanes && g / 4 < kRows, row + (chunk + h) * (kRows * kRowBytes), &x[h]);
    int digits[4] = {};
    if constexpr (kHasZero || kZero != 0) sum_digits(digits);
    const float step = ((const float*)(at.rows + kStepsAt - kRowsAt))[chunk / kSame * kRows + t / 2 % kRows];
    const int block = in ? chunk / c.block - at.first / c.block : 0;
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      const int grid = o * kGrids + block;
      int made[4] = {(int)(kOne * 2), (int)(kOne * 2), (int)kOne, (int)kOne};
#pragma unroll
      for (int h = 0; h < kRun * 2; ++h) {
        const Pack<u32, 4> bits = *(const Pack<u32, 4>*)(line_at(at, line + h / 2) + o * kTileBytes);
        product(made, bits.v[h % 2 * 2], bits.v[h % 2 * 2 + 1], x[h / 2].v[h % 2 * 2], x[h / 2].v[h % 2 * 2 + 1]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float scale = w_get(((const S*)(at.grid + grid * kScaleBytes))[g + half * 8]) * step;
        const u32 zero = kHasZero ? (u32)at.grid[kZerosAt + grid * kTile + g + half * 8] : (u32)kZero;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const u32 own = (u32)made[half * 2 + e] - (half == 0 ? (u32)made[2 + e] : 0u);
          const float taken = w_bits2f(kOne + zero * (half == 0 ? 1u : 16u) * (u32)digits[e]);
          sums[o][half * 2 + e] += in ? (w_bits2f(own) - taken) * scale : 0.0f;
        }
      }
    }
  }

  W_M void put(const Place& at, const Sums& sums) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float joined[kOwn][2];
#pragma unroll
    for (int o = 0; o < kOwn; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        joined[o][half] = sums[o][half * 2] * 65536.0f + sums[o][half * 2 + 1] * 256.0f +
                          __shfl_xor_sync(0xffffffffu, sums[o][half * 2], 1);
    if (t % 2 != 0 || t / 2 >= kRows) return;
    float* const to = (float*)at.lines + t / 2 * (kOwn * kTile) + g;
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      to[o * kTile] = joined[o][0];
      to[o * kTile + 8] = joined[o][1] * 0.0625f;
    }
  }
};

// What a thread reads of rows in planes, if it is one of those that do.
W_FN const u8* own_plane(const Place& at) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  return at.rows + g / 4 * kRowBytes + g % 4 * kChunk + t * kPiece;
}
