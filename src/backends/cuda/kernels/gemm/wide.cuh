// Large products and convolutions on tensor cores of 9.0a: a block computes kRows x kColumns results at a time, 64 rows
// by each four warps that multiply from shared memory; kThreads ahead of them copy the rows, and one thread of these
// the columns, which lie in memory as they do in shared memory. Blocks of a cluster have the same columns: each copies
// a part of them to all. A cluster computes one tile after the other, so that the copies for the next are under way
// while results are stored. A thread's sums are eight neighbours of a row, since columns lie in that order.
// The problem: as of gemm/tile.cuh, with kThreads: those that copy; kBySixteen; kVector of 8; kPacked; kLine of 128;
// kShares of 1; w: blocks of 64 places of the sum, in each the columns, c.padded of them, lines of 128 bytes. Constants
// further has padded, column_tiles, tiles: of the problem, for each cluster; clusters: that are launched.
//   void fetch(p, c, at, n)   operands at a row, from column n on, on their way to the L2
#pragma once
#include "backends/cuda/kernels/gemm/stage.cuh"
#include "backends/cuda/kernels/gemm/wgmma.cuh"

constexpr int kMultiply = kRows / 64;             // groups of four warps
constexpr int kBarriers = kStages * kStageBytes;  // where they are
constexpr int kSharedBytes = kBarriers + 1024;
constexpr int kColumnsOfBlock = kColumns / kCluster;                          // that it copies
constexpr int kBatch = kColumns % 128 == 0 ? 4 : kColumns % 96 == 0 ? 3 : 2;  // vectors that a thread stores at once
static_assert(kVector == 8 && kPacked && kColumnsOfBlock % 8 == 0);

typedef float Sums[kColumns / 2];

// Piece q of line `line`, as the tensor cores find it.
W_FN int line_at(int line, int q) { return line * kLine + ((q ^ (line & 7)) << 4); }

