// Rows of 16-bit floats times weights of 4 bits by 8-bit integers on tensor cores. Of a row, kRun chunks share a step, by
// which its elements are integers of 22 bits: three digits, signed bytes, in three planes, which are columns of one
// product. The step is 2 to the power of -20 of the largest element's power: of f16, elements from a thousandth of that
// one on are exact, smaller ones off by half a millionth of it at most. Weights are the upper bits of a byte, four of
// which take one or two instructions. Sums are exact until they meet a scale. The problem: that of
// gemm/weight_chunks.cuh, with kRows 2 at most; kRun: chunks side by side of one block of the weights, 2 at most.
#pragma once
#include "backends/cuda/kernels/gemm/weight_chunks.cuh"

constexpr int kPlanes = 3, kRowBytes = kPlanes * kChunk;  // of a chunk
constexpr int kStepsAt = kRowsAt + kWarps * kEach * kRows * kRowBytes;

// Four bytes of those of two words, by selectors of four bits each.
template <u32 kFrom>
W_FN u32 bytes_of(u32 low, u32 high) {
#ifdef WOOTZ_ON_HOST
  const u64 both = (u64)high << 32 | low;
  u32 made = 0;
  for (int i = 0; i < 4; ++i) made |= (u32)(both >> (kFrom >> (i * 4) & 7) * 8 & 255) << (i * 8);
  return made;
#else
  return __byte_perm(low, high, kFrom);
#endif
}

// The largest of |x| of threads that have a run of chunks of a row, as a float; no number where one is none.
W_FN float largest_of_run(const Pack<u32, 4>& x) {
  u32 most = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) most = w_largest<X>(most, x.v[i] & 0x7fff7fffu);
#pragma unroll
  for (int m = 1; m < kRun * 8; m *= 2) most = w_largest<X>(most, __shfl_xor_sync(0xffffffffu, most, m));
  X each;
  each.x = (u16)w_largest<X>(most, most >> 16);
  return w_get(each);
}

// By `inverse`, elements become numbers of steps; `scale` takes results back, which are of 16 times the weights. Where an
// element is infinite or no number, results are none. Steps of elements below 2 to the power of -95 get no smaller.
struct Step {
  float inverse, scale;
};
W_FN Step step_of(float largest) {
  constexpr u32 kLeast = 32, kNone = 255;
  const u32 own = w_f2bits(largest) >> 23, power = own > kLeast ? own : kLeast;
  return {w_bits2f((274 - power) << 23), power == kNone ? W_NAN : w_bits2f((power - 24) << 23)};
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
  const u32 low = bytes_of<0x5140>(q[0], q[2]), high = bytes_of<0x5140>(q[1], q[3]);
  const u32 top = bytes_of<0x5410>(bytes_of<0x0062>(q[0], q[2]), bytes_of<0x0062>(q[1], q[3]));
  return {{((top | 0x80808080u) - 0x40404040u) ^ 0x80808080u, bytes_of<0x7632>(low, high) ^ 0x80808080u,
           bytes_of<0x5410>(low, high) ^ 0x80808080u}};
}

// Eight neighbours of row r of the block's: piece i of the row. All threads of a warp call it at once, with pieces side
// by side for neighbours.
W_FN void keep_planes(const Place& at, int r, int i, const Pack<u32, 4>& x, bool in) {
  const Step step = step_of(largest_of_run(x));
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
  if (i % (kRun * 8) == 0) ((float*)(at.rows + kStepsAt - kRowsAt))[i / (kRun * 8) * kRows + r] = step.scale;
}

struct Planes {
  static constexpr int kLines = kRun;
  static constexpr bool kBalanced = !kHasZero && kZero == 8;  // weights are signed, by one bit
  static constexpr u32 kTurned = kBalanced ? 0x80808080u : 0;
  static constexpr int kOne = 0x4b400000;  // the bits of 1.5 * 2^23: what is added to them is added to the float
  Pack<u32, 4> x[kRun] = {};

  W_M static void product(int (&sums)[4], u32 first, u32 second, u32 x0, u32 x1) {
    constexpr u32 kMask = 0xf0f0f0f0u;
    const u32 a0 = (first << 4 & kMask) ^ kTurned, a1 = (first & kMask) ^ kTurned;
    const u32 a2 = (second << 4 & kMask) ^ kTurned, a3 = (second & kMask) ^ kTurned;
    if constexpr (kBalanced)
      w_mma<s8>(sums, a0, a1, a2, a3, x0, x1);
    else
      w_mma<u8>(sums, a0, a1, a2, a3, x0, x1);
  }
  // Of each column, 16 times the sum of x alone: what a zero point takes away of each step.
  W_M void sum_x(int (&sums)[4]) const {
    constexpr u32 kOnes = 0x10101010u;
#pragma unroll
    for (int h = 0; h < kRun * 2; ++h)
      w_mma<u8>(sums, kOnes, kOnes, kOnes, kOnes, x[h / 2].v[h % 2 * 2], x[h / 2].v[h % 2 * 2 + 1]);
  }

  // A run of lines; what lies behind the last chunk is none. The columns of a product: planes 0 to 2 of row 0 and
  // another, then those of row 1.
  template <class Rows>
  W_M void add(const Constants& c, const Place& at, const u8* row, int line, Sums& sums) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const bool in = kEven || at.first + line < c.chunks;
    const int chunk = in ? at.first + line : c.chunks - kRun;
#pragma unroll
    for (int h = 0; h < kRun; ++h)
      read_active(g % 4 < kPlanes && g / 4 < kRows, row + (chunk + h) * (kRows * kRowBytes), &x[h]);
    int taken[4] = {};
    if constexpr (kHasZero) sum_x(taken);
    const float step = ((const float*)(at.rows + kStepsAt - kRowsAt))[chunk / kRun * kRows + t / 2 % kRows];
    const int block = in ? chunk / c.block - at.first / c.block : 0;
#pragma unroll
    for (int o = 0; o < kOwn; ++o) {
      const int grid = o * kGrids + block;
      int made[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        made[e] = kOne;
        if constexpr (kHasZero) made[e] -= taken[e] * (int)at.grid[kZerosAt + grid * kTile + g + e / 2 * 8];
      }
#pragma unroll
      for (int h = 0; h < kRun * 2; ++h) {
        const Pack<u32, 4> bits = *(const Pack<u32, 4>*)(line_at(at, line + h / 2) + o * kTileBytes);
        product(made, bits.v[h % 2 * 2], bits.v[h % 2 * 2 + 1], x[h / 2].v[h % 2 * 2], x[h / 2].v[h % 2 * 2 + 1]);
      }
      const S* const scale = (const S*)(at.grid + grid * kScaleBytes) + g;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        sums[o][e] += in ? (w_bits2f((u32)made[e]) - w_bits2f(kOne)) * (w_get(scale[e / 2 * 8]) * step) : 0.0f;
    }
  }

  W_M void put(const Place& at, const Sums& sums) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float* const to = (float*)at.lines;
#pragma unroll
    for (int o = 0; o < kOwn; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float last = __shfl_xor_sync(0xffffffffu, sums[o][half * 2], 1);
        if (t % 2 == 0 && t / 2 < kRows)
          to[(t / 2 * kOwn + o) * kTile + g + half * 8] =
              sums[o][half * 2] * 65536.0f + sums[o][half * 2 + 1] * 256.0f + last;
      }
  }
};

// What a thread reads of rows in planes.
W_FN const u8* own_plane(const Place& at) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  return at.rows + g / 4 % kRows * kRowBytes + g % 4 % kPlanes * kChunk + t * kPiece;
}
