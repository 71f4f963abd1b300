// Products and convolutions of many rows as in gemm/fed.cuh, of constants that have two elements in each four places of
// a sum: these alone are in memory, and multiplied (gemm/sparse_mma.cuh). Their columns are the first side's lines, so
// that a thread has sums of four columns, and of rows side by side: two threads exchange halves, and store eight
// columns of a row each. Both teams have 128 columns of a tile's, or with kInTurn a tile each. The problem: X; Y;
// kRows, kColumns: of a tile; kStages; kInTurn; TensorMap x, w, choices: of kRows windows; of kColumns columns, which
// lie so that the thread's four are neighbours; of where their elements stand; w_sparse_mma(); Constants {rows,
// columns; those of gemm/fed_windows.cuh; stages: of a sum, 128 places each; teams: of 128 columns; tiles, blocks};
// at(), ahead() and results() as of gemm/tile.cuh, with kVector of 8. The result has less than 2^31 elements.
#pragma once
#include "backends/cuda/kernels/gemm/fed_windows.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"
#include "backends/cuda/kernels/gemm/sparse_mma.cuh"

constexpr int kTeams = 2, kOwnColumns = 128, kEights = kRows / 8;
constexpr int kValueBytes = kColumns * kLineBytes, kPieceBytes = kRows * kLineBytes;
constexpr int kChoicesAt = kValueBytes + 2 * kPieceBytes, kStageBytes = kChoicesAt + kColumns / 8 * kLineBytes;
constexpr int kAligned = 1024, kBars = 2 * kStages + kTeams;
constexpr int kSharedBytes = kAligned + kStages * kStageBytes + kBars * 8;
static_assert(kColumns == (kInTurn ? kOwnColumns : kTeams * kOwnColumns));

struct Ring {
  u8* stages;
  u64 *full, *empty, *turn;
};
typedef RingSpot<kStages> Spot;

W_FN void feed_columns(const Operands& p, const Constants& c, const Ring& ring, int stage, int k, int n) {
  u8* const to = ring.stages + stage * kStageBytes;
  w_bar_expect(ring.full + stage, kStageBytes);
  w_fetch_lines(to, p.w, ring.full + stage, k * kPlaces, n);
  w_fetch_lines(to + kChoicesAt, p.choices, ring.full + stage, 0, (k * c.teams + n / kOwnColumns) * kChoiceLines);
}

// By one thread. Weights are constant: they come before what the kernel ahead makes is there.
W_FN void feed(const Operands& p, const Constants& c, const Ring& ring) {
  const int early = c.stages < kStages ? c.stages : kStages;
  for (int k = 0; k < early; ++k) feed_columns(p, c, ring, k, k, tile_at(c, blockIdx.x).n);
  w_begin();
  Spot spot{0, 1};
  bool is_first = true;
#pragma unroll 1
  for (int tile = blockIdx.x; tile < c.tiles; tile += c.blocks, is_first = false) {
    const TileAt at = tile_at(c, tile);
    Walk walk{0, 0, 0};
#pragma unroll 1
    for (int k = 0; k < c.stages; ++k, spot.pass(1)) {
      if (!is_first || k >= early) {
        w_bar_wait(ring.empty + spot.stage, spot.parity);
        feed_columns(p, c, ring, spot.stage, k, at.n);
      }
      u8* const to = ring.stages + spot.stage * kStageBytes + kValueBytes;
#pragma unroll
      for (int piece = 0; piece < 2; ++piece, walk.next(c))
        fetch_windows(to + piece * kPieceBytes, p.x, ring.full + spot.stage, c, at.window, walk);
    }
  }
}

W_FN void release(const Ring& ring, int stage) {
  if (kOneForTeam > 1 || threadIdx.x % kTeam == 0) w_bar_arrive(ring.empty + stage);
}

typedef float Sums[2][kEights][4];

// The products of a team's columns.
struct Products {
  const Constants& c;
  const Ring& ring;
  int team, rows, columns;  // that are there
  int before = -1;

  // A stage's; `own`: registers that products on their way do not read.
  W_M void add(int k, Choices& own, Spot* spot, Sums& acc) {
    w_bar_wait(ring.full + spot->stage, spot->parity);
    const u8* const values = ring.stages + spot->stage * kStageBytes;
    const int half = kInTurn ? 0 : team;
    own = w_choices(values + kChoicesAt + half * kChoiceLines * kLineBytes);
    w_sparse_products<kPieceBytes>(values + half * kOwnColumns * kLineBytes, values + kValueBytes, own, columns, rows,
                                   k > 0, acc);
    if (before >= 0) {
      w_wide_left<1>();
      release(ring, before);
    }
    before = spot->stage;
    spot->pass(1);
  }
};

