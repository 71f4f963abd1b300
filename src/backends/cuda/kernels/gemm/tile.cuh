// Products and convolutions on tensor cores: tiles in shared memory, filled by asynchronous copies some stages ahead.
// A warp reads them as matrices of eight rows, so that a thread has the registers of a product one after the other: put
// together from words, each product would take four copies of registers. Columns of a constant
// w are on their way before the kernel ahead of this one has ended. The problem: X, W, Y; Part: of sums, int or float;
// kThreads; kRows, kColumns: of a block's results, computed by kWarpsM x kWarpsN warps and kShares times as many that
// divide the sum; kCluster: blocks that divide it, neighbours along z; kStages; kLine: bytes of a row in a stage;
// kVector: neighbours that a thread stores; kDirect: these are its sums, which then go from registers to the result;
// kEarly: what fetch() brings comes with the first stage;
// kWalk: kStages are all of the sum, twice, and a block takes every c.walkers-th of c.row_tiles tiles of rows; kWindow:
// x is an image and the sum goes over the taps of a window, outside of which x is kOutside; kBySixteen: 16 bytes are of
// one tap; kShort: no sum has more than 22 bits; kPacked: w is a constant; kScaled: w is followed by a scale and a
// correction for each column (kCorrected: not all zeros) and by kExtras floats; otherwise kScale; kAllRows,
// kAllColumns, kAllDepth: blocks, and stages, have nothing outside of the result, and of the sum; Constants {rows,
// columns; depth: of the sum; pitch: of w; stages: of the sum, of a block; channels; image, in_h, in_w, out_h, out_w,
// stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left, taps_w: of the window; per_channel, per_tap: inverses,
// as w_over() has them, of channels and taps_w};
//   Matrices matrices(c, i)   offsets of x and w in matrix i of the batch
//   At at(c, row)             offsets of further operands at a row of the result
//   Ahead ahead(p, c, at, n), fetch(p, c, at, n, to)   bytes that results() reads there: now, or on their way
//   Pack<Y, kVector> results(p, c, a, at, n, extras, ahead)   what is stored for the sums a, from column n on
#pragma once
#include "backends/cuda/kernels/gemm/rescale.cuh"
#include "backends/cuda/kernels/gemm/stage.cuh"

constexpr int kRowParts = kRows / kWarpsM / 16, kColumnParts = kColumns / kWarpsN / 8;  // of a warp, as mma has them
constexpr int kSumPitch = kColumns + 8;

// Sums of so many row parts are in shared memory at once.
constexpr int kPartsAtOnce = !kDirect && kShares * kRows * kSumPitch * 4 <= kStages * kStageBytes ? kRowParts : 1;
constexpr int kBlockVectors = kRows * kColumns / kVector;
constexpr int kVectors = kBlockVectors / kRowParts * kPartsAtOnce;  // of the rows that are stored at once
constexpr int kOwnVectors = kBlockVectors / kCluster;               // that a block of a cluster stores
constexpr int kEarlyBytes = kEarly ? kBlockVectors * (int)sizeof(Ahead) * (kWalk ? 2 : 1) : 0;
constexpr int kSharedBytes = kStages * kStageBytes + (kCluster > 1 ? kRows * kColumns * 4 : kEarlyBytes);
// That a thread stores one after the other. Where it keeps many sums, two of eight elements are more than registers
// hold.
constexpr bool kManySums = kRowParts * kColumnParts >= 16;
constexpr int kBatch = kVectors % (2 * kThreads) == 0 && !(kManySums && kVector == 8) ? 2 : 1;

typedef Part Sums[kRowParts][kColumnParts][4];

// A thread's warp among those of the block: its share of the sum, its rows and its columns.
struct Warp {
  int share, m, n;
};

W_FN Warp this_warp() {
  const int warp = threadIdx.x / 32;
  return {warp / (kWarpsM * kWarpsN), warp % (kWarpsM * kWarpsN) / kWarpsN, warp % kWarpsN};
}

