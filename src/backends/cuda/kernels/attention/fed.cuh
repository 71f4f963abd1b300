// Attention on a Hopper GPU's tensor cores over so few keys that a thread has all scores of its rows at once. One
// thread feeds a ring of stages in shared memory by the unit for tensors: of a unit of work, which is kTiles times 64
// query rows of a head, these rows and the head's keys and values. Teams of four warps take a tile each, by turns: one
// finds exponentials while another multiplies. The problem: that of attention/fed_parts.cuh, with all keys in kKeys;
// kTiles; Constants {groups: units of a head; units; blocks}.
#pragma once
#include "backends/cuda/kernels/attention/fed_parts.cuh"

constexpr int kQueryBytes = kTiles * kParts * kTileBytes;
constexpr int kStageBytes = kQueryBytes + (kParts + kValueParts) * kPartBytes;
constexpr int kSharedBytes = kAligned + kStages * kStageBytes + (3 * kStages + kTeams) * 8;

struct Ring {
  u8* stages;
  u64 *keys, *values, *empty, *turns;
};
typedef RingSpot<kStages> Spot;

// A unit's head, and its first row.
struct Unit {
  Lines head;
  int first;
};
W_FN Unit unit_at(const Constants& c, int unit) {
  return {lines_of(c, unit / c.groups), unit % c.groups * (kTiles * kTileRows)};
}

// By one thread.
W_FN void feed(const Operands& p, const Constants& c, const Ring& ring) {
  w_begin();
  Spot spot{0, 1};
#pragma unroll 1
  for (int unit = blockIdx.x; unit < c.units; unit += c.blocks, spot.pass(1)) {
    const Unit u = unit_at(c, unit);
    u8* const to = ring.stages + spot.stage * kStageBytes;
    u64 *const keys = ring.keys + spot.stage, *const values = ring.values + spot.stage;
    w_bar_wait(ring.empty + spot.stage, spot.parity);
    w_bar_expect(keys, kQueryBytes + kParts * kPartBytes);
    fetch_keys<kParts>(to + kQueryBytes, p.k, keys, u.head, 0);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      fetch_queries(to + tile * kParts * kTileBytes, p.q, keys, u.head, u.first + tile * kTileRows);
    w_bar_expect(values, kValueParts * kPartBytes);
    fetch_keys<kValueParts>(to + kQueryBytes + kParts * kPartBytes, p.v, values, u.head, 0);
  }
}

// Exponentials in place of scores, relative to the largest of the row, and a thread's part of their sums.
W_FN void raise(Scores& s, float (&sum)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) sum[r] = raise_row(s, r, less_of(top_of(s, r, -W_INF)), 0);
}

// A tile among those of a block.
struct Place {
  int unit, tile;
  Spot spot;
  W_M void pass(const Constants& c, int count) {
    for (tile += count; tile >= kTiles; tile -= kTiles) {
      unit += c.blocks;
      spot.pass(1);
    }
  }
  W_M bool is_there(const Constants& c) const { return unit < c.units; }
  W_M u8* queries(const Ring& ring) const {
    return ring.stages + spot.stage * kStageBytes + tile * kParts * kTileBytes;
  }
  W_M u8* keys(const Ring& ring) const { return ring.stages + spot.stage * kStageBytes + kQueryBytes; }
};

// A parity tells a filling of a stage from the one before alone, so a team must know that the one before was there. It
// does where it has a tile of each unit, and by turns, as tiles begin one after the other. Elsewhere it waits until the
// stage was given back after it: since a team's tiles are at most a ring apart (attention_fed.cpp), the time before
// that is over.
W_FN void begin(const Constants& c, const Ring& ring, const Place& at, Scores& s) {
  if constexpr (!kByTurns && kTeams > kTiles) w_bar_wait(ring.empty + at.spot.stage, at.spot.parity ^ 1);
  w_bar_wait(ring.keys + at.spot.stage, at.spot.parity);
  const int rows = unit_at(c, at.unit).first + at.tile * kTileRows;
  multiply_keys(at.queries(ring), at.keys(ring), c.rows - rows, c.keys, s);
  settle(s);
}

// The first row of a warp's.
W_FN int first_of(const Constants& c, const Place& at) {
  return unit_at(c, at.unit).first + at.tile * kTileRows + threadIdx.x / 32 % 4 * 16;
}

