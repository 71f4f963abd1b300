// Attention of few rows over keys and values of 8 or 16 bits, as a decoder's step reads its caches: a block takes up to
// sixteen query rows of all heads that share keys, over its part of the keys, which its warps divide, kKeys at a time.
// Bytes go from memory to registers, the next ones while these are multiplied, and become floats of 16 bits there;
// which elements of a sum, and which columns, a thread has at once does not matter as long as both operands agree: it
// takes those that lie together. What the warps have made meets in shared memory, and what the parts of the keys have
// made, if they are several, in attention/joined.cuh.
// Zero points of keys add the same to all scores of a row, and are left out. The problem: that of attention/parts.cuh,
// X of 16 bits, rows whose elements lie together; Key, which Value is, of 8 bits or X; kRows: 16; kWarps, kThreads;
// kKept: rows that there are at most, a power of two; kRowScales: scores have the scale of their head's keys;
// kElementScale: queries are divided by it after they have those of the keys' elements, 0: they have none.
#pragma once
#include "backends/cuda/kernels/attention/parts.cuh"

constexpr int kKeys = 16;
constexpr bool kWide = sizeof(Key) == 2;  // X
constexpr int kOfWord = 4 / (int)sizeof(Key);
constexpr int kKeyWords = kWide || kSize % 64 == 0 ? 4 : 2;  // of a key that a thread reads at once
constexpr int kFours = kKeyWords * kOfWord / 4;              // elements of them, which a product takes
constexpr int kSteps = kSize / (kFours * 16);
constexpr int kColumns = kValueSize / 8;  // neighbours, of a thread
constexpr int kValueWords = kColumns / kOfWord;
constexpr int kPitch = kValueSize + 4;
constexpr int kHalves = kKept > 8 ? 2 : 1;  // of the sixteen rows
static_assert(kSize % 32 == 0 && kValueSize % 32 == 0, "words of all threads");

typedef Pack<u32, kKeyWords> KeyWords;
typedef Pack<u32, kValueWords> ValueWords;
typedef KeyWords Keys[2][kSteps];  // of the first eight keys, of the others
typedef ValueWords Values[4];      // two neighbours of the first eight keys, two of the others
typedef u32 Queries[kSteps][kFours][4];

// 16-byte pieces are asked for one by one: the compiler need not know that they are.
template <int kWords>
W_FN void read_words(const void* from, Pack<u32, kWords>* to) {
  *to = *(const Pack<u32, kWords>*)from;
}

W_FN void load(const Constants& c, const Key* k, const Value* v, int base, Keys& keys, Values& values) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      read_words(k + (s64)within(base + i * 8 + g, c.keys) * c.k_row + (s * 4 + t) * kFours * 4, &keys[i][s]);
#pragma unroll
  for (int n = 0; n < 4; ++n)
    read_words(v + (s64)within(base + n / 2 * 8 + t * 2 + n % 2, c.keys) * c.v_row + g * kColumns, &values[n]);
}

// A query's elements with the scales of the keys' elements.
W_FN float scaled_query(const X& q, int g, int d) {
  if constexpr (kElementScale > 0) return w_get(q) * (key_scale(g, d) * (float)(1 / kElementScale));
  return w_get(q);
}
W_FN void load_queries(const Operands& p, const Constants& c, int b, int g, const Rows (&rows)[2], Queries& made) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
#pragma unroll
    for (int w = 0; w < kFours; ++w)
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const Rows& r = rows[n % 2];
        const int d = ((s * 4 + t) * kFours + w) * 4 + n / 2 * 2;
        const X* const q = p.q + c.q_offset + (s64)b * c.q_batch + (s64)r.h * c.q_head + (s64)r.row * c.q_row + d;
        if constexpr (kElementScale > 0)
          made[s][w][n] = w_halves<X>(scaled_query(q[0], g, d), scaled_query(q[1], g, d + 1));
        else
          made[s][w][n] = *(const u32*)q;
      }
}

typedef float Scores[2][4];  // rows lane / 4 and 8 more of two keys each, as mma has them
// Of two halves: the same rows of columns (lane % 4 * 2 + 0 or 1) * kColumns + i. Of one: columns lane / 4 * kColumns +
// i * 2, and the next one, of rows lane % 4 * 2 and the next one, as values are the left operand then.
typedef float Sums[kColumns / 2 * kHalves][4];

