// Normalized rows in front of a product of gemm/fed.cuh: while one team multiplies, the other finds what the tile's
// rows and their squares sum up to in the same stages, notes mean and deviation of each row, and stores the normalized
// rows where they are a result. A block has one tile. Needs of the problem what gemm/fed.cuh says.
#pragma once
#include "backends/cuda/kernels/gemm/fed_sums.cuh"
#include "backends/cuda/kernels/gemm/feed.cuh"
#include "backends/cuda/kernels/gemm/normalized_rows.cuh"

constexpr int kRowNoteBytes = kNormed ? kRows * 8 : 0, kNoteBytes = kRowNoteBytes + (kNormed ? kColumns * 8 : 0);
static_assert(!kNormed || kInTurn);

// Of a row, which so many neighbours among the team's threads share: the tensor cores, which would find sums too, have
// the other team's products to do.
constexpr int kRowThreads = kNormed ? kTeam / kRows : 1, kRowPieces = kLineBytes / 16 / kRowThreads;
static_assert(!kNormed || (kRows * kRowThreads == kTeam && kRowThreads <= 2));
struct RowSums {
  float sums[2], squares[2];
};

// A thread's pieces of its row in a stage. Those of neighbours meet no bank twice.
struct RowPart {
  Pack<X, 8> of[kRowPieces];
};
W_FN void read_row(const u8* rows, RowPart* to) {
  const int thread = threadIdx.x % kTeam, line = thread / kRowThreads, first = thread % kRowThreads * kRowPieces;
#pragma unroll
  for (int q = 0; q < kRowPieces; ++q) to->of[q] = *(const Pack<X, 8>*)(rows + w_piece_of(line, first + q));
}
W_FN void count_in(const RowPart& part, RowSums* to) {
#pragma unroll
  for (int q = 0; q < kRowPieces; ++q)
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float f = w_get(part.of[q].v[k]);
      if constexpr (kCentered) to->sums[k % 2] += f;
      to->squares[k % 2] += f * f;
    }
}
W_FN float add_row(const float (&parts)[2]) {
  const float sum = parts[0] + parts[1];
  if constexpr (kRowThreads == 2) return sum + __shfl_xor_sync(0xffffffffu, sum, 1);
  return sum;
}
// By all threads of the team.
template <class C>
W_FN void note_row(const C& c, const RowSums& of, Pack<float, 2>* notes) {
  const Pack<float, 2> own =
      mean_and_inverse(1.0f / (float)c.depth, kCentered ? add_row(of.sums) : 0, add_row(of.squares));
  if (threadIdx.x % kRowThreads == 0) notes[threadIdx.x % kTeam / kRowThreads] = own;
}

// What is behind the columns of w, of the tile's columns: the sum of each, then what the bias adds.
W_FN void note_columns(const float* tables, const Constants& c, int n, Pack<float, 4>* notes) {
  constexpr int kPacks = kColumns / 4;
#pragma unroll
  for (int first = 0; first < 2 * kPacks; first += kTeam) {
    const int i = first + threadIdx.x % kTeam, column = n + i % kPacks * 4;
    if (i < 2 * kPacks && column < c.columns)
      notes[i] = *(const Pack<float, 4>*)(tables + i / kPacks * c.columns + column);
  }
}
// By 16 bytes twice: eight floats as one pack are eight loads.
W_FN Pack<float, 8> noted(const float* notes, int column) {
  Pack<float, 8> v;
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    const Pack<float, 4> half = *(const Pack<float, 4>*)(notes + column + i);
#pragma unroll
    for (int k = 0; k < 4; ++k) v.v[i + k] = half.v[k];
  }
  return v;
}

// The tile's notes, in shared memory.
struct Notes {
  const Pack<float, 2>* rows;
  const float* columns;
  float factor;
};
W_FN void from_normalized(const Notes& notes, const Pack<float, 8>& sums, int line, int column, float (&a)[8]) {
  normalize_sums(sums, noted(notes.columns, column), noted(notes.columns + kColumns, column), notes.rows[line],
                 notes.factor, a);
}

// A thread's first vector of the rows that are kept.
W_FN int first_kept(int n) { return n / kColumns * kTeam + threadIdx.x % kTeam; }
template <class P, class C>
W_FN auto begin_keeping(const P& p, const C& c, int m, int n) {
  if constexpr (kKept)
    return read_kept(p, c, plain_x_of(p), m, kRows, first_kept(n));
  else
    return 0;
}
// By the team that has noted the rows.
template <class P, class C, class Own>
W_FN void keep_rows(const P& p, const C& c, const Pack<float, 2>* notes, int m, int n, const Own& own) {
  if constexpr (kKept) {
    w_meet<kTeam, kTeams + 1>(kTeams);
    keep(p, own, notes);
    const int step = (c.columns + kColumns - 1) / kColumns * kTeam, end = kRows * (c.depth / kVector);
#pragma unroll 1
    for (int v = first_kept(n) + step; v < end; v += step) keep(p, read_kept(p, c, plain_x_of(p), m, kRows, v), notes);
  }
}