// Exponentials of a tile.
struct Raised {
  Scale scale;
  u32 a[kSteps][4];
};

W_FN void end(const Operands& p, const Constants& c, const Place& at, Scores& s, Raised& to) {
  w_wide_left<0>();
  settle(s);
  const int first = first_of(c, at);
  float sum[2] = {1, 1};
  if (first < c.rows) {  // of the last rows, not every warp has some
    see<false>(c, first + threadIdx.x % 32 / 4, 0, s,
               [&](int, int, int row, int j) { return mask_at(p, c, unit_at(c, at.unit).head, row, j); });
    raise(s, sum);
  }
  as_rows(s, to.a);
  to.scale = scale_of(sum);
}

W_FN void add_values(const Operands& p, const Constants& c, const Ring& ring, const Place& at, Raised& of,
                     Results& to) {
  Sums acc[1];
  w_turned_products(of.a, at.keys(ring) + kParts * kPartBytes, kPartBytes, c.keys, 0, acc[0]);
  w_settle_sums(acc);
  w_wide_left<0>();
  w_settle_sums(acc);
  w_settle_words(of.a);
  finish_rows(p, c, unit_at(c, at.unit).head, first_of(c, at), of.scale, acc[0], to);
}

W_FN void store(const Operands& p, const Constants& c, const Ring& ring, const Place& at, const Results& y) {
  store_rows(p, c, unit_at(c, at.unit).head, first_of(c, at), y,
             at.queries(ring) + threadIdx.x / 32 % 4 * 16 * kLineBytes);
  w_group_fence();
  release(ring.empty + at.spot.stage);
}

// The rest of a tile, of which the team has exponentials.
W_FN void finish(const Operands& p, const Constants& c, const Ring& ring, const Place& at, Order& order, Raised& own) {
  Results y;
  w_bar_wait(ring.values + at.spot.stage, at.spot.parity);
  order.take();
  add_values(p, c, ring, at, own, y);
  order.pass();
  store(p, c, ring, at, y);
}

// A tile after the other.
W_FN void attend(const Operands& p, const Constants& c, const Ring& ring, Place at) {
  Order order = order_of(ring.turns, 0);
#pragma unroll 1
  for (; at.is_there(c); at.pass(c, kTeams)) {
    Scores s;
    Raised own;
    begin(c, ring, at, s);
    end(p, c, at, s, own);
    finish(p, c, ring, at, order, own);
  }
}

// The next tile's first products follow this one's last ones.
W_FN void attend_by_turns(const Operands& p, const Constants& c, const Ring& ring, Place at, Order order) {
  Scores s;
  Raised own;
  order.take();
  if (!at.is_there(c)) return order.pass();
  begin(c, ring, at, s);
  order.pass();
  end(p, c, at, s, own);
  Place next = at;
  next.pass(c, kTeams);
#pragma unroll 1
  for (; next.is_there(c); next.pass(c, kTeams)) {
    Results y;
    w_bar_wait(ring.values + at.spot.stage, at.spot.parity);
    order.take();
    add_values(p, c, ring, at, own, y);
    begin(c, ring, next, s);  // which does not need the stage of this one: see attention_fed.cpp
    order.pass();
    store(p, c, ring, at, y);
    end(p, c, next, s, own);
    at = next;
  }
  finish(p, c, ring, at, order, own);
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u8* const stages = memory + (-(u64)memory & (kAligned - 1));
  u64* const bars = (u64*)(stages + kStages * kStageBytes);
  const Ring ring = {stages, bars, bars + kStages, bars + 2 * kStages, bars + 3 * kStages};
  if (threadIdx.x == 0) begin_ring(p, ring, kTiles * kArrivals);
  __syncthreads();
  if (threadIdx.x < kTeam) {
    feeders_registers();
    if (threadIdx.x == 0) feed(p, c, ring);
  } else {
    teams_registers();
    const int team = threadIdx.x / kTeam - 1;
    w_begin();
    Place at = {(int)blockIdx.x, 0, {0, 0}};
    at.pass(c, team);
    if constexpr (kByTurns)
      attend_by_turns(p, c, ring, at, order_of(ring.turns, team));
    else
      attend(p, c, ring, at);
  }
}
