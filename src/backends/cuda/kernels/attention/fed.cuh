// Attention on a Hopper GPU's tensor cores over so few keys that a thread has all scores of its rows at once. One
// thread feeds a ring of stages in shared memory by the unit for tensors: of a unit of work, which is kTiles times 64
// query rows of a head, these rows and the head's keys and values. Teams of four warps take a tile each, by turns: their
// scores and results are sums of wgmma, and exponentials go from the ones to the rows of the others in registers, while
// another team multiplies. The problem: that of attention/scores.cuh, but q, k and v are TensorMaps of lines of 64
// elements of 64, kKeys and kKeys rows; X of 16 bits; Y, of no more; kKeys: a multiple of 16; kTeams, kTiles, kStages;
// kAddsMask; w_wide_mma(), w_turned_mma(); Constants {groups: units of a head; units; blocks}.
#pragma once
#include "backends/cuda/kernels/attention/scores.cuh"
#include "backends/cuda/kernels/gemm/group_mma.cuh"
#include "backends/cuda/kernels/gemm/turned.cuh"

constexpr int kTileRows = 64, kParts = kSize / kPlaces, kValueParts = kValueSize / kPlaces;
constexpr int kTileBytes = kTileRows * kLineBytes, kQueryBytes = kTiles * kParts * kTileBytes;
constexpr int kPartBytes = kKeys * kLineBytes;  // of keys, or values
constexpr int kStageBytes = kQueryBytes + (kParts + kValueParts) * kPartBytes;
constexpr int kAligned = 1024, kSharedBytes = kAligned + kStages * kStageBytes + 3 * kStages * 8;
constexpr int kArrivals = kOneForTeam > 1 ? kTeam : kTeam / 32;  // of a team, when it has done with a stage
constexpr int kGroups = kKeys / 8, kSteps = kKeys / 16;
constexpr float kLog2e = 1.44269504088896f;
// Where nothing is added to scores, they are scaled as they become exponentials.
constexpr bool kScaledFirst = kAddsMask || kCap > 0 || kScale <= 0;
constexpr float kFactor = kScaledFirst ? 1.0f : (float)kScale * kLog2e;
static_assert(kValueSize <= kSize && sizeof(Y) <= 2);

// Rows lane / 4 and 8 more of two keys each. An instruction gives half of many: it is to find a place among registers.
constexpr int kHalves = kKeys > 128 ? 2 : 1, kHalfGroups = kGroups / kHalves;
typedef float Scores[kHalves][1][kHalfGroups][4];
typedef float Sums[kValueSize / 8][4];
W_FN float (&group_of(Scores& s, int n))[4] { return s[n / kHalfGroups][0][n % kHalfGroups]; }

struct Ring {
  u8* stages;
  u64 *keys, *values, *empty;
};
typedef RingSpot<kStages> Spot;

// A unit's head, the head of its keys, and its first row.
struct Unit {
  int b, h, g, first;
};
W_FN Unit unit_at(const Constants& c, int unit) {
  const int head = unit / c.groups, h = head % c.heads;
  return {head / c.heads, h, h / c.per_group, unit % c.groups * (kTiles * kTileRows)};
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
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      w_fetch_heads(to + kQueryBytes + part * kPartBytes, p.k, keys, part * kPlaces, 0, u.g, u.b);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        w_fetch_heads(to + (tile * kParts + part) * kTileBytes, p.q, keys, part * kPlaces, u.first + tile * kTileRows,
                      u.h, u.b);
    w_bar_expect(values, kValueParts * kPartBytes);
#pragma unroll
    for (int part = 0; part < kValueParts; ++part)
      w_fetch_heads(to + kQueryBytes + (kParts + part) * kPartBytes, p.v, values, part * kPlaces, 0, u.g, u.b);
  }
}

W_FN void settle(Scores& s) {
#pragma unroll
  for (int half = 0; half < kHalves; ++half) w_settle_sums(s[half]);
}

// Scores as a row sees them; where they are scaled first, in powers of two.
W_FN void see(const Operands& p, const Constants& c, const Unit& u, int row, Scores& s) {
#pragma unroll
  for (int n = 0; n < kGroups; ++n) {
    const bool all = n * 8 + 8 <= c.keys;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = n * 8 + threadIdx.x % 4 * 2 + e % 2, own = row + e / 2 * 8;
      const bool seen = (all || j < c.keys) && !(kCausal && j > own);
      float score = group_of(s, n)[e];
      if (kScaledFirst)
        score = kCap > 0 ? capped(score * (float)kScale) * kLog2e : score * ((float)kScale * kLog2e);
      if constexpr (kAddsMask) {
        const float m = masked(p, c, 0.0f, u.b, u.h, own < c.rows ? own : 0, seen ? j : 0);
        score = m == -W_INF ? m : score + m * kLog2e;
      }
      group_of(s, n)[e] = seen ? score : -W_INF;
    }
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
      for (int e = r * 2; e < r * 2 + 2; ++e) part[e % 2] += group_of(s, n)[e] = w_exp2_near(group_of(s, n)[e] * kFactor - from);
    sum[r] = part[0] + part[1];
  }
}

