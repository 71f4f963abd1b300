// Products and convolutions of many rows on a Hopper GPU's tensor cores in 16 bits: one thread feeds a ring of stages
// in shared memory by the unit for tensors, rows of x as the taps of a window cover them and columns of w; two teams of
// four warps multiply. A block takes one tile after the other: both teams half of its rows, or with kInTurn each every
// other tile, so that one stores while the other multiplies. With kCluster of more than 1 a block has one tile, for one
// team, and the blocks of a cluster divide its sum: each gets, from all, what they have of the vectors that it stores,
// and adds it in the order of the blocks. The problem: X; Y; kRows, kColumns: of a tile; kStages; kInTurn; kCluster;
// kTwo: a sum goes on over the channels of single pixels of another image; W: of columns; kPromoted: what
// tensor cores sum up of a stage is added to sums in registers, as they keep no more than about 14 bits of products of
// 8 bits; kBlocks: and multiplied by row_scale(p, c, row, stage) and column_scale(p, c, n, stage), with kOneScale, or
// column_scales(p, c, n, stage); TensorMap x, w: of kRows windows and of kColumns columns, which lie so, 32 at a time,
// that a thread's sums are eight neighbours; other_x_of(p), other_w_of(p): the same of the other image; w_wide_mma();
// scales_of(p, c): of columns, with kScaled; kNormed: rows of x are normalized, as of gemm/tile.cuh, whose tables are
// at scales_of(p, c), and with kKept plain_x_of(p) are the rows; Constants {rows, columns; out_w, out_h; stride_w,
// stride_h, pad_left, pad_top, dilation_w, dilation_h, taps_w; lines: stages of a tap; first: stages of x; other_w,
// other_h: steps in the other image; stages: of a sum; each: of a block; tiles_m, tiles, blocks}; at(), ahead() and
// results() as of gemm/tile.cuh, with kVector of 8. The result has less than 2^31 elements.
#pragma once
#include "backends/cuda/kernels/gemm/fed_norm.cuh"
#include "backends/cuda/kernels/gemm/fed_sums.cuh"
#include "backends/cuda/kernels/gemm/fed_windows.cuh"
#include "backends/cuda/kernels/gemm/rescale.cuh"

constexpr int kRowBytes = kRows * kLineBytes, kStageBytes = kRowBytes + kColumns * kLineBytes;
constexpr int kVectors = kSets * 2 * kChunks, kOwn = kVectors / kCluster;  // of a thread; that its block stores of it
constexpr int kShareBytes = kCluster > 1 ? kOwn * 32 * kTeam : 0;          // that come from a block
constexpr int kAligned = 1024, kBars = 2 * kStages + kTeams + (kCluster > 1);
constexpr int kAllBytes = kAligned + kStages * kStageBytes + kCluster * kShareBytes + kBars * 8 + kNoteBytes;
// Parts are at the same place in all blocks of the emulator as well.
constexpr int kSharedBytes = kCluster > 1 ? (kAllBytes + kAligned - 1) / kAligned* kAligned : kAllBytes;
static_assert(kVectors % kCluster == 0 && (kInTurn || kCluster == 1) && !(kNormed && (kCluster > 1 || kPromoted)));
// Arrivals when a stage is done with: of a team's products one thread knows; what the other team has read is a warp's.
constexpr int kReaders = !kNormed ? 0 : kOneForTeam > 1 ? kTeam : kTeam / 32;

struct Ring {
  u8* stages;
  u64 *full, *empty, *turn;
  Pack<float, 4>* shares;
  u64* come;  // tells that those of the other blocks are there
  u8* notes;
};
typedef RingSpot<kStages> Spot;

// Stages of a sum that a block multiplies.
struct Range {
  int from, count;
};
W_FN Range part_of(const Constants& c) {
  if constexpr (kCluster == 1) return {0, c.stages};
  const int from = (int)blockIdx.z * c.each;
  return {from, c.stages - from < c.each ? c.stages - from : c.each};
}

W_FN Walk walk_from(const Constants& c, int k) {
  if constexpr (kCluster == 1) return {0, 0, 0};
  const int tap = k / c.lines;
  return {k % c.lines, tap % c.taps_w, tap / c.taps_w};
}

W_FN void feed_columns(const Operands& p, const Constants& c, const Ring& ring, int stage, int k, int n) {
  u8* const to = ring.stages + stage * kStageBytes + kRowBytes;
  w_bar_expect(ring.full + stage, kStageBytes);
  if (kTwo && k >= c.first)
    w_fetch_lines(to, other_w_of(p), ring.full + stage, (k - c.first) * kPlaces, n);
  else
    w_fetch_lines(to, p.w, ring.full + stage, k * kPlaces, n);
}

