// Normalized rows in front of a product of gemm/tile.cuh: x is read as it is, and what the mean and the deviation of
// its rows change is made good behind the sums. These two follow from the rows that the block multiplies anyway:
// products with ones are sums, those of rows with themselves have the squares on their diagonal. The problem: that of
// gemm/tile.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/results.cuh"

// Of the 16 rows of a part: a thread of row lane / 4 has in `sums` those of its row (0, 1) and of the eighth after it
// (2, 3), of `squares` the places of a product of rows and rows.
struct RowStatistics {
  float sums[4], squares[4];
};
struct Statistics {
  RowStatistics of[kNormed ? kRowParts : 1];
};

template <class T>
constexpr u32 kOnes = 0x3F803F80u;
template <>
constexpr u32 kOnes<f16> = 0x3C003C00u;

template <class T>
W_FN void count_in(const Pack<u32, 4>& rows, T* to) {
  if constexpr (kCentered) w_mma<X>(to->sums, rows.v[0], rows.v[1], rows.v[2], rows.v[3], kOnes<X>, kOnes<X>);
  w_mma<X>(to->squares, rows.v[0], 0u, rows.v[2], 0u, rows.v[0], rows.v[2]);
  w_mma<X>(to->squares, 0u, rows.v[1], 0u, rows.v[3], rows.v[1], rows.v[3]);
}
// Part `part` of two of a line. Warps that multiply the same rows count a share of the sum's length each, without a
// branch, which would keep what stands around it from being exchanged.
template <class T>
W_FN void count_in(const Pack<u32, 4> (&rows)[2], int part, int warp, T* to) {
  if constexpr (kWarpsN == 1) {
    count_in(rows[0], to);
    count_in(rows[1], to);
  } else {
    const u32 mask = kWarpsN == 2 || warp / 2 == part ? ~0u : 0u;
    Pack<u32, 4> own;
#pragma unroll
    for (int v = 0; v < 4; ++v) own.v[v] = (warp % 2 == 0 ? rows[0].v[v] : rows[1].v[v]) & mask;
    count_in(own, to);
  }
}

// The tables on their way to the L2.
W_FN void prefetch_tables(const Operands& p, const Constants& c, int n0) {
  if constexpr (kNormed) {
    constexpr int kLineOf = 128 / (int)sizeof(float);
    const float* const tables = (const float*)(p.w + (s64)c.columns * c.pitch);
    const int n = n0 + (int)threadIdx.x * kLineOf;
    if (n < n0 + kColumns + kLineOf && n < c.columns) {
      w_prefetch(tables + n);
      w_prefetch(tables + c.columns + n);
    }
  }
}

// A warp's statistics to shared memory, where those of all parts of the sum's length meet.
template <class T>
W_FN void note(const Warp& warp, const T& rows_of, Pack<float, 2>* notes) {
  const int lane = threadIdx.x % 32, row = lane / 4;
  if (lane % 4 != row / 2) return;
#pragma unroll
  for (int i = 0; i < kRowParts; ++i) {
    const auto& s = rows_of.of[i];
    Pack<float, 2>* const at = notes + (warp.share * kWarpsN + warp.n) * kRows + (warp.m * kRowParts + i) * 16 + row;
    at[0] = {s.sums[0], row % 2 == 0 ? s.squares[0] : s.squares[1]};
    at[8] = {s.sums[2], row % 2 == 0 ? s.squares[2] : s.squares[3]};
  }
}

// Mean and inverse deviation of row `row` from all parts.
W_FN Pack<float, 2> settle(const Constants& c, const Pack<float, 2>* notes, int row) {
  Pack<float, 2> sum = notes[row];
#pragma unroll
  for (int k = 1; k < kShares * kWarpsN; ++k) {
    const Pack<float, 2> more = notes[k * kRows + row];
    sum.v[0] += more.v[0], sum.v[1] += more.v[1];
  }
  return mean_and_inverse(1.0f / (float)c.depth, sum.v[0], sum.v[1]);
}

// What real() reads of the tile's rows; and the normalized rows, where they are kept.
template <class P, class T>
W_FN void normalize(const P& p, const Constants& c, int m0, const Warp& warp, const T& rows_of, u8* tile) {
  Pack<float, 2>* const notes = (Pack<float, 2>*)(tile + kStages * kStageBytes);
  const auto meet = [&] {
    note(warp, rows_of, notes);
    __syncthreads();
    if (threadIdx.x < kRows) notes[threadIdx.x] = settle(c, notes, threadIdx.x);
    __syncthreads();
  };
  if constexpr (kKept) {
    const int blocks = (c.columns + kColumns - 1) / kColumns, step = blocks * kThreads;
    const int first = blockIdx.y * kThreads + threadIdx.x;
    const auto own = read_kept(p, c, p.x, m0, kRows, first);  // on its way meanwhile
    meet();
    keep(p, own, notes);
    const int all = kRows * (c.depth / kVector);
#pragma unroll 1
    for (int v = first + step; v < all; v += step) keep(p, read_kept(p, c, p.x, m0, kRows, v), notes);
  } else {
    meet();
  }
}
