// Products and convolutions on tensor cores: tiles in shared memory, filled by asynchronous copies some stages ahead.
// A warp reads them as matrices of eight rows, so that a thread has the registers of a product one after the other: put
// together from words, each product would take four copies of registers. Columns of a constant
// w are on their way before the kernel ahead of this one has ended. The problem: X, W, Y; Part: of sums, int or float;
// kThreads; kRows, kColumns: of a block's results, computed by kWarpsM x kWarpsN warps and kShares times as many that
// divide the sum; kCluster: blocks that divide it, neighbours along z; kStages; kLine: bytes of a row in a stage;
// kVector: neighbours that a thread stores; kDirect: these are its sums, which then go from registers to the result;
// kPlanes: results are by planes, whose pixels are neighbours (then at() is of a plane and n a pixel of it);
// kEarly: what fetch() brings comes with the first stage; kGated: x is multiplied by gate_of(p), of type G, channel by
// channel; bytes by a factor behind w's floats as well, and rounded to bytes; kNormed: rows of x are normalized
// (kCentered: by their mean too; kEpsilon), w has the normalization's scale in it and is followed by the sum of each
// column, what the bias adds to it, and a factor of w; kKept: the normalized rows are a result as well, with
// Operands.kept and what norm/packs.cuh has of Parameters; kJoined: place k of a row of x is of the operand that
// source_of(p, c, k) tells; kWalk: kStages are all of the sum, twice, and a block takes every c.walkers-th of
// c.row_tiles tiles of rows; kWindow: x is an image and the sum goes over the taps of a window, outside of which x is
// kOutside; kBySixteen: 16 bytes are of one tap; kByEight: 8 are, but not 16; kShort: no sum has more than 22 bits;
// kPacked: w is a constant; kScaled: w is followed by a scale and a correction for each column (kCorrected: not all
// zeros) and by kExtras floats; otherwise kScale; kAllRows, kAllColumns, kAllDepth: blocks, and stages, have nothing
// outside of the result, and of the sum; Constants {rows, columns; depth: of the sum; pitch: of w; stages: of the sum,
// of a block; channels; pixels: of a plane; image, in_h, in_w, out_h, out_w, stride_h, stride_w, dilation_h,
// dilation_w, pad_top, pad_left, taps_w: of the window; per_channel, per_tap: inverses, as w_over() has them, of
// channels and taps_w};
//   Matrices matrices(c, i)   offsets of x and w in matrix i of the batch
//   At at(c, row)             offsets of further operands at a row of the result
//   Ahead ahead(p, c, at, n), fetch(p, c, at, n, to)   bytes that results() reads there: now, or on their way
//   Y* result_at(p, c, row, n)   where column n of a row is stored: vectors are of one result
//   Pack<Y, kVector> results(p, c, a, at, n, extras, ahead)   what is stored for the sums a, from column n on
#pragma once
#include "backends/cuda/kernels/gemm/float8_mma.cuh"
#include "backends/cuda/kernels/gemm/normalize.cuh"

// Of the gate, what stands at the channels that a thread has of pieces `piece` and the next; of bytes with the factor.
template <int kBytes>
struct GatesOf {
  u32 v[2];
};
template <>
struct GatesOf<1> {
  float v[8];
};
typedef GatesOf<(int)sizeof(X)> Gates;
W_FN void read_gates(const u8* stage, int piece, GatesOf<2>* gates) {
  const u32* const at = (const u32*)(stage + kGateAt) + piece * 4 + threadIdx.x % 4;
  gates->v[0] = at[0];
  gates->v[1] = at[4];
}
W_FN void read_gates(const u8* stage, int piece, GatesOf<1>* gates) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Pack<float, 4> own = ((const Pack<float, 4>*)(stage + kFactorsAt))[(piece + i) * 4 + threadIdx.x % 4];
#pragma unroll
    for (int k = 0; k < 4; ++k) gates->v[i * 4 + k] = own.v[k];
  }
}

// Rows by the gate.
W_FN void pass(const GatesOf<2>& gates, Pack<u32, 4>* rows) {
#pragma unroll
  for (int i = 0; i < 4; ++i) rows->v[i] = w_times_halves<X>(rows->v[i], gates.v[i / 2]);
}
W_FN void pass(const GatesOf<1>& gates, Pack<u32, 4>* rows) {
#pragma unroll
  for (int i = 0; i < 4; ++i) rows->v[i] = w_times_bytes<X>(rows->v[i], gates.v + i / 2 * 4);
}