W_FN void feed_rows(const Operands& p, const Constants& c, const Ring& ring, int stage, int k, const TileAt& at,
                    const Walk& walk) {
  u8* const to = ring.stages + stage * kStageBytes;
  const Corner& w = at.window;
  if (kTwo && k >= c.first) {
    const Corner other = {w.x * c.other_w, w.y * c.other_h, w.image};
    w_fetch_pixels(to, other_x_of(p), ring.full + stage, (k - c.first) * kPlaces, other, 0, 0);
    return;
  }
  fetch_windows(to, p.x, ring.full + stage, c, w, walk);
}

// By one thread. Weights are constant: they come before what the kernel ahead makes is there.
W_FN void feed(const Operands& p, const Constants& c, const Ring& ring) {
  const Range part = part_of(c);
  const int early = part.count < kStages ? part.count : kStages;
  for (int k = 0; k < early; ++k) feed_columns(p, c, ring, k, part.from + k, tile_at(c, blockIdx.x).n);
  w_begin();
  Spot spot{0, 1};
  bool is_first = true;
#pragma unroll 1
  for (int tile = blockIdx.x; tile < c.tiles; tile += c.blocks, is_first = false) {
    const TileAt at = tile_at(c, tile);
    Walk walk = walk_from(c, part.from);
#pragma unroll 1
    for (int k = 0; k < part.count; ++k, walk.next(c), spot.pass(1)) {
      if (!is_first || k >= early) {
        w_bar_wait(ring.empty + spot.stage, spot.parity);
        feed_columns(p, c, ring, spot.stage, part.from + k, at.n);
      }
      feed_rows(p, c, ring, spot.stage, part.from + k, at, walk);
    }
  }
}

// By one of so many threads.
W_FN void release(const Ring& ring, int stage, int threads = kTeam) {
  if (kOneForTeam > 1 || threadIdx.x % threads == 0) w_bar_arrive(ring.empty + stage);
}

// Sums of each stage on tensor cores, and of all stages in registers.
W_FN void multiply_promoted(const Operands& p, const Constants& c, const Ring& ring, int team, int m, int n, Spot* spot,
                            Sums& acc) {
  const Range range = part_of(c);
  const int count = range.count;
#pragma unroll
  for (int i = 0; i < kSets; ++i)
#pragma unroll
    for (int e = 0; e < kColumns / 8; ++e) acc[i][e][0] = acc[i][e][1] = acc[i][e][2] = acc[i][e][3] = 0;
  Scales by[kScalesAhead];
  const auto read = [&](int k, Scales* to) { read_scales(p, c, m, n, range.from + (k < count ? k : count - 1), to); };
#pragma unroll
  for (int a = 0; a < kScalesAhead; ++a) read(a, &by[a]);
#pragma unroll 1
  for (int first = 0; first < count; first += kScalesAhead) {
#pragma unroll
    for (int a = 0; a < kScalesAhead; ++a) {
      const int k = first + a;
      if (k >= count) break;
      Sums part;
      w_bar_wait(ring.full + spot->stage, spot->parity);
      const u8* const rows = ring.stages + spot->stage * kStageBytes;
      w_wide_products<W>(rows + (kInTurn ? 0 : team * kOwnRows * kLineBytes), rows + kRowBytes, c.rows - m,
                         c.columns - n, 0, part);
      w_settle_sums(part);
      w_wide_left<0>();
      w_settle_sums(part);
      release(ring, spot->stage);
      promote(part, by[a], acc);
      read(k + kScalesAhead, &by[a]);
      spot->pass(1);
    }
  }
  if constexpr (kInTurn && !kNormed) w_bar_arrive(ring.turn + (1 - team));
}

W_FN void multiply(const Operands& p, const Constants& c, const Ring& ring, int team, int m, int n, Spot* spot,
                   Sums& acc) {
  if constexpr (kPromoted) return multiply_promoted(p, c, ring, team, m, n, spot, acc);
  const int count = part_of(c).count;
  int before = -1;
#pragma unroll 1
  for (int k = 0; k < count; ++k, spot->pass(1)) {
    w_bar_wait(ring.full + spot->stage, spot->parity);
    const u8* const rows = ring.stages + spot->stage * kStageBytes;
    w_wide_products<W>(rows + (kInTurn ? 0 : team * kOwnRows * kLineBytes), rows + kRowBytes, c.rows - m, c.columns - n,
                       k > 0, acc);
    if (before >= 0) {
      w_wide_left<1>();
      release(ring, before);
    }
    before = spot->stage;
  }
  if constexpr (kInTurn && !kNormed) w_bar_arrive(ring.turn + (1 - team));
  w_settle_sums(acc);
  w_wide_left<0>();
  w_settle_sums(acc);
  release(ring, before);
}