W_FN void multiply(const Constants& c, const Ring& ring, int team, int m, int n, Spot* spot, Sums& acc) {
  Products products{c, ring, team, c.rows - m, c.columns - n};
  Choices even, odd;
#pragma unroll 1
  for (int k = 0; k < c.stages; k += 2) {
    products.add(k, even, spot, acc);
    if (k + 1 == c.stages) break;
    products.add(k + 1, odd, spot, acc);
  }
  if constexpr (kInTurn) w_bar_arrive(ring.turn + (1 - team));
  w_settle_sums(acc);
  w_wide_left<0>();
  w_settle_sums(acc);
  release(ring, products.before);
}

// Of each eight rows, the one that a thread stores, and where its eight columns begin.
W_FN int row_of(int m, int eight) { return m + eight * 8 + threadIdx.x % 4 * 2 + threadIdx.x / 4 % 2; }
W_FN int column_of(int n) { return n + threadIdx.x / 32 % 4 * 32 + threadIdx.x % 32 / 8 * 8; }

typedef Ahead Early[kEights];

W_FN void read_ahead(const Operands& p, const Constants& c, int m, int n, Early& early) {
  const int column = column_of(n) < c.columns ? column_of(n) : 0;
#pragma unroll
  for (int i = 0; i < kEights; ++i) early[i] = ahead(p, c, at(c, row_of(m, i) < c.rows ? row_of(m, i) : 0), column);
}

// Eight columns of a thread's row: four are its own, four its neighbour's, which gets as many of the next row.
W_FN Pack<float, 8> exchanged(const Sums& acc, int eight) {
  const bool second = threadIdx.x / 4 % 2 != 0;
  Pack<float, 8> sums;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float low = acc[i / 2][eight][i % 2 * 2], high = acc[i / 2][eight][i % 2 * 2 + 1];
    const float own = second ? high : low, other = __shfl_xor_sync(0xffffffffu, second ? low : high, 4);
    sums.v[i] = second ? other : own;
    sums.v[4 + i] = second ? own : other;
  }
  return sums;
}

W_FN void store(const Operands& p, const Constants& c, int m, int n, const Sums& acc, const Early& early) {
  const bool is_column = column_of(n) < c.columns;
  const int column = is_column ? column_of(n) : 0;
#pragma unroll
  for (int i = 0; i < kEights; ++i) {
    const bool is_row = row_of(m, i) < c.rows;
    const int row = is_row ? row_of(m, i) : 0;
    float a[8];
    rescale(c, exchanged(acc, i), nullptr, column, a);
    const Pack<Y, 8> z = results(p, c, a, at(c, row), column, nullptr, early[i]);
    if (is_row && is_column) *(Pack<Y, 8>*)(p.y + (row * c.columns + column)) = z;
  }
}

W_FN void take_tiles(const Operands& p, const Constants& c, const Ring& ring, int team) {
  w_begin();
  Spot spot{0, 0};
  u32 turn = 0;
  bool is_first = true;
  int mine = 0;
#pragma unroll 1
  for (int tile = blockIdx.x; tile < c.tiles; tile += c.blocks, is_first = false, mine ^= 1) {
    if (kInTurn && mine != team) {
      spot.pass(c.stages);
      continue;
    }
    const TileAt at = tile_at(c, tile);
    const int n = at.n + (kInTurn ? 0 : team * kOwnColumns);
    Early early;
    read_ahead(p, c, at.m, n, early);
    if (kInTurn && !is_first) {
      w_bar_wait(ring.turn + team, turn);
      turn ^= 1;
    }
    Sums acc;
    multiply(c, ring, team, at.m, n, &spot, acc);
    store(p, c, at.m, n, acc, early);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u8* const stages = memory + (-(u64)memory & (kAligned - 1));
  u64* const bars = (u64*)(stages + kStages * kStageBytes);
  const Ring ring = {stages, bars, bars + kStages, bars + 2 * kStages};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      w_bar_init(ring.full + i, 1);
      w_bar_init(ring.empty + i, kOneForTeam * (kInTurn ? 1 : kTeams));
    }
    for (int i = 0; i < kTeams; ++i) w_bar_init(ring.turn + i, kTeam);
    w_bars_are_there();
    w_want(p.x);
    w_want(p.w);
    w_want(p.choices);
  }
  __syncthreads();
  if (threadIdx.x < kTeam) {
    w_less_registers<40>();
    if (threadIdx.x == 0) feed(p, c, ring);
  } else {
    w_more_registers<232>();
    take_tiles(p, c, ring, threadIdx.x / kTeam - 1);
  }
}
