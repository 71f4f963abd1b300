// Products and convolutions of 8-bit elements on tensor cores: tiles in shared memory, filled by asynchronous copies
// some stages ahead. Which bytes of a stage a thread multiplies at once does not matter to a sum of integers, as long
// as x and w agree: a thread takes 16 bytes that lie together, and eight neighbours read 128 bytes without a bank
// conflict. The problem: X, Y; kThreads; kRows, kColumns: of a block's results, computed by kWarpsM x kWarpsN warps and
// kShares times as many that divide the sum; kStages; kVector: neighbours that a thread stores; kWindow: x is an image
// and the sum goes over the taps of a window, outside of which x is kOutside; kBySixteen: 16 bytes are of one tap;
// kShort: no sum has more than 22 bits; kPacked: w is followed by a scale and a correction for each column (kCorrected:
// not all zeros) and by kExtras floats; otherwise kScale; Constants {rows, columns; depth: of the sum; pitch: of w;
// stages: of the sum; channels; image, in_h, in_w, out_h, out_w, stride_h, stride_w, dilation_h, dilation_w, pad_top,
// pad_left, taps_w: of the window};
//   Matrices matrices(c, i)   offsets of x and w in matrix i of the batch
//   At at(c, row)             offsets of further operands at a row of the result
//   Pack<Y, kVector> results(p, c, a, at, n, extras)   what is stored for the sums a, from column n on
#pragma once
#include "backends/cuda/kernels/gemm/int8_stage.cuh"

constexpr int kRowParts = kRows / kWarpsM / 16, kColumnParts = kColumns / kWarpsN / 8;  // of a warp, as mma has them
constexpr int kSumPitch = kColumns + 8;

constexpr int kVectors = kWarpsM * 16 * kColumns / kVector;  // of the rows that are stored at once
// That a thread stores one after the other. Where it keeps many sums, two of eight elements are more than registers
// hold.
constexpr bool kManySums = kRowParts * kColumnParts >= 16;
constexpr int kBatch = kVectors % (2 * kThreads) == 0 && !(kManySums && kVector == 8) ? 2 : 1;

typedef int Sums[kRowParts][kColumnParts][4];

// A thread's warp among those of the block: its share of the sum, its rows and its columns.
struct Warp {
  int share, m, n;
};

W_FN Warp this_warp() {
  const int warp = threadIdx.x / 32;
  return {warp / (kWarpsM * kWarpsN), warp % (kWarpsM * kWarpsN) / kWarpsN, warp % kWarpsN};
}

// One stage's part of the sums.
W_FN void multiply(const Warp& warp, const u8* stage, Sums& acc) {
  const int t = threadIdx.x;
  const u8* const own = stage + warp.share * ((kRows + kColumns) * 64) + (t % 32 / 4) * 64 + t % 4 * 16;
  const u8* const rows = own + warp.m * (kRowParts * 16 * 64);
  const u8* const columns = own + (kRows + warp.n * (kColumnParts * 8)) * 64;
  Pack<u32, 4> b[kColumnParts];
#pragma unroll
  for (int n = 0; n < kColumnParts; ++n) b[n] = *(const Pack<u32, 4>*)(columns + n * (8 * 64));
#pragma unroll
  for (int i = 0; i < kRowParts; ++i) {
    const Pack<u32, 4> lo = *(const Pack<u32, 4>*)(rows + i * (16 * 64)),
                       hi = *(const Pack<u32, 4>*)(rows + (i * 16 + 8) * 64);
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) {
      w_mma<X>(acc[i][n], lo.v[0], hi.v[0], lo.v[1], hi.v[1], b[n].v[0], b[n].v[1]);
      w_mma<X>(acc[i][n], lo.v[2], hi.v[2], lo.v[3], hi.v[3], b[n].v[2], b[n].v[3]);
    }
  }
}

W_FN void sum_up(const X* x, const s8* w, const Constants& c, int m0, int n0, const Warp& warp, u8* tile, Sums& acc) {
  Row rows[kOwnRows];
#pragma unroll
  for (int j = 0; j < kOwnRows; ++j) rows[j] = row_of(x, c, m0 + (threadIdx.x / 4 + j * kAtOnce) % kRows);
#pragma unroll
  for (int i = 0; i < kRowParts; ++i)
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) acc[i][n][0] = acc[i][n][1] = acc[i][n][2] = acc[i][n][3] = 0;
  const auto load = [&](int it, int slot) {
    if (it < c.stages)
      load_stage(x, w, c, rows, n0, it, tile + slot * kStageBytes);
    else
      w_commit();
  };
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) load(s, s);
#pragma unroll 1
  for (int it = 0; it < c.stages; ++it) {
    w_wait<kStages - 2>();
    __syncthreads();
    load(it + kStages - 1, (it + kStages - 1) % kStages);
    multiply(warp, tile + it % kStages * kStageBytes, acc);
  }
  w_wait<0>();
}

