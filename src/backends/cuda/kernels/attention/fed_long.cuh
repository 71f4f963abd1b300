// The same as attention/fed.cuh over any number of keys, of which kKeys are looked at at once: a block takes a tile of
// 64 query rows of a head for each of its teams, and keys and values go through a ring of stages for all of them. A
// team finds exponentials of some keys while it multiplies those of the ones before by their values; they are relative
// to the largest score so far. The problem: that of attention/fed_parts.cuh; Constants {groups: blocks of a head}.
#pragma once
#include "backends/cuda/kernels/attention/fed_parts.cuh"

constexpr int kQueryBytes = kParts * kTileBytes;  // of a team
constexpr int kStageBytes = (kParts + kValueParts) * kPartBytes;
constexpr int kSharedBytes = kAligned + kTeams * kQueryBytes + kStages * kStageBytes + (3 * kStages + kTeams + 1) * 8;

struct Ring {
  u8 *queries, *stages;
  u64 *full, *keys, *values, *empty, *turns;
};
typedef RingSpot<kStages> Spot;

// Of the keys that any row from `first` on sees.
W_FN int turns_of(const Constants& c, int first) {
  const int end = kCausal && first + kTeams * kTileRows < c.keys ? first + kTeams * kTileRows : c.keys;
  return (end + kKeys - 1) / kKeys;
}

// By one thread.
W_FN void feed(const Operands& p, const Constants& c, const Ring& ring, const Lines& head, int first) {
  w_begin();
  w_bar_expect(ring.full, kTeams * kQueryBytes);
#pragma unroll
  for (int team = 0; team < kTeams; ++team)
    fetch_queries(ring.queries + team * kQueryBytes, p.q, ring.full, head, first + team * kTileRows);
  Spot spot{0, 1};
  const int turns = turns_of(c, first);
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn, spot.pass(1)) {
    u8* const to = ring.stages + spot.stage * kStageBytes;
    w_bar_wait(ring.empty + spot.stage, spot.parity);
    w_bar_expect(ring.keys + spot.stage, kParts * kPartBytes);
    fetch_keys<kParts>(to, p.k, ring.keys + spot.stage, head, turn * kKeys);
    w_bar_expect(ring.values + spot.stage, kValueParts * kPartBytes);
    fetch_keys<kValueParts>(to + kParts * kPartBytes, p.v, ring.values + spot.stage, head, turn * kKeys);
  }
}

// What a team has so far: of a thread's two rows the largest score, its part of the sum of exponentials relative to it,
// and the weighted values.
struct Part {
  float top[2], sum[2];
  Sums acc[1];
};

// Exponentials in place of scores; `keep`: what is left of those before.
W_FN void raise(Scores& s, Part& part, float (&keep)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float now = top_of(s, r, part.top[r]), less = less_of(now);
    keep[r] = w_exp2_near(part.top[r] * kFactor - less);
    part.top[r] = now;
    part.sum[r] = raise_row(s, r, less, part.sum[r] * keep[r]);
  }
}

W_FN void shrink(Sums& acc, const float (&keep)[2]) {
#pragma unroll
  for (int n = 0; n < kValueSize / 8; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) acc[n][e] *= keep[e / 2];
}

// A team's tile: its first row, and a thread's.
struct Tile {
  Lines head;
  int rows, row;
  u8* queries;
};

struct Work {
  const Operands& p;
  const Constants& c;
  const Ring& ring;
  const Tile& tile;

  W_M u8* stage(const Spot& at) const { return ring.stages + at.stage * kStageBytes; }
  // Products with the keys of a turn.
  W_M void multiply(const Spot& at, int turn, Scores& s) const {
    multiply_keys(tile.queries, stage(at), c.rows - tile.rows, c.keys - turn * kKeys, s);
    settle(s);
  }
  W_M void add(const Spot& at, int turn, u32 (&a)[kSteps][4], Part& part) const {
    w_turned_products(a, stage(at) + kParts * kPartBytes, kPartBytes, c.keys - turn * kKeys, turn, part.acc[0]);
    w_settle_sums(part.acc);
  }
  W_M void exponentials(int turn, Scores& s, Part& part, float (&keep)[2]) const {
    const auto mask = [&](int, int, int row, int j) { return mask_at(p, c, tile.head, row, j); };
    settle(s);
    if ((turn + 1) * kKeys <= c.keys)
      see<true>(c, tile.row, turn * kKeys, s, mask);
    else
      see<false>(c, tile.row, turn * kKeys, s, mask);
    raise(s, part, keep);
    settle(s);  // while values are added, and not behind the wait for them
  }
  W_M void added(u32 (&a)[kSteps][4], Part& part) const {
    w_wide_left<0>();
    w_settle_sums(part.acc);
    w_settle_words(a);
  }
};

W_FN void attend(const Operands& p, const Constants& c, const Ring& ring, const Tile& tile, int turns, Order order) {
  w_begin();
  const Work work = {p, c, ring, tile};
  Spot spot{0, 0}, next{0, 0};
  Part part = {{-W_INF, -W_INF}, {0, 0}};
  Scores s;
  u32 a[kSteps][4];
  float keep[2];
  w_bar_wait(ring.full, 0);
  w_bar_wait(ring.keys, 0);
  order.take();
  work.multiply(spot, 0, s);
  order.pass();
  w_wide_left<0>();
  work.exponentials(0, s, part, keep);
  as_rows(s, a);
  next.pass(1);
#pragma unroll 1
  for (int turn = 0; turn + 1 < turns; ++turn) {
    w_bar_wait(ring.values + spot.stage, spot.parity);
    w_bar_wait(ring.keys + next.stage, next.parity);
    order.take();
    work.multiply(next, turn + 1, s);
    work.add(spot, turn, a, part);
    order.pass();
    w_wide_left<1>();
    work.exponentials(turn + 1, s, part, keep);
    work.added(a, part);
    release(ring.empty + spot.stage);
    shrink(part.acc[0], keep);
    as_rows(s, a);
    spot.pass(1);
    next.pass(1);
  }
  w_bar_wait(ring.values + spot.stage, spot.parity);
  order.take();
  work.add(spot, turns - 1, a, part);
  order.pass();
  work.added(a, part);
  const int warp = threadIdx.x / 32 % 4, own = tile.rows + warp * 16;
  Results y;
  finish_rows(p, c, tile.head, own, scale_of(part.sum), part.acc[0], y);
  store_rows(p, c, tile.head, own, y, tile.queries + warp * 16 * kLineBytes);
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u8* const queries = memory + (-(u64)memory & (kAligned - 1));
  u8* const stages = queries + kTeams * kQueryBytes;
  u64* const bars = (u64*)(stages + kStages * kStageBytes);
  const Ring ring = {
      queries, stages, bars, bars + 1, bars + 1 + kStages, bars + 1 + 2 * kStages, bars + 1 + 3 * kStages};
  const Lines head = lines_of(c, blockIdx.x / c.groups);
  const int first = blockIdx.x % c.groups * (kTeams * kTileRows);
  if (threadIdx.x == 0) {
    w_bar_init(ring.full, 1);
    begin_ring(p, ring, kTeams * kArrivals);
  }
  __syncthreads();
  if (threadIdx.x < kTeam) {
    feeders_registers();
    if (threadIdx.x == 0) feed(p, c, ring, head, first);
  } else {
    teams_registers();
    const int team = threadIdx.x / kTeam - 1, rows = first + team * kTileRows;
    const int row = rows + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    attend(p, c, ring, {head, rows, row, queries + team * kQueryBytes}, turns_of(c, first), order_of(ring.turns, team));
  }
}