// Four of a key's elements, as X.
W_FN void key_halves(const KeyWords& key, int four, u32 (&made)[2]) {
  if constexpr (kWide) {
    made[0] = key.v[four * 2];
    made[1] = key.v[four * 2 + 1];
  } else {
    halves_of<X, Key>(key.v[four], made);
  }
}

// Columns x and x + 1 of two neighbouring keys, as X: one's column, then the next one's.
W_FN void value_halves(const ValueWords& first, const ValueWords& second, int x, u32 (&made)[2]) {
  const int w = x / kOfWord;
  if constexpr (kWide) {
    made[0] = w_bytes_of(first.v[w], second.v[w], 0x5410);
    made[1] = w_bytes_of(first.v[w], second.v[w], 0x7632);
  } else {
    halves_of<X, Value>(w_bytes_of(first.v[w], second.v[w], x % 4 == 0 ? 0x5140 : 0x7362), made);
  }
}

W_FN void multiply_keys(const Queries& q, const Keys& keys, Scores& s) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int d = 0; d < kSteps; ++d)
#pragma unroll
      for (int w = 0; w < kFours; ++w) {
        u32 k[2];
        key_halves(keys[i][d], w, k);
        w_mma<X>(s[i], q[d][w][0], q[d][w][1], q[d][w][2], q[d][w][3], k[0], k[1]);
      }
}

W_FN void see(const Operands& p, const Constants& c, int b, int g, const Rows (&rows)[2], int base, int end,
              Scores& s) {
  const float scale = kElementScale > 0 ? (float)(kScale * kElementScale)
                      : kRowScales      ? (float)kScale * key_scale(g, 0)
                                        : (float)kScale;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int e = 0; e < kHalves * 2; ++e) {
      const Rows& r = rows[e / 2];
      const int j = base + i * 8 + threadIdx.x % 4 * 2 + e % 2;
      const bool seen = j < end && !(kCausal && j > r.row);
      s[i][e] = seen ? masked(p, c, capped(s[i][e] * scale), b, r.h, r.row, j) : -W_INF;
    }
}

// What a warp makes of its keys: for each of a thread's rows the largest score, its part of the sum of exponentials
// relative to it, and of the weighted values.
struct Part {
  float top[kHalves], sum[kHalves];
  Sums acc;
};

// Exponentials in place of scores, and what the sums so far are worth.
W_FN void raise(Scores& s, Part& part, float (&keep)[kHalves]) {
#pragma unroll
  for (int r = 0; r < kHalves; ++r) {
    float now = part.top[r];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) now = w_max<float>(now, s[i][e]);
#pragma unroll
    for (int m = 1; m < 4; m *= 2) now = w_max<float>(now, __shfl_xor_sync(0xffffffffu, now, m));
    keep[r] = now == part.top[r] ? 1.0f : expf(part.top[r] - now);
    part.top[r] = now;
    part.sum[r] *= keep[r];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) part.sum[r] += s[i][e] = now == -W_INF ? 0.0f : expf(s[i][e] - now);
  }
}

// `own`: of a thread's rows; others tell theirs by way of `keeps`.
W_FN void lower(const float (&own)[kHalves], float* keeps, Sums& acc) {
  const int t = threadIdx.x % 4;
  if constexpr (kHalves == 1) {
    if (t == 0) keeps[threadIdx.x % 32 / 4] = own[0];
    w_meet<32, kWarps>((int)threadIdx.x / 32);
  }
  float keep[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if constexpr (kHalves == 1)
      keep[r] = keeps[t * 2 + r];
    else
      keep[r] = own[r];
  }
  if constexpr (kHalves == 1) w_meet<32, kWarps>((int)threadIdx.x / 32);
  if (keep[0] == 1 && keep[1] == 1) return;  // mostly, of long keys
#pragma unroll
  for (int i = 0; i < kColumns / 2 * kHalves; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) acc[i][e] *= keep[kHalves == 1 ? e % 2 : e / 2];
}

W_FN void add_values(const Scores& s, const Values& values, Sums& acc) {
  u32 a[4];
#pragma unroll
  for (int n = 0; n < 4; ++n)
    if (n % 2 < kHalves) a[n] = w_halves<X>(s[n / 2][n % 2 * 2], s[n / 2][n % 2 * 2 + 1]);
#pragma unroll
  for (int x = 0; x < kColumns; x += 2) {
    u32 b[2][2];
#pragma unroll
    for (int n = 0; n < 2; ++n) value_halves(values[n * 2], values[n * 2 + 1], x, b[n]);
    if constexpr (kHalves == 1)
      w_mma<X>(acc[x / 2], b[0][0], b[0][1], b[1][0], b[1][1], a[0], a[2]);
    else
#pragma unroll
      for (int i = 0; i < 2; ++i) w_mma<X>(acc[x + i], a[0], a[1], a[2], a[3], b[0][i], b[1][i]);
  }
}