// Rows of the second product.
W_FN void as_rows(Scores& s, u32 (&a)[kSteps][4]) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int n = 0; n < 4; ++n)
      a[i][n] = w_halves<X>(group_of(s, i * 2 + n / 2)[n % 2 * 2], group_of(s, i * 2 + n / 2)[n % 2 * 2 + 1]);
}

// The warp's results, by way of its query rows in shared memory: a thread has two neighbours, and stores 16 bytes.
W_FN void store_rows(const Operands& p, const Constants& c, const Unit& u, int first, const float (&sum)[2],
                     const Sums& acc, u8* own) {
  constexpr int kPieces = kValueSize * (int)sizeof(Y) / 16, kLinePieces = kPieces < 8 ? kPieces : 8;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto at = [&](int line, int piece) {
    return own + piece / 8 * kTileBytes + w_piece_of(line, piece % 8);
  };
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float all = sum[r];
#pragma unroll
    for (int m = 1; m < 4; m *= 2) all += __shfl_xor_sync(0xffffffffu, all, m);
    const bool none = sees_nothing(all);
    const float scale = none ? 0.0f : 1.0f / all;
    const int row = first + g + r * 8, in = row < c.rows ? row : 0;
#pragma unroll
    for (int n = 0; n < kValueSize / 8; ++n) {
      Pack<Y, 2> y;
#pragma unroll
      for (int e = 0; e < 2; ++e)
        y.v[e] = epilogue(p, c, none ? 0.0f : acc[n][r * 2 + e] * scale, u.b, u.h, in, n * 8 + t * 2 + e);
      const int byte = (n * 8 + t * 2) * (int)sizeof(Y);
      *(Pack<Y, 2>*)(at(g + r * 8, byte / 16) + byte % 16) = y;
    }
  }
  w_meet<32, kTeams * 4>(0);
  Y* const to = p.y + ((s64)u.b * c.y_batch + (s64)u.h * c.y_head);
#pragma unroll
  for (int from = 0; from < 16 * kPieces; from += 32) {
    const int part = from / (16 * kLinePieces) * kLinePieces, i = from % (16 * kLinePieces) + lane;
    const int line = i / kLinePieces, q = part + i % kLinePieces;
    if (first + line < c.rows)
      *(Pack<u32, 4>*)(to + (s64)(first + line) * c.y_row + q * (16 / (int)sizeof(Y))) =
          *(const Pack<u32, 4>*)at(line, q);
  }
}

W_FN void take_tile(const Operands& p, const Constants& c, const Ring& ring, const Unit& u, int tile,
                    const Spot& spot) {
  u8* const queries = ring.stages + spot.stage * kStageBytes + tile * kParts * kTileBytes;
  const u8* const keys = ring.stages + spot.stage * kStageBytes + kQueryBytes;
  const int warp = threadIdx.x / 32 % 4, rows = u.first + tile * kTileRows, first = rows + warp * 16;
  w_bar_wait(ring.keys + spot.stage, spot.parity);
  Scores s;
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      w_wide_products(queries + part * kTileBytes, keys + part * kPartBytes + half * kHalfGroups * 8 * kLineBytes,
                      c.rows - rows, c.keys - half * kHalfGroups * 8, part > 0, s[half]);
  settle(s);
  w_wide_left<0>();
  settle(s);
  float sum[2] = {1, 1};
  if (first < c.rows) {  // of the last rows, not every warp has some
    see(p, c, u, first + threadIdx.x % 32 / 4, s);
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
  w_meet<32, kTeams * 4>(0);  // nobody reads queries any more
  store_rows(p, c, u, first, sum, acc[0], queries + warp * 16 * kLineBytes);
  w_group_fence();
  w_meet<32, kTeams * 4>(0);
  if (kOneForTeam > 1 || threadIdx.x % 32 == 0) w_bar_arrive(ring.empty + spot.stage);
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
    if constexpr (kTeams == 3) w_less_registers<32>();
    if (threadIdx.x == 0) feed(p, c, ring);
  } else {
    if constexpr (kTeams == 3) w_more_registers<160>();
    attend(p, c, ring, threadIdx.x / kTeam - 1);
  }
}