// One stage's part of the sums. `between` is done while the stage is read from shared memory.
template <class Between>
W_FN void multiply(const Warp& warp, const u8* stage, Sums& acc, Statistics& rows_of, const Between& between) {
  constexpr int kReadFirst = kManySums ? 0 : kRowParts;  // as many as registers hold
  const u8* const rows = stage + warp.m * (kRowParts * 16 * kLine);
  const u8* const columns = stage + (kRows + warp.n * (kColumnParts * 8)) * kLine;
#pragma unroll
  for (int part = 0; part < kLine / 64; ++part) {
    Pack<u32, 4> b[kColumnParts], a[kRowParts][2];
    Gates gates[2];
#pragma unroll
    for (int half = 0; half < 2 && kGated; ++half) read_gates(stage, part * 4 + half * 2, &gates[half]);
    const auto read = [&](int i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        w_matrices(&a[i][half], rows, i * (16 * kLine),
                   [&](int lane) { return piece_at(lane % 16, part * 4 + half * 2 + lane / 16); });
        if constexpr (kGated) pass(gates[half], &a[i][half]);
      }
    };
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n)
      w_matrices(&b[n], columns, n * (8 * kLine), [&](int lane) { return piece_at(lane % 8, part * 4 + lane / 8); });
#pragma unroll
    for (int i = 0; i < kReadFirst; ++i) read(i);
    if (part == 0) between();
#pragma unroll
    for (int i = 0; i < kRowParts; ++i) {
      if (i >= kReadFirst) read(i);
      if constexpr (kNormed) count_in(a[i], part, warp.n, &rows_of.of[i]);
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Pack<u32, 4>& own = a[i][half];
          w_multiply<X, W>(acc[i][n], own.v[0], own.v[1], own.v[2], own.v[3], b[n].v[half * 2], b[n].v[half * 2 + 1]);
        }
    }
  }
}

W_FN void start(Sums& acc) {
#pragma unroll
  for (int i = 0; i < kRowParts; ++i)
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) acc[i][n][0] = acc[i][n][1] = acc[i][n][2] = acc[i][n][3] = (Part)kSumsFrom;
}

// `begun` is done when the first stage is on its way, and may add to it.
template <class Begun>
W_FN void sum_up(const Operands& p, const X* x, const W* w, const Constants& c, int m0, int n0, const Warp& warp,
                 u8* tile, Sums& acc, Statistics& rows_of, const Begun& begun) {
  const int first = kCluster > 1 ? (int)blockIdx.z * c.stages : 0;
  const auto slot = [&](int s) { return tile + s * kStageBytes + warp.share * kShareBytes; };
  if constexpr (!kPacked) w_begin();
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s)
    if (s < c.stages) load_columns(w, c, n0, first + s, slot(s));
  Row rows[kOwnRows];
#pragma unroll
  for (int j = 0; j < kOwnRows; ++j) rows[j] = row_of(c, m0 + threadIdx.x % kOfShare / kPieces + j * kAtOnce);
  if constexpr (kPacked) {
    const int most = c.stages < 5 * kStages ? c.stages : 5 * kStages;
    prefetch_columns(w, c, n0, first + kStages - 1, first + most);
    prefetch_tables(p, c, n0);
    w_begin();
  }
  start(acc);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < c.stages) load_rows(p, x, c, rows, first + s, slot(s));
    if (s == 0) begun();
    w_commit();
  }
  int now = 0, next = kStages - 1;
#pragma unroll 1
  for (int it = 0; it < c.stages; ++it) {
    w_wait<kStages - 2>();
    make_factors(slot(now), warp.factor);
    w_meet<kOfShare, kShares>(warp.share);
    multiply(warp, slot(now), acc, rows_of, [&] {
      if (it + kStages - 1 < c.stages) {
        load_rows(p, x, c, rows, first + it + kStages - 1, slot(next));
        load_columns(w, c, n0, first + it + kStages - 1, slot(next));
      }
      w_commit();
    });
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  w_wait<0>();
}

// With kDirect, the vectors of a thread: of two rows of each part, and of each 32 columns.
constexpr int kAcross = kDirect ? kColumnParts / 4 : 1, kDown = 2 * kRowParts;

template <class Body>
W_FN void each_vector(const Constants& c, int m0, int n0, const Warp& warp, const Body& body) {
  const int t = threadIdx.x;
#pragma unroll
  for (int m = 0; m < kAcross; ++m)
#pragma unroll
    for (int i = 0; i < kDown; ++i)
      body(i, m, m0 + (warp.m * kRowParts + i / 2) * 16 + i % 2 * 8 + t % 32 / 4,
           n0 + warp.n * (kColumnParts * 8) + m * 32 + t % 4 * 8);
}

// Of vectors outside of the result, those of the last one inside.
struct Inside {
  s64 row;
  int n;
};
W_FN Inside inside(const Constants& c, int row, int n) {
  return {(kPacked ? 0 : (s64)blockIdx.z * c.rows) + (is_row(c, row) ? row : c.rows - 1),
          is_column(c, n) ? n : c.columns - kVector};
}