// What a warp's sums of a row are worth among those of all warps.
W_FN float worth(const float (&tops)[kWarps][kRows], int row) {
  float top = -W_INF;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) top = w_max<float>(top, tops[w][row]);
  return top == -W_INF ? 1.0f : expf(tops[threadIdx.x / 32][row] - top);
}

typedef float Results[kKept][kPitch];

// A warp's weighted values to where all read them.
W_FN void put_results(const float (&tops)[kWarps][kRows], const Sums& acc, Results& results) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = kHalves == 1 ? t * 2 + r : g + r * 8;
    if (row >= kKept) continue;
    const float keep = worth(tops, row);
#pragma unroll
    for (int i = 0; i < kColumns / 2 * kHalves; ++i)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if constexpr (kHalves == 1)
          results[row][g * kColumns + i * 2 + e] = acc[i][e * 2 + r] * keep;
        else
          results[row][(t * 2 + e) * kColumns + i] = acc[i][r * 2 + e] * keep;
  }
}

// What the warps have made, as a block's.
W_FN void meet(const Operands& p, const Constants& c, const Unit& u, Part& part) {
  __shared__ float tops[kWarps][kRows], sums[kWarps][kRows];
  __shared__ Results results[kWarps];
  const int warp = threadIdx.x / 32, own = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int r = 0; r < kHalves; ++r)
#pragma unroll
    for (int m = 1; m < 4; m *= 2) part.sum[r] += __shfl_xor_sync(0xffffffffu, part.sum[r], m);
  if (t == 0)
#pragma unroll
    for (int r = 0; r < kHalves; ++r) tops[warp][own + r * 8] = part.top[r];
  __syncthreads();
  put_results(tops, part.acc, results[warp]);
  if (t == 0)
#pragma unroll
    for (int r = 0; r < kHalves; ++r) sums[warp][own + r * 8] = part.sum[r] * worth(tops, own + r * 8);
  __syncthreads();
  for (int i = threadIdx.x; i < kKept * kValueSize; i += kThreads) {
    const int r = i / kValueSize, d = i % kValueSize;
    float top = -W_INF, sum = 0, f = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      top = w_max<float>(top, tops[w][r]);
      sum += sums[w][r];
      f += results[w][r][d];
    }
    put(p, c, u, r, d, f, top, sum);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float keeps[kWarps][8];
  const int warp = threadIdx.x / 32, own = threadIdx.x % 32 / 4;
  const Unit u = this_unit(c);
  const Key* const k = keys_of(p, c, u);
  const Value* const v = values_of(p, c, u);
  const Rows rows[2] = {row_of(c, u.g, u.block * kRows + own), row_of(c, u.g, u.block * kRows + own + 8)};
  w_after();
  w_let_next();
  Queries q;
  Keys keys, other_keys;
  Values values, other_values;
  load(c, k, v, u.first + warp * kKeys, keys, values);
  load_queries(p, c, u.b, u.g, rows, q);
  Part part = {};
#pragma unroll
  for (int r = 0; r < kHalves; ++r) part.top[r] = -W_INF;
  constexpr int kTogether = kWarps * kKeys;
  const auto turn = [&](int from, const Keys& own_keys, const Values& own_values, Keys& next_keys,
                        Values& next_values) {
    const int base = from + warp * kKeys;
    if (from + kTogether < u.end) load(c, k, v, base + kTogether, next_keys, next_values);
    Scores s = {};
    multiply_keys(q, own_keys, s);
    see(p, c, u.b, u.g, rows, base, u.end, s);
    float keep[kHalves];
    raise(s, part, keep);
    lower(keep, keeps[warp], part.acc);
    add_values(s, own_values, part.acc);
  };
#pragma unroll 1
  for (int from = u.first; from < u.end; from += 2 * kTogether) {  // by two, so that nothing is moved
    turn(from, keys, values, other_keys, other_values);
    if (from + kTogether < u.end) turn(from + kTogether, other_keys, other_values, keys, values);
  }
  meet(p, c, u, part);
}
