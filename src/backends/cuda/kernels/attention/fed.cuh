// Attention on a Hopper GPU's tensor cores over so few keys that a thread has all scores of its rows at once. One
// thread feeds a ring of stages in shared memory by the unit for tensors: of a unit of work, which is kTiles times 64
// query rows of a head, these rows and the head's keys and values. Teams of four warps take a tile each, by turns: one
// finds exponentials while another multiplies. The problem: that of attention/fed_parts.cuh, with all keys in kKeys;
// kTiles; Constants {groups: units of a head; units; blocks}.
#pragma once
#include "backends/cuda/kernels/attention/fed_parts.cuh"

constexpr int kQueryBytes = kTiles * kParts * kTileBytes;
constexpr int kStageBytes = kQueryBytes + (kParts + kValueParts) * kPartBytes;
constexpr int kSharedBytes = kAligned + kStages * kStageBytes + 3 * kStages * 8;

struct Ring {
  u8* stages;
  u64 *keys, *values, *empty;
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
  w_after();
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
  for (int r = 0; r < 2; ++r) {
    float top[2] = {-W_INF, -W_INF};  // neither waits for the other
#pragma unroll
    for (int n = 0; n < kGroups; ++n) {
      const float(&own)[4] = group_of(s, n);
      top[n % 2] = fmaxf(top[n % 2], fmaxf(own[r * 2], own[r * 2 + 1]));
    }
    float most = fmaxf(top[0], top[1]);
#pragma unroll
    for (int m = 1; m < 4; m *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, m));
    const float from = most == -W_INF ? 0.0f : most * kFactor;
    float part[2] = {0, 0};
#pragma unroll
    for (int n = 0; n < kGroups; ++n)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e)
        part[e % 2] += group_of(s, n)[e] = w_exp2_near(group_of(s, n)[e] * kFactor - from);
    sum[r] = part[0] + part[1];
  }
}

W_FN void take_tile(const Operands& p, const Constants& c, const Ring& ring, const Unit& u, int tile,
                    const Spot& spot) {
  u8* const queries = ring.stages + spot.stage * kStageBytes + tile * kParts * kTileBytes;
  const u8* const keys = ring.stages + spot.stage * kStageBytes + kQueryBytes;
  const int warp = threadIdx.x / 32 % 4, rows = u.first + tile * kTileRows, first = rows + warp * 16;
  w_bar_wait(ring.keys + spot.stage, spot.parity);
  Scores s;
  multiply_keys(queries, keys, c.rows - rows, c.keys, s);
  settle(s);
  w_wide_left<0>();
  settle(s);
  float sum[2] = {1, 1};
  if (first < c.rows) {  // of the last rows, not every warp has some
    see<false>(p, c, u.head, first + threadIdx.x % 32 / 4, 0, s);
    raise(s, sum);
  }
  u32 a[kSteps][4];
  as_rows(s, a);
  w_bar_wait(ring.values + spot.stage, spot.parity);
  Sums acc[1];
  w_turned_products(a, keys + kParts * kPartBytes, kPartBytes, c.keys, 0, acc[0]);
  w_settle_sums(acc);
  w_wide_left<0>();
  w_settle_sums(acc);
  w_settle_rows(a);
  store_rows(p, c, u.head, first, sum, acc[0], queries + warp * 16 * kLineBytes);
  w_group_fence();
  release(ring.empty + spot.stage);
}

W_FN void attend(const Operands& p, const Constants& c, const Ring& ring, int team) {
  w_after();
  Spot spot{0, 0};
  int tile = team;
#pragma unroll 1
  for (int unit = blockIdx.x;; tile += kTeams) {
    for (; tile >= kTiles; tile -= kTiles) {
      unit += c.blocks;
      spot.pass(1);
    }
    if (unit >= c.units) break;
    take_tile(p, c, ring, unit_at(c, unit), tile, spot);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  u8* const stages = memory + (-(u64)memory & (kAligned - 1));
  u64* const bars = (u64*)(stages + kStages * kStageBytes);
  const Ring ring = {stages, bars, bars + kStages, bars + 2 * kStages};
  w_let_next();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      w_bar_init(ring.keys + i, 1);
      w_bar_init(ring.values + i, 1);
      w_bar_init(ring.empty + i, kTiles * kArrivals);
    }
    w_bars_are_there();
    w_want(p.q);
    w_want(p.k);
    w_want(p.v);
  }
  __syncthreads();
  if (threadIdx.x < kTeam) {
    feeders_registers();
    if (threadIdx.x == 0) feed(p, c, ring);
  } else {
    teams_registers();
    attend(p, c, ring, threadIdx.x / kTeam - 1);
  }
}