struct Ring {
  u8* tile;
  int slot;
  u32 parity;  // of the phase in which the slot is filled
  W_M u8* stage() const { return tile + slot * kStageBytes; }
  W_M u64* filled() const { return (u64*)(tile + kBarriers) + slot; }
  W_M u64* empty() const { return (u64*)(tile + kBarriers) + kStages + slot; }
  W_M void next() {
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// The columns of stage `it` from n0 on, by one thread of each of the cluster's blocks.
W_FN void copy_columns(const W* w, const Constants& c, int n0, int it, const Ring& ring) {
  const int there = c.padded - n0 < kColumns ? c.padded - n0 : kColumns,
            first = (int)blockIdx.z % kCluster * kColumnsOfBlock;
  const int rest = there - first, own = rest < kColumnsOfBlock ? rest : kColumnsOfBlock;
  w_barrier_expect(ring.filled(), there * kLine);
  if (own > 0)
    w_copy_block<kCluster, kSharedBytes>(ring.stage() + (kRows + first) * kLine,
                                         (const u8*)w + ((s64)it * c.padded + n0 + first) * kLine, own * kLine,
                                         ring.filled());
}

// Tiles of this cluster, one after the other: body(row and column from which on).
template <class Body>
W_FN void each_tile(const Constants& c, const Body& body) {
#pragma unroll 1
  for (int i = (int)blockIdx.z / kCluster; i < c.tiles; i += c.clusters)
    body((i / c.column_tiles * kCluster + (int)blockIdx.z % kCluster) * kRows, i % c.column_tiles * kColumns);
}

W_FN void copy(const X* x, const W* w, const Constants& c, u8* tile) {
  const int t = threadIdx.x, q = t % kPieces;
  Ring ahead{tile, 0, 0}, ring{tile, 0, 0};
  int early = 0, asked = 0;  // stages: whose columns were copied before their turn, and whose rows were
  each_tile(c, [&](int, int n0) {
    for (int it = 0; it < c.stages && early < kStages; ++it, ++early) {
      if (t == 0) copy_columns(w, c, n0, it, ahead);
      ahead.next();
    }
  });
  w_begin();
  each_tile(c, [&](int m0, int n0) {
    Row rows[kOwnRows];
#pragma unroll
    for (int j = 0; j < kOwnRows; ++j) rows[j] = row_of(c, m0 + t / kPieces + j * kAtOnce);
#pragma unroll 1
    for (int it = 0; it < c.stages; ++it) {
      if (asked >= kStages) {
        w_barrier_wait(ring.empty(), ring.parity ^ 1);
        if (t == 0) copy_columns(w, c, n0, it, ring);
      }
      const int k = it * kStep + q * kPiece;
      Tap tap{};
      if constexpr (kWindow) tap = tap_of(c, k);
#pragma unroll
      for (int j = 0; j < kOwnRows; ++j)
        load_row(x, c, rows[j], tap, k, ring.stage() + line_at(t / kPieces + j * kAtOnce, q));
      w_barrier_arrive_copied(ring.filled());
      ring.next();
      ++asked;
    }
  });
}

W_FN void release(const Ring& ring) {
  const int lane = threadIdx.x % 32;
  if (lane < kCluster) w_barrier_arrive_at<kSharedBytes>(ring.empty(), lane);
}

W_FN void sum_up(const Constants& c, int group, Ring& ring, Sums& acc) {
  Ring last = ring;
#pragma unroll 1
  for (int it = 0; it < c.stages; ++it) {
    w_barrier_wait(ring.filled(), ring.parity);
    const u8 *a = ring.stage() + group * (64 * kLine), *b = ring.stage() + kRows * kLine;
    w_copied();
    w_wgmma_begin();
#pragma unroll
    for (int k = 0; k < kLine; k += 32) w_wgmma<X>(acc, a, b, k, it == 0 && k == 0);
    w_wgmma_commit();
    w_wgmma_wait<1>();
    if (it > 0) release(last);
    last = ring;
    ring.next();
  }
  w_wgmma_end(acc);
  release(last);
}

// Rows `half` * 8 to 8 more of a warp's sixteen. What a thread reads for some vectors is under way before it stores the
// first.
W_FN void store(const Operands& p, const Constants& c, int row, int n0, int half, const Sums& acc) {
  const auto operands_at = at(c, row < c.rows ? row : c.rows - 1);
#pragma unroll
  for (int first = 0; first < kColumns / 32; first += kBatch) {
    Pack<Y, 8> z[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int part = first + k, n = n0 + part * 32 + threadIdx.x % 4 * 8;
      float a[8];
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        const float sum = acc[(part * 4 + v / 2) * 4 + half * 2 + v % 2];
        a[v] = kScale == 1 ? sum : sum * (float)kScale;
      }
      z[k] = results(p, c, a, operands_at, n < c.columns ? n : c.columns - 8, nullptr);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int n = n0 + (first + k) * 32 + threadIdx.x % 4 * 8;
      if (row < c.rows && n < c.columns) *(Pack<Y, 8>*)(p.y + (s64)row * c.columns + n) = z[k];
    }
  }
}

// What the results of a tile need besides sums, on its way to the L2.
W_FN void fetch_operands(const Operands& p, const Constants& c, int m0, int n0) {
  constexpr int kParts = kColumns / 64;
#pragma unroll 1
  for (int i = (int)threadIdx.x - kThreads; i < kRows * kParts; i += kMultiply * 128) {
    const int row = m0 + i / kParts, n = n0 + i % kParts * 64;
    if (row < c.rows && n < c.columns) fetch(p, c, at(c, row), n);
  }
}

W_FN void multiply(const Operands& p, const Constants& c, u8* tile) {
  const int t = threadIdx.x - kThreads, group = t / 128;
  Ring ring{tile, 0, 0};
  w_begin();
  each_tile(c, [&](int m0, int n0) {
    fetch_operands(p, c, m0, n0);
    Sums acc;
    sum_up(c, group, ring, acc);
    const int row = m0 + t / 32 * 16 + t % 32 / 4;
    store(p, c, row, n0, 0, acc);
    store(p, c, row + 8, n0, 1, acc);
  });
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(tile, kSharedBytes);
  if (threadIdx.x == 0) {
    u64* const barriers = (u64*)(tile + kBarriers);
    for (int s = 0; s < kStages; ++s) {
      w_barrier_make(barriers + s, kThreads + 1);
      w_barrier_make(barriers + kStages + s, kMultiply * 4 * kCluster);
    }
    w_barriers_made();
  }
  __syncthreads();
  if constexpr (kCluster > 1) {
    w_cluster_arrive();
    w_cluster_wait();
  }
  if (threadIdx.x < kThreads)
    copy(p.x, p.w, c, tile);
  else
    multiply(p, c, tile);
  if constexpr (kCluster > 1) {  // others' arrivals and copies find it there
    w_cluster_arrive();
    w_cluster_wait();
  }
}