typedef Ahead Early[kSets][2][kChunks];

W_FN void read_ahead(const Operands& p, const Constants& c, int m, int n, Early& early) {
#pragma unroll
  for (int i = 0; i < kSets; ++i) {
    const Own own = own_of(c, m + i * 64);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const At row = at(c, own.row[half]);
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int column = column_of(n, chunk);
        early[i][half][chunk] = ahead(p, c, row, column < c.columns ? column : 0);
      }
    }
  }
}

W_FN void store(const Operands& p, const Constants& c, int m, int n, const Sums& acc, const Early& early,
                const Notes& notes) {
#pragma unroll
  for (int i = 0; i < kSets; ++i) {
    const Own own = own_of(c, m + i * 64);
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      // No branch around what is read: the compiler asks for all of it ahead of the first store.
      const int own_column = column_of(n, chunk);
      const bool is_there = own_column < c.columns;
      const int column = is_there ? own_column : 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Pack<float, 8> sums;
#pragma unroll
        for (int v = 0; v < 8; ++v) sums.v[v] = acc[i][chunk * 4 + v / 2][half * 2 + v % 2];
        float a[8];
        if constexpr (kNormed)
          from_normalized(notes, sums, i * 64 + own.line[half], own_column - n, a);
        else
          rescale(c, sums, scales_of(p, c), column, a);
        const Stored z = results(p, c, a, at(c, own.row[half]), column, nullptr, early[i][half][chunk]);
        if (is_there && own.in[half]) *(Stored*)(p.y + (own.row[half] * c.columns + column)) = z;
      }
    }
  }
}

// A vector of a thread's: its row and column, or, where there are none, others.
struct Place {
  int row, column;
  bool in;
};
W_FN Place place_of(const Constants& c, int m, int n, int vector) {
  const int set = vector / (2 * kChunks), half = vector / kChunks % 2;
  const int row = m + set * 64 + threadIdx.x / 32 % 4 * 16 + half * 8 + threadIdx.x % 32 / 4;
  const int column = column_of(n, vector % kChunks);
  const bool is_row = row < c.rows, is_column = column < c.columns;
  return {is_row ? row : 0, is_column ? column : 0, is_row && is_column};
}

// Where what a block has of the vectors that another stores is there: of a thread's own.
W_FN Pack<float, 4>* share_at(const Ring& ring, int from, int vector, int piece) {
  return ring.shares + ((from * kOwn + vector) * 2 + piece) * kTeam + (threadIdx.x - kTeam);
}

W_FN void share(const Ring& ring, int rank, const Sums& acc) {
#pragma unroll
  for (int j = 0; j < kVectors; ++j)
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      const int to = j / kOwn, chunk = j % kChunks, half = j / kChunks % 2;
      Pack<float, 4> sums;
#pragma unroll
      for (int e = 0; e < 4; ++e) sums.v[e] = acc[j / (2 * kChunks)][chunk * 4 + piece * 2 + e / 2][half * 2 + e % 2];
      Pack<float, 4>* const at = share_at(ring, rank, j % kOwn, piece);
      if (to == rank)
        *at = sums;
      else
        w_send<kSharedBytes>((float*)at, ring.come, to, sums);
    }
}

// The blocks' sums of a vector.
W_FN Pack<float, 8> join(const Ring& ring, int vector) {
  Pack<float, 8> sums;
#pragma unroll
  for (int from = 0; from < kCluster; ++from)
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
      const Pack<float, 4> own = *share_at(ring, from, vector, piece);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float& sum = sums.v[piece * 4 + e];
        sum = from == 0 ? own.v[e] : sum + own.v[e];
      }
    }
  return sums;
}

