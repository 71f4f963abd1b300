// From the sums of a block of gemm/tile.cuh to what is stored, by way of shared memory: where a sum is divided among
// warps or blocks, and where a thread's sums are no vector of the result. The problem: that of gemm/tile.cuh.
#pragma once
#include "backends/cuda/kernels/gemm/bars.cuh"
#include "backends/cuda/kernels/gemm/normalized_rows.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"
#include "backends/cuda/kernels/gemm/stage.cuh"

constexpr int kRowParts = kRows / kWarpsM / 16, kColumnParts = kColumns / kWarpsN / 8;  // of a warp, as mma has them
constexpr int kSumPitch = kColumns + 8;

// Sums of so many row parts are in shared memory at once; with kPlanes column after column, so far apart that a warp's
// stores meet no bank twice.
constexpr int kAllSums = kShares * (kPlanes ? kColumns * (kRows + 4) : kRows * kSumPitch);
constexpr int kPartsAtOnce = !kDirect && kAllSums * 4 <= kStages * kStageBytes ? kRowParts : 1;
constexpr int kRowsAtOnce = kWarpsM * 16 * kPartsAtOnce, kPlanePitch = kRowsAtOnce + 4;
constexpr int kBlockVectors = kRows * kColumns / kVector;
constexpr int kVectors = kBlockVectors / kRowParts * kPartsAtOnce;  // of the rows that are stored at once
constexpr int kOwnVectors = kBlockVectors / kCluster;               // that a block of a cluster stores
constexpr int kEarlyBytes = kEarly ? kBlockVectors * (int)sizeof(Ahead) * (kWalk ? 2 : 1) : 0;
constexpr int kNoteBytes =
    kNormed ? kShares * kWarpsN * kRows * 8 : 0;  // sums and squares of rows, of each warp's part
constexpr int kTileBytes = kRows * kColumns * 4;  // of sums
constexpr int kSharedBytes = kStages * kStageBytes + (kCluster > 1 ? kTileBytes + 16
                                                      : kNormed    ? kNoteBytes
                                                                   : kEarlyBytes);
// That a thread stores one after the other. Where it keeps many sums, two of eight elements are more than registers
// hold.
constexpr bool kManySums = kRowParts * kColumnParts >= 16;
constexpr int kBatch = kVectors % (2 * kThreads) == 0 && !(kManySums && kVector == 8) ? 2 : 1;

typedef Part Sums[kRowParts][kColumnParts][4];

// A thread's warp among those of the block: its share of the sum, its rows and its columns; a factor of gated bytes.
struct Warp {
  int share, m, n;
  float factor;
};

