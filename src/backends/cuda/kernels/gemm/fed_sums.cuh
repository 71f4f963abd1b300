// What a thread of gemm/fed.cuh has of a tile: its rows and columns, their sums, and the scales of their blocks. Needs
// of the problem what gemm/fed.cuh says.
#pragma once

constexpr int kTeams = 2, kOwnRows = kInTurn ? kRows : kRows / kTeams, kSets = kOwnRows / 64;
constexpr int kChunks = kColumns / 32;  // of eight columns, that a thread has of a row

typedef float Sums[kSets][kColumns / 8][4];

// A thread's rows of a set, and whether they are there.
struct Own {
  int row[2], line[2];
  bool in[2];
};
W_FN Own own_of(const Constants& c, int first) {
  Own own;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    own.line[half] = threadIdx.x / 32 % 4 * 16 + half * 8 + threadIdx.x % 32 / 4;
    const int row = first + own.line[half];
    own.in[half] = row < c.rows;
    own.row[half] = own.in[half] ? row : 0;
  }
  return own;
}
W_FN int column_of(int n, int chunk) { return n + chunk * 32 + threadIdx.x % 4 * 8; }

// What a stage's sums are multiplied by, with kBlocks: a scale of each row, and of columns one (kOneScale) or each.
struct Scales {
  float rows[kBlocks ? kSets : 1][2], one;
  Pack<float, 8> columns[kBlocks && !kOneScale ? kChunks : 1];
};
W_FN void read_scales(const Operands& p, const Constants& c, int m, int n, int stage, Scales* to) {
  if constexpr (kBlocks) {
    if constexpr (kOneScale) to->one = column_scale(p, c, n, stage);
#pragma unroll
    for (int i = 0; i < kSets; ++i) {
      const Own own = own_of(c, m + i * 64);
#pragma unroll
      for (int half = 0; half < 2; ++half) to->rows[i][half] = row_scale(p, c, own.row[half], stage);
    }
#pragma unroll
    for (int chunk = 0; chunk < kChunks && !kOneScale; ++chunk) {
      const int column = column_of(n, chunk);
      to->columns[chunk] = column_scales(p, c, column < c.columns ? column : 0, stage);
    }
  }
}
W_FN void promote(const Sums& part, const Scales& by, Sums& acc) {
#pragma unroll
  for (int i = 0; i < kSets; ++i)
#pragma unroll
    for (int e = 0; e < kColumns / 8; ++e)
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        if constexpr (kBlocks) {
          const float row = by.rows[i][v / 2];
          acc[i][e][v] +=
              part[i][e][v] * (row * (kOneScale ? by.one : by.columns[kOneScale ? 0 : e / 4].v[e % 4 * 2 + v % 2]));
        } else {
          acc[i][e][v] += part[i][e][v];
        }
      }
}

// A stage takes less time than its scales take to come from memory: they are asked for so many stages ahead.
constexpr int kScalesAhead = !kBlocks ? 1 : kOneScale ? 4 : 2;