// One stage's part of the sums. `between` is done while the stage is read from shared memory.
template <class Between>
W_FN void multiply(const Warp& warp, const u8* stage, Sums& acc, const Between& between) {
  constexpr int kReadFirst = kManySums ? 0 : kRowParts;  // as many as registers hold
  const u8* const rows = stage + warp.m * (kRowParts * 16 * kLine);
  const u8* const columns = stage + (kRows + warp.n * (kColumnParts * 8)) * kLine;
#pragma unroll
  for (int part = 0; part < kLine / 64; ++part) {
    Pack<u32, 4> b[kColumnParts], a[kRowParts][2];
    const auto read = [&](int i) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        w_matrices(&a[i][half], rows, i * (16 * kLine),
                   [&](int lane) { return piece_at(lane % 16, part * 4 + half * 2 + lane / 16); });
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
#pragma unroll
      for (int n = 0; n < kColumnParts; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Pack<u32, 4>& own = a[i][half];
          w_mma<X>(acc[i][n], own.v[0], own.v[1], own.v[2], own.v[3], b[n].v[half * 2], b[n].v[half * 2 + 1]);
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
W_FN void sum_up(const X* x, const W* w, const Constants& c, int m0, int n0, const Warp& warp, u8* tile, Sums& acc,
                 const Begun& begun) {
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
    w_begin();
  }
  start(acc);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < c.stages) load_rows(x, c, rows, first + s, slot(s));
    if (s == 0) begun();
    w_commit();
  }
  int now = 0, next = kStages - 1;
#pragma unroll 1
  for (int it = 0; it < c.stages; ++it) {
    w_wait<kStages - 2>();
    w_meet<kOfShare, kShares>(warp.share);
    multiply(warp, slot(now), acc, [&] {
      if (it + kStages - 1 < c.stages) {
        load_rows(x, c, rows, first + it + kStages - 1, slot(next));
        load_columns(w, c, n0, first + it + kStages - 1, slot(next));
      }
      w_commit();
    });
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  w_wait<0>();
}

// Where a column is in a row of sums: eight threads that read 16 bytes each of eight vectors meet no bank twice.
W_FN int place_of(int column) { return kVector == 8 ? column ^ (column >> 3 & 4) : column; }

// Row parts of each warp to shared memory, where the shares of the sum meet: those from `part` on, which is not known
// to the compiler where they are not all, so that its code stands once.
W_FN void spread(const Warp& warp, const Sums& acc, int part, Part* sums) {
  const int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < kRowParts; ++i) {
    if (kPartsAtOnce == 1 && i != part) continue;
    const int row = ((warp.share * kWarpsM + warp.m) * kPartsAtOnce + i % kPartsAtOnce) * 16 + t % 32 / 4;
#pragma unroll
    for (int n = 0; n < kColumnParts; ++n) {
      Part* const at = sums + row * kSumPitch + place_of(warp.n * (kColumnParts * 8) + n * 8 + t % 4 * 2);
      *(Pack<Part, 2>*)at = {acc[i][n][0], acc[i][n][1]};
      *(Pack<Part, 2>*)(at + 8 * kSumPitch) = {acc[i][n][2], acc[i][n][3]};
    }
  }
}

// kVector neighbours of a row, the shares added.
W_FN Pack<Part, kVector> gather(const Part* sums, int row, int column) {
  constexpr int kRead = kVector < 4 ? kVector : 4;
  Pack<Part, kVector> sum;
#pragma unroll
  for (int k = 0; k < kShares; ++k) {
#pragma unroll
    for (int v = 0; v < kVector; v += kRead) {
      const Pack<Part, kRead> more =
          *(const Pack<Part, kRead>*)(sums + (k * (kWarpsM * 16 * kPartsAtOnce) + row) * kSumPitch +
                                      place_of(column + v));
#pragma unroll
      for (int i = 0; i < kRead; ++i) sum.v[v + i] = k == 0 ? more.v[i] : sum.v[v + i] + more.v[i];
    }
  }
  return sum;
}

// Of elements of more than a byte the test stays where it always holds: the compiler makes several stores of a vector
// that is stored without one.
W_FN bool is_stored(const Constants& c, int row, int column) {
  return sizeof(Y) == 1 ? is_row(c, row) && is_column(c, column) : row < c.rows && column < c.columns;
}

// What is behind the columns of w.
struct Tables {
  const float* scales;
  float extras[kExtras + 1];
};

W_FN Tables tables_of(const Operands& p, const Constants& c) {
  Tables tables;
  tables.scales = (const float*)(p.w + (s64)c.columns * c.pitch);
#pragma unroll
  for (int i = 0; i < kExtras; ++i) tables.extras[i] = tables.scales[2 * c.columns + i];
  return tables;
}

// Of a vector: its row among those in shared memory and in the tile, and its column.
struct Place {
  int local, row, column;
};

// Vector v of the rows that are in shared memory from part `part` on.
W_FN Place place_among(int part, int v) {
  constexpr int kOfWarp = 16 * kPartsAtOnce;
  const int local = v / (kColumns / kVector);
  return {local, local / kOfWarp * (kRowParts * 16) + part * 16 + local % kOfWarp, v % (kColumns / kVector) * kVector};
}

// Stores `count` vectors of the block's, kAtOnceVectors by each thread at once: place(v) and sum(v, place) are vector
// v. What a thread reads for its vectors is under way before it stores the first: vectors outside of the result read
// what the last one inside does.
template <int kAtOnceVectors, class PlaceOf, class SumOf>
W_FN void store(const Operands& p, const Constants& c, const Tables& tables, int m0, int n0, int count,
                const PlaceOf& place, const SumOf& sum) {
#pragma unroll 1
  for (int j = threadIdx.x; j < count; j += kThreads * kAtOnceVectors) {
    Pack<Y, kVector> z[kAtOnceVectors];
    Y* to[kAtOnceVectors];
#pragma unroll
    for (int k = 0; k < kAtOnceVectors; ++k) {
      const Place own = place(j + k * kThreads);
      const int n = n0 + own.column, row = m0 + own.row;
      const int own_row = is_row(c, row) ? row : c.rows - 1, own_n = is_column(c, n) ? n : c.columns - kVector;
      const s64 whole = (s64)(kCluster > 1 ? 0 : blockIdx.z) * c.rows + own_row;
      float a[kVector];
      rescale(c, sum(j + k * kThreads, own), tables.scales, own_n, a);
      const At operands = at(c, whole);
      z[k] = results(p, c, a, operands, own_n, tables.extras, ahead(p, c, operands, own_n));
      to[k] = is_stored(c, row, n) ? p.y + whole * c.columns + n : nullptr;
    }
#pragma unroll
    for (int k = 0; k < kAtOnceVectors; ++k)
      if (to[k] != nullptr) *(Pack<Y, kVector>*)to[k] = z[k];
  }
}