W_FN Warp this_warp() {
  const int warp = threadIdx.x / 32;
  return {warp / (kWarpsM * kWarpsN), warp % (kWarpsM * kWarpsN) / kWarpsN, warp % kWarpsN, 1};
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
      if constexpr (kPlanes) {
        const int column = warp.share * kColumns + warp.n * (kColumnParts * 8) + n * 8 + t % 4 * 2;
        Part* const at = sums + column * kPlanePitch + (row - warp.share * kRowsAtOnce);
        at[0] = acc[i][n][0], at[kPlanePitch] = acc[i][n][1];
        at[8] = acc[i][n][2], at[kPlanePitch + 8] = acc[i][n][3];
        continue;
      }
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

// The same with kPlanes, of a column.
W_FN Pack<Part, kVector> gather_pixels(const Part* sums, int row, int column) {
  constexpr int kRead = kVector < 4 ? kVector : 4;
  Pack<Part, kVector> sum;
#pragma unroll
  for (int k = 0; k < kShares; ++k)
#pragma unroll
    for (int v = 0; v < kVector; v += kRead) {
      const Pack<Part, kRead> more =
          *(const Pack<Part, kRead>*)(sums + (k * kColumns + column) * kPlanePitch + row + v);
#pragma unroll
      for (int i = 0; i < kRead; ++i) sum.v[v + i] = k == 0 ? more.v[i] : sum.v[v + i] + more.v[i];
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
  const Pack<float, 2>* notes;  // with kNormed: mean and inverse deviation of the tile's rows
  float factor;                 // likewise: of all products
};

W_FN Tables tables_of(const Operands& p, const Constants& c, const u8* tile) {
  Tables tables;
  tables.scales = (const float*)(p.w + (s64)c.columns * c.pitch);
  tables.notes = (const Pack<float, 2>*)(tile + kStages * kStageBytes);
  tables.factor = kNormed ? tables.scales[2 * c.columns] : 1;
#pragma unroll
  for (int i = 0; i < kExtras; ++i) tables.extras[i] = tables.scales[2 * c.columns + i];
  return tables;
}

// The sums' real values, from column n on of row `row` of the tile. With kNormed the tables are, for each column, the
// sum of w, which goes with the mean, and what the normalization's bias adds.
template <class T>
W_FN void real(const Constants& c, const Tables& tables, const Pack<T, kVector>& sum, int row, int n,
               float (&a)[kVector]) {
  if constexpr (kNormed) {
    const Pack<float, kVector> columns = *(const Pack<float, kVector>*)(tables.scales + n);
    const Pack<float, kVector> added = *(const Pack<float, kVector>*)(tables.scales + c.columns + n);
    normalize_sums(sum, columns, added, tables.notes[row], tables.factor, a);
  } else {
    rescale(c, sum, tables.scales, n, a);
  }
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

W_FN float w_less(int sum, int less) { return (float)(sum - less); }
W_FN float w_less(float sum, int) { return sum; }

// The real values of a plane's sums.
W_FN void rescale_plane(const Constants& c, const Pack<Part, kVector>& sum, const float* scales, int n,
                        float (&a)[kVector]) {
  if constexpr (!kScaled) return rescale(c, sum, scales, n, a);
  const float scale = scales[n];
  const int less = kCorrected ? ((const int*)scales)[c.columns + n] : 0;
#pragma unroll
  for (int v = 0; v < kVector; ++v) a[v] = w_times(w_less(sum.v[v], less), scale);
}

// With kPlanes: the vectors of the rows that are in shared memory from part `part` on, each of pixels of a plane.
W_FN void store_planes(const Operands& p, const Constants& c, const Tables& tables, int m0, int n0, int part,
                       const Part* sums) {
  constexpr int kOfWarp = 16 * kPartsAtOnce, kOfColumn = kRowsAtOnce / kVector;
#pragma unroll 1
  for (int j = threadIdx.x; j < kColumns * kOfColumn; j += kThreads) {
    const int local = j % kOfColumn * kVector, n = n0 + j / kOfColumn;
    const int row = m0 + local / kOfWarp * (kRowParts * 16) + part * 16 + local % kOfWarp;
    if (row >= c.rows || n >= c.columns) continue;
    const int image = row / c.pixels, pixel = row - image * c.pixels;
    const s64 plane = (s64)image * c.columns + n;
    float a[kVector];
    rescale_plane(c, gather_pixels(sums, local, n - n0), tables.scales, n, a);
    const At operands = at(c, plane);
    *(Pack<Y, kVector>*)(p.y + plane * c.pixels + pixel) =
        results(p, c, a, operands, pixel, tables.extras, ahead(p, c, operands, pixel));
  }
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
      real(c, tables, sum(j + k * kThreads, own), own.row, own_n, a);
      const At operands = at(c, whole);
      z[k] = results(p, c, a, operands, own_n, tables.extras, ahead(p, c, operands, own_n));
      to[k] = is_stored(c, row, n) ? result_at(p, c, whole, n) : nullptr;
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

// Of a block of a cluster: which tells that the sums of the vectors that it stores have come, from all blocks.
W_FN u64* bar_of_sums(u8* tile) { return (u64*)(tile + kStages * kStageBytes + kTileBytes); }

W_FN void begin_cluster(u8* tile) {
  if (threadIdx.x == 0) {
    w_bar_init(bar_of_sums(tile), 1);
    w_bars_are_there();
    w_bar_expect(bar_of_sums(tile), kTileBytes);
  }
  w_cluster_begin();
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
      w_send<kSharedBytes>(got + (rank * kOwnVectors + v % kOwnVectors) * kVector, bar_of_sums(tile), v / kOwnVectors,
                           gather(sums, place.local, place.column));
    }
  });
  w_bar_wait(bar_of_sums(tile), 0);
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