W_FN void store_own(const Operands& p, const Constants& c, const Tables& tables, int m0, int n0, const Warp& warp,
                    const Sums& acc, const Ahead* early) {
  each_vector(c, m0, n0, warp, [&](int i, int m, int row, int n) {
    const Inside own = inside(c, row, n);
    Pack<Part, kVector> sums;
#pragma unroll
    for (int v = 0; v < kVector; ++v) sums.v[v] = acc[i / 2][m * 4 + v / 2][i % 2 * 2 + v % 2];
    float a[kVector];
    real(c, tables, sums, row - m0, own.n, a);
    const At operands = at(c, own.row);
    const Pack<Y, kVector> z = results(p, c, a, operands, own.n, tables.extras,
                                       kEarly ? early[(i * kAcross + m) * kThreads] : ahead(p, c, operands, own.n));
    if (is_stored(c, row, n)) *(Pack<Y, kVector>*)result_at(p, c, own.row, n) = z;
  });
}

// What fetch() brings for a tile's vectors.
W_FN void fetch_early(const Operands& p, const Constants& c, int m0, int n0, const Warp& warp, Ahead* early) {
  if constexpr (kEarly)
    each_vector(c, m0, n0, warp, [&](int i, int m, int row, int n) {
      const Inside own = inside(c, row, n);
      fetch(p, c, at(c, own.row), own.n, early + (i * kAcross + m) * kThreads);
    });
}

// With kWalk, a block takes one tile of rows after the other, by the same columns, which stay in shared memory: half of
// the stages are of one tile, and the rows of the next are on their way to the other half meanwhile.
W_FN void walk(const Operands& p, const Constants& c, int n0, const Warp& warp, u8* tile) {
  constexpr int kOfTile = kStages / 2;
  const auto slot = [&](int half, int s) { return tile + (half * kOfTile + s) * kStageBytes; };
  Ahead* const early = (Ahead*)(tile + kStages * kStageBytes) + threadIdx.x;
  const auto begin = [&](int m0, int half) {
    Row rows[kOwnRows];
#pragma unroll
    for (int j = 0; j < kOwnRows; ++j) rows[j] = row_of(c, m0 + threadIdx.x / kPieces + j * kAtOnce);
#pragma unroll
    for (int s = 0; s < kOfTile; ++s) load_rows(p, p.x, c, rows, s, slot(half, s));
    fetch_early(p, c, m0, n0, warp, early + half * kBlockVectors);
    w_commit();
  };
#pragma unroll
  for (int s = 0; s < kStages; ++s) load_columns(p.w, c, n0, s % kOfTile, slot(s / kOfTile, s % kOfTile));
  const Tables tables = tables_of(p, c, tile);
  w_begin();
  int half = 0;
  begin(blockIdx.x * kRows, 0);
#pragma unroll 1
  for (int m = blockIdx.x; m < c.row_tiles; m += c.walkers) {
    if (m + c.walkers < c.row_tiles)
      begin((m + c.walkers) * kRows, 1 - half);
    else
      w_commit();
    w_wait<1>();
#pragma unroll
    for (int s = 0; s < kOfTile; ++s) make_factors(slot(half, s), warp.factor);
    __syncthreads();
    Sums acc;
    Statistics none;
    start(acc);
#pragma unroll
    for (int s = 0; s < kOfTile; ++s) multiply(warp, slot(half, s), acc, none, [] {});
    __syncthreads();
    store_own(p, c, tables, m * kRows, n0, warp, acc, early + half * kBlockVectors);
    half = 1 - half;
  }
  w_wait<0>();
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(tile, kSharedBytes);
  const int m0 = blockIdx.x * kRows, n0 = blockIdx.y * kColumns;
  const Matrices matrix = matrices(c, kCluster > 1 ? 0 : blockIdx.z);
  Warp warp = this_warp();
  if constexpr (kGated && sizeof(X) == 1)
    warp.factor = ((const float*)(p.w + (s64)c.columns * c.pitch))[2 * c.columns + kExtras];
  if constexpr (kWalk) {
    walk(p, c, n0, warp, tile);
    return;
  }
  Sums acc;
  Statistics rows_of{};
  if constexpr (kCluster > 1) begin_cluster(tile);
  Ahead* const early = (Ahead*)(tile + kStages * kStageBytes) + threadIdx.x;  // with kEarly: a thread's own
  sum_up(p, p.x + matrix.x, p.w + matrix.w, c, m0, n0, warp, tile, acc, rows_of,
         [&] { fetch_early(p, c, m0, n0, warp, early); });
  const Tables tables = tables_of(p, c, tile);
  if constexpr (kNormed) normalize(p, c, m0, warp, rows_of, tile);
  if constexpr (kDirect) {
    store_own(p, c, tables, m0, n0, warp, acc, early);
  } else if constexpr (kCluster > 1) {
    join(p, c, tables, m0, n0, warp, acc, tile);
  } else {
    by_parts(warp, acc, tile, [&](int part, const Part* sums) {
      if constexpr (kPlanes) return store_planes(p, c, tables, m0, n0, part, sums);
      store<kBatch>(
          p, c, tables, m0, n0, kVectors, [&](int v) { return place_among(part, v); },
          [&](int, const Place& place) { return gather(sums, place.local, place.column); });
    });
  }
}