// Row parts of the block's sums, one behind the other: body(part, sums) finds them in shared memory.
template <class Body>
W_FN void by_parts(const Warp& warp, const Sums& acc, u8* tile, const Body& body) {
  Part* const sums = (Part*)tile;
#pragma unroll 1
  for (int part = 0; part < kRowParts; part += kPartsAtOnce) {
    __syncthreads();
    spread(warp, acc, part, sums);
    __syncthreads();
    body(part, sums);
  }
}

// The sums of a cluster's blocks: each block gets, from all, those of the vectors that it stores, and adds them in the
// order of the blocks.
W_FN void join(const Operands& p, const Constants& c, const Tables& tables, int m0, int n0, const Warp& warp,
               const Sums& acc, u8* tile) {
  Part* const got = (Part*)(tile + kStages * kStageBytes);  // where nothing else is
  const int rank = blockIdx.z;
  w_cluster_wait();  // until all blocks are there
  by_parts(warp, acc, tile, [&](int part, const Part* sums) {
#pragma unroll 1
    for (int j = threadIdx.x; j < kVectors; j += kThreads) {
      const Place place = place_among(part, j);
      const int v = place.row * (kColumns / kVector) + place.column / kVector;
      w_push<kSharedBytes>(got + (rank * kOwnVectors + v % kOwnVectors) * kVector, v / kOwnVectors,
                           gather(sums, place.local, place.column));
    }
  });
  w_cluster_arrive();
  w_cluster_wait();
  const auto place = [&](int v) {
    const int whole = rank * kOwnVectors + v;
    return Place{0, whole / (kColumns / kVector), whole % (kColumns / kVector) * kVector};
  };
  store<1>(p, c, tables, m0, n0, kOwnVectors, place, [&](int v, const Place&) {
    Pack<Part, kVector> sum = *(const Pack<Part, kVector>*)(got + v * kVector);
#pragma unroll
    for (int k = 1; k < kCluster; ++k) {
      const Pack<Part, kVector> more = *(const Pack<Part, kVector>*)(got + (k * kOwnVectors + v) * kVector);
#pragma unroll
      for (int i = 0; i < kVector; ++i) sum.v[i] += more.v[i];
    }
    return sum;
  });
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
    rescale(c, sums, tables.scales, own.n, a);
    const At operands = at(c, own.row);
    const Pack<Y, kVector> z = results(p, c, a, operands, own.n, tables.extras,
                                       kEarly ? early[(i * kAcross + m) * kThreads] : ahead(p, c, operands, own.n));
    if (is_stored(c, row, n)) *(Pack<Y, kVector>*)(p.y + own.row * c.columns + n) = z;
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
    for (int s = 0; s < kOfTile; ++s) load_rows(p.x, c, rows, s, slot(half, s));
    fetch_early(p, c, m0, n0, warp, early + half * kBlockVectors);
    w_commit();
  };
#pragma unroll
  for (int s = 0; s < kStages; ++s) load_columns(p.w, c, n0, s % kOfTile, slot(s / kOfTile, s % kOfTile));
  const Tables tables = tables_of(p, c);
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
    __syncthreads();
    Sums acc;
    start(acc);
#pragma unroll
    for (int s = 0; s < kOfTile; ++s) multiply(warp, slot(half, s), acc, [] {});
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
  const Warp warp = this_warp();
  if constexpr (kWalk) {
    walk(p, c, n0, warp, tile);
    return;
  }
  Sums acc;
  if constexpr (kCluster > 1) w_cluster_arrive();
  Ahead* const early = (Ahead*)(tile + kStages * kStageBytes) + threadIdx.x;  // with kEarly: a thread's own
  sum_up(p.x + matrix.x, p.w + matrix.w, c, m0, n0, warp, tile, acc, [&] { fetch_early(p, c, m0, n0, warp, early); });
  const Tables tables = tables_of(p, c);
  if constexpr (kDirect) {
    store_own(p, c, tables, m0, n0, warp, acc, early);
  } else if constexpr (kCluster > 1) {
    join(p, c, tables, m0, n0, warp, acc, tile);
  } else {
    by_parts(warp, acc, tile, [&](int part, const Part* sums) {
      store<kBatch>(
          p, c, tables, m0, n0, kVectors, [&](int v) { return place_among(part, v); },
          [&](int, const Place& place) { return gather(sums, place.local, place.column); });
    });
  }
}