// Where a column is in a row of sums: eight threads that read 16 bytes each of eight vectors meet no bank twice.
W_FN int place_of(int column) { return kVector == 8 ? column ^ (column >> 3 & 4) : column; }

// 16 rows of each warp to shared memory, where the shares of the sum meet. `part`: not known to the compiler, so that
// its code stands once.
W_FN void spread(const Warp& warp, const Sums& acc, int part, int* sums) {
  const int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < kRowParts; ++i) {
    if (i != part) continue;
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) {
      int* const at = sums + ((warp.share * kWarpsM + warp.m) * 16 + t % 32 / 4) * kSumPitch +
                      place_of(warp.n * (kColumnParts * 8) + n * 8 + t % 4 * 2);
      at[0] = acc[i][n][0];
      at[1] = acc[i][n][1];
      at[8 * kSumPitch] = acc[i][n][2];
      at[8 * kSumPitch + 1] = acc[i][n][3];
    }
  }
}

// kVector neighbours of a row, the shares added.
W_FN Pack<int, kVector> gather(const int* sums, int row, int column) {
  constexpr int kPiece = kVector < 4 ? kVector : 4;
  Pack<int, kVector> sum;
#pragma unroll
  for (int k = 0; k < kShares; ++k) {
#pragma unroll
    for (int v = 0; v < kVector; v += kPiece) {
      const Pack<int, kPiece> more =
          *(const Pack<int, kPiece>*)(sums + (k * (kWarpsM * 16) + row) * kSumPitch + place_of(column + v));
#pragma unroll
      for (int i = 0; i < kPiece; ++i) sum.v[v + i] = k == 0 ? more.v[i] : sum.v[v + i] + more.v[i];
    }
  }
  return sum;
}

// The sums of x's and w's real values from column n on. `scales`: the columns' scales, then their corrections.
W_FN void rescale(const Constants& c, const Pack<int, kVector>& sum, const float* scales, int n, float (&a)[kVector]) {
  Pack<float, kVector> scale;
  Pack<int, kVector> less;
  if constexpr (kPacked) scale = *(const Pack<float, kVector>*)(scales + n);
  if constexpr (kCorrected) less = *(const Pack<int, kVector>*)((const int*)scales + c.columns + n);
#pragma unroll
  for (int v = 0; v < kVector; ++v) {
    const int own = kCorrected ? (int)((u32)sum.v[v] - (u32)less.v[v]) : sum.v[v];
    a[v] = w_times(kShort ? w_short2f(own) : (float)own, kPacked ? scale.v[v] : (float)kScale);
  }
}

// Part `i` of the rows, whose sums are in shared memory. What a thread reads for its vectors is under way before it
// stores the first: vectors outside of the result read what the last one inside does.
W_FN void store(const Operands& p, const Constants& c, const int* sums, const float* scales, const float* extras,
                int m0, int n0, int i) {
#pragma unroll 1
  for (int j = threadIdx.x; j < kVectors; j += kThreads * kBatch) {
    Pack<Y, kVector> z[kBatch];
    Y* to[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int at_once = j + k * kThreads, r = at_once / (kColumns / kVector);
      const int column = at_once % (kColumns / kVector) * kVector, n = n0 + column;
      const int row = m0 + r / 16 * (kRowParts * 16) + i * 16 + r % 16;
      const int own_row = row < c.rows ? row : c.rows - 1, own_n = n < c.columns ? n : c.columns - kVector;
      const s64 whole = (s64)blockIdx.z * c.rows + own_row;
      float a[kVector];
      rescale(c, gather(sums, r, column), scales, own_n, a);
      z[k] = results(p, c, a, at(c, whole), own_n, extras);
      to[k] = row < c.rows && n < c.columns ? p.y + whole * c.columns + n : nullptr;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (to[k] != nullptr) *(Pack<Y, kVector>*)to[k] = z[k];
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(tile, kStages * kStageBytes);
  const int m0 = blockIdx.x * kRows, n0 = blockIdx.y * kColumns;
  const Matrices matrix = matrices(c, blockIdx.z);
  const Warp warp = this_warp();
  Sums acc;
  sum_up(p.x + matrix.x, p.w + matrix.w, c, m0, n0, warp, tile, acc);
  const float* const scales = (const float*)(p.w + (s64)c.columns * c.pitch);
  float extras[kExtras + 1];
#pragma unroll
  for (int i = 0; i < kExtras; ++i) extras[i] = scales[2 * c.columns + i];
  int* const sums = (int*)tile;
#pragma unroll 1
  for (int i = 0; i < kRowParts; ++i) {
    __syncthreads();
    spread(warp, acc, i, sums);
    __syncthreads();
    store(p, c, sums, scales, extras, m0, n0, i);
  }
}
