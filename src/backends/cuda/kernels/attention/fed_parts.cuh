// What kernels of attention share whose operands the unit for tensors brings (gemm/feed.cuh): tiles of 64 query rows,
// whose scores and results are sums of wgmma. Exponentials go from the ones to the rows of the others in registers.
// The problem: that of attention/scores.cuh, but q, k and v are TensorMaps of lines of 64 elements, of 64, kKeys and
// kKeys rows; X and Y of 16 bits; kKeys, a multiple of 16: in shared memory at once; kTeams of four warps;
// kStages; kByTurns; kAddsMask: masked() adds something; w_wide_mma(), w_turned_mma().
#pragma once
#include "backends/cuda/kernels/attention/scores.cuh"
#include "backends/cuda/kernels/gemm/group_mma.cuh"
#include "backends/cuda/kernels/gemm/turned.cuh"

constexpr int kTileRows = 64, kParts = kSize / kPlaces, kValueParts = kValueSize / kPlaces, kAligned = 1024;
constexpr int kTileBytes = kTileRows * kLineBytes, kPartBytes = kKeys * kLineBytes;  // of queries; of keys, or values
constexpr int kArrivals = kOneForTeam > 1 ? kTeam : kTeam / 32;  // of a team, when it has done with a stage
constexpr int kGroups = kKeys / 8, kSteps = kKeys / 16;
constexpr float kLog2e = 1.44269504088896f;
// Where nothing is added to scores, they are scaled as they become exponentials.
constexpr bool kScaledFirst = kAddsMask || kCap > 0 || kScale <= 0;
constexpr float kFactor = kScaledFirst ? 1.0f : (float)kScale * kLog2e;
static_assert(kValueSize <= kSize && sizeof(Y) == 2);

// Rows lane / 4 and 8 more of two keys each. An instruction gives half of many: it is to find a place among registers.
constexpr int kHalves = kKeys > 128 ? 2 : 1, kHalfGroups = kGroups / kHalves;
typedef float Scores[kHalves][1][kHalfGroups][4];
typedef float Sums[kValueSize / 8][4];
W_FN float (&group_of(Scores& s, int n))[4] { return s[n / kHalfGroups][0][n % kHalfGroups]; }

// Of the registers the teams take those that the one thread that feeds has no use for.
W_FN void feeders_registers() {
  if constexpr (kTeams == 3) w_less_registers<32>();
  if constexpr (kTeams == 2) w_less_registers<40>();
}
W_FN void teams_registers() {
  if constexpr (kTeams == 3) w_more_registers<160>();
  if constexpr (kTeams == 2) w_more_registers<232>();
}

// A head, and the one of its keys.
struct Lines {
  int b, h, g;
};
W_FN Lines lines_of(const Constants& c, int head) {
  const int h = head % c.heads;
  return {head / c.heads, h, h / c.per_group};
}

W_FN void fetch_queries(u8* to, const TensorMap* q, u64* bar, const Lines& head, int row) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    w_fetch_heads(to + part * kTileBytes, q, bar, part * kPlaces, row, head.h, head.b);
}
// Or values.
template <int kCount>
W_FN void fetch_keys(u8* to, const TensorMap* k, u64* bar, const Lines& head, int key) {
#pragma unroll
  for (int part = 0; part < kCount; ++part)
    w_fetch_heads(to + part * kPartBytes, k, bar, part * kPlaces, key, head.g, head.b);
}

// A stage may be filled anew.
W_FN void release(u64* empty) {
  w_meet<32, kTeams * 4>(0);
  if (kOneForTeam > 1 || threadIdx.x % 32 == 0) w_bar_arrive(empty);
}

// With kByTurns teams begin their products one after the other: all at once they would find exponentials all at once,
// too, while nobody multiplies. Each takes as many turns as the one before, or one less.
struct Order {
  u64* bars;
  int team;
  u32 parity;
  W_M void begin() const {
    for (int i = 0; i < kTeams; ++i) w_bar_init(bars + i, kArrivals);
  }
  W_M void take() {
    if constexpr (!kByTurns) return;
    w_bar_wait(bars + team, parity);
    parity ^= 1;
  }
  W_M void pass() const {
    if constexpr (kByTurns) release(bars + (team + 1) % kTeams);
  }
};
W_FN Order order_of(u64* bars, int team) { return {bars, team, team == 0 ? 1u : 0u}; }

// Scores on their way until w_wide_left(). So many rows and keys are there.
W_FN void multiply_keys(const u8* queries, const u8* keys, int rows, int count, Scores& s) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      w_wide_products(queries + part * kTileBytes, keys + part * kPartBytes + half * kHalfGroups * 8 * kLineBytes, rows,
                      count - half * kHalfGroups * 8, part > 0, s[half]);
}
W_FN void settle(Scores& s) {
#pragma unroll
  for (int half = 0; half < kHalves; ++half) w_settle_sums(s[half]);
}

// What the mask adds to the score of key j, where the row has one; of others what it adds to another one's.
W_FN float mask_at(const Operands& p, const Constants& c, const Lines& head, int row, int j) {
  return masked(p, c, 0.0f, head.b, head.h, row < c.rows ? row : 0, j < c.keys && !(kCausal && j > row) ? j : 0);
}

// Of all scores of a thread that see() takes.
W_FN void load_mask(const Operands& p, const Constants& c, const Lines& head, int row, int base, Scores& mask) {
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      group_of(mask, n)[e] = mask_at(p, c, head, row + e / 2 * 8, base + n * 8 + threadIdx.x % 4 * 2 + e % 2);
}