W_FN void take_part(const Operands& p, const Constants& c, const Ring& ring) {
  w_begin();
  const TileAt at_tile = tile_at(c, blockIdx.x);
  const int rank = blockIdx.z;
  Place place[kOwn];
  Ahead early[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    place[i] = place_of(c, at_tile.m, at_tile.n, rank * kOwn + i);
    early[i] = ahead(p, c, at(c, place[i].row), place[i].column);
  }
  Spot spot{0, 0};
  Sums acc;
  multiply(p, c, ring, 0, at_tile.m, at_tile.n, &spot, acc);
  w_cluster_wait();  // until all blocks are there
  share(ring, rank, acc);
  w_bar_wait(ring.come, 0);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    float a[8];
    rescale(c, join(ring, i), scales_of(p, c), place[i].column, a);
    const Stored z = results(p, c, a, at(c, place[i].row), place[i].column, nullptr, early[i]);
    if (place[i].in) *(Stored*)(p.y + (place[i].row * c.columns + place[i].column)) = z;
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
    const int m = at.m + (kInTurn ? 0 : team * kOwnRows);
    Early early;
    read_ahead(p, c, m, at.n, early);
    const float* const tables = scales_of(p, c);
    const Notes notes = {(const Pack<float, 2>*)ring.notes, (const float*)(ring.notes + kRowNoteBytes),
                         kNormed ? tables[2 * c.columns] : 1};
    if (kInTurn && !is_first) {
      w_bar_wait(ring.turn + team, turn);
      turn ^= 1;
    }
    Sums acc;
    multiply(p, c, ring, team, m, at.n, &spot, acc);
    if constexpr (kNormed) w_bar_wait(ring.turn, 0);  // rows and columns are noted
    store(p, c, m, at.n, acc, early, notes);
  }
}

// The second team's part of normalized rows.
template <class C>
W_FN void take_notes(const Operands& p, const C& c, const Ring& ring) {
  const TileAt at = tile_at(c, blockIdx.x);
  Pack<float, 2>* const rows = (Pack<float, 2>*)ring.notes;
  note_columns(scales_of(p, c), c, at.n, (Pack<float, 4>*)(ring.notes + kRowNoteBytes));
  w_begin();
  const auto kept = begin_keeping(p, c, at.m, at.n);
  RowSums sums{};
  RowPart part;
  Spot spot{0, 0};
  const auto read = [&] {
    w_bar_wait(ring.full + spot.stage, spot.parity);
    read_row(ring.stages + spot.stage * kStageBytes, &part);
  };
  read();
#pragma unroll 1
  for (int k = 1; k < c.stages; ++k) {  // one is counted while the next is read
    const RowPart own = part;
    const int stage = spot.stage;
    spot.pass(1);
    read();
    count_in(own, &sums);
    w_meet<32, (kTeams + 1) * 4>(0);
    release(ring, stage, 32);
  }
  count_in(part, &sums);
  note_row(c, sums, rows);
  w_bar_arrive(ring.turn);
  keep_rows(p, c, rows, at.m, at.n, kept);
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u8* const stages = memory + (-(u64)memory & (kAligned - 1));
  u8* const shares = stages + kStages * kStageBytes;
  u8* const notes = shares + kCluster * kShareBytes;
  u64* const bars = (u64*)(notes + kNoteBytes);
  const Ring ring = {stages,           bars, bars + kStages, bars + 2 * kStages, (Pack<float, 4>*)shares,
                     bars + kBars - 1, notes};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      w_bar_init(ring.full + i, 1);
      w_bar_init(ring.empty + i, kOneForTeam * (kInTurn ? 1 : kTeams) + kReaders);
    }
    for (int i = 0; i < kTeams; ++i) w_bar_init(ring.turn + i, kTeam);
    if constexpr (kCluster > 1) w_bar_init(ring.come, 1);
    w_bars_are_there();
    if constexpr (kCluster > 1) w_bar_expect(ring.come, (kCluster - 1) * kShareBytes);
    w_want(p.x);
    w_want(p.w);
    if constexpr (kTwo) {
      w_want(other_x_of(p));
      w_want(other_w_of(p));
    }
  }
  if constexpr (kCluster > 1) w_cluster_begin();
  __syncthreads();
  if (threadIdx.x < kTeam) {
    w_less_registers<40>();
    if (threadIdx.x == 0) feed(p, c, ring);
    if constexpr (kCluster > 1) w_cluster_wait();  // who arrived waits before it ends
  } else {
    w_more_registers<232>();
    const int team = threadIdx.x / kTeam - 1;
    if constexpr (kNormed) {
      if (team == 0)
        take_tiles(p, c, ring, team);
      else
        take_notes(p, c, ring);
    } else if constexpr (kCluster == 1)
      take_tiles(p, c, ring, team);
    else if (team == 0)
      take_part(p, c, ring);
    else
      w_cluster_wait();
  }
}