// Scores of the keys from `base` on as a row sees them; where they are scaled first, in powers of two. kWhole: there
// are so many keys. mask(n, e, row, j): what is added to score e of group n.
template <bool kWhole, class Mask>
W_FN void see(const Constants& c, int row, int base, Scores& s, const Mask& mask) {
  if (kWhole && !kScaledFirst && !kCausal) return;
#pragma unroll
  for (int n = 0; n < kGroups; ++n) {
    const bool all = kWhole || base + n * 8 + 8 <= c.keys;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = base + n * 8 + threadIdx.x % 4 * 2 + e % 2, own = row + e / 2 * 8;
      const bool seen = (all || j < c.keys) && !(kCausal && j > own);
      float score = group_of(s, n)[e];
      if (kScaledFirst) score = kCap > 0 ? capped(score * (float)kScale) * kLog2e : score * ((float)kScale * kLog2e);
      if constexpr (kAddsMask) {
        const float m = mask(n, e, own, j);
        score = m == -W_INF ? m : score + m * kLog2e;
      }
      group_of(s, n)[e] = seen ? score : -W_INF;
    }
  }
}

// The largest score of row r of a thread's two, and of `before`.
W_FN float top_of(Scores& s, int r, float before) {
  float top[2] = {before, -W_INF};  // neither waits for the other
#pragma unroll
  for (int n = 0; n < kGroups; ++n) {
    const float(&own)[4] = group_of(s, n);
    top[n % 2] = fmaxf(top[n % 2], fmaxf(own[r * 2], own[r * 2 + 1]));
  }
  float most = fmaxf(top[0], top[1]);
#pragma unroll
  for (int m = 1; m < 4; m *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, m));
  return most;
}
// What exponentials relative to it are lessened by.
W_FN float less_of(float top) { return top == -W_INF ? 0.0f : top * kFactor; }
// Exponentials in place of the row's scores; a thread's part of their sum, added to another.
W_FN float raise_row(Scores& s, int r, float less, float sum) {
  float part[2] = {sum, 0};
#pragma unroll
  for (int n = 0; n < kGroups; ++n)
#pragma unroll
    for (int e = r * 2; e < r * 2 + 2; ++e)
      part[e % 2] += group_of(s, n)[e] = w_exp2_near(group_of(s, n)[e] * kFactor - less);
  return part[0] + part[1];
}

// Rows of the second product.
W_FN void as_rows(Scores& s, u32 (&a)[kSteps][4]) {
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int n = 0; n < 4; ++n)
      a[i][n] = w_halves<X>(group_of(s, i * 2 + n / 2)[n % 2 * 2], group_of(s, i * 2 + n / 2)[n % 2 * 2 + 1]);
}

// What a row's values are multiplied by in the end, of a thread's part of the sum of exponentials; of rows that see no
// key nothing is left.
struct Scale {
  float by[2];
  bool none[2];
};
W_FN Scale scale_of(const float (&sum)[2]) {
  Scale scale;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float all = sum[r];
#pragma unroll
    for (int m = 1; m < 4; m *= 2) all += __shfl_xor_sync(0xffffffffu, all, m);
    scale.none[r] = sees_nothing(all);
    scale.by[r] = 1.0f / all;
  }
  return scale;
}

typedef u32 Results[2][kValueSize / 8];  // two neighbours each

W_FN void finish_rows(const Operands& p, const Constants& c, const Lines& head, int first, const Scale& scale,
                      const Sums& acc, Results& to) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + lane / 4 + r * 8, in = row < c.rows ? row : 0;
#pragma unroll
    for (int n = 0; n < kValueSize / 8; ++n) {
      Y y[2];
#pragma unroll
      for (int e = 0; e < 2; ++e)
        y[e] = epilogue(p, c, scale.none[r] ? 0.0f : acc[n][r * 2 + e] * scale.by[r], head.b, head.h, in,
                        n * 8 + lane % 4 * 2 + e);
      to[r][n] = (u32)y[0].x | (u32)y[1].x << 16;
    }
  }
  w_settle_words(to);  // sums' registers are others' from here on
}

// The warp's results, by way of its query rows in shared memory: a thread has two neighbours, and stores 16 bytes.
W_FN void store_rows(const Operands& p, const Constants& c, const Lines& head, int first, const Results& y, u8* own) {
  constexpr int kPieces = kValueSize / 8, kLinePieces = 8;
  const int lane = threadIdx.x % 32;
  const auto at = [&](int line, int piece) { return own + piece / 8 * kTileBytes + w_piece_of(line, piece % 8); };
  w_meet<32, kTeams * 4>(0);  // nobody reads queries any more
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int n = 0; n < kValueSize / 8; ++n) *(u32*)(at(lane / 4 + r * 8, n) + lane % 4 * 4) = y[r][n];
  w_meet<32, kTeams * 4>(0);
  Y* const to = p.y + ((s64)head.b * c.y_batch + (s64)head.h * c.y_head);
#pragma unroll
  for (int from = 0; from < 16 * kPieces; from += 32) {
    const int part = from / (16 * kLinePieces) * kLinePieces, i = from % (16 * kLinePieces) + lane;
    const int line = i / kLinePieces, q = part + i % kLinePieces;
    if (first + line < c.rows)
      *(Pack<u32, 4>*)(to + (s64)(first + line) * c.y_row + q * 8) = *(const Pack<u32, 4>*)at(line, q);
  }
}

// Barriers before anything is fetched, by one thread: a stage's queries and keys, its values, and that so many readers
// are done with it.
template <class Ring>
W_FN void begin_ring(const Operands& p, const Ring& ring, int readers) {
  for (int i = 0; i < kStages; ++i) {
    w_bar_init(ring.keys + i, 1);
    w_bar_init(ring.values + i, 1);
    w_bar_init(ring.empty + i, readers);
  }
  order_of(ring.turns, 0).begin();
  w_bars_are_there();
  w_want(p.q);
  w_want(p.k);
  w_want(p.v);
}
