// Attention of few rows over keys and values of 8 bits, as a decoder's step reads its caches: a block takes up to
// sixteen query rows of all heads that share keys, over its part of the keys, which its warps divide, kKeys at a time.
// Bytes go from memory to registers, the next ones while these are multiplied, and become floats of 16 bits there;
// which elements of a sum, and which columns, a thread has at once does not matter as long as both operands agree: it
// takes those that lie together. What the warps have made meets in shared memory, and what the parts of the keys have
// made, if they are several, in attention/joined.cuh.
// Zero points of keys add the same to all scores of a row, and are left out. The problem: that of attention/head.cuh, X
// of 16 bits, rows whose elements lie together; Key, which Value is; kWarps, kThreads; kKept: rows that there are at
// most, a power of two; kSplit: the keys have parts; kRowScales: scores have the scale of their head's keys;
// kElementScale: queries are divided by it after they have those of the keys' elements, 0: they have none; Operands
// parts: floats; Constants {row_blocks: of those heads; parts: of the keys; per_part: keys of a part}.
#pragma once
#include "backends/cuda/kernels/attention/byte_values.cuh"

constexpr int kRows = 16, kKeys = 16;
constexpr int kKeyWords = kSize % 64 == 0 ? 4 : 2;  // of a key that a thread reads at once
constexpr int kSteps = kSize / (kKeyWords * 16);
constexpr int kColumns = kValueSize / 8;  // neighbours, of a thread
constexpr int kValueWords = kColumns / 4;
constexpr int kPitch = kValueSize + 4;
static_assert(kSize % 32 == 0 && kValueSize % 32 == 0, "words of all threads");

typedef Pack<u32, kKeyWords> KeyWords;
typedef Pack<u32, kValueWords> ValueWords;
typedef KeyWords Keys[2][kSteps];  // of the first eight keys, of the others
typedef ValueWords Values[4];      // two neighbours of the first eight keys, two of the others
typedef u32 Queries[kSteps][kKeyWords][4];

W_FN int within(int i, int count) { return i < count ? i : count - 1; }

struct Rows {
  int h, row;
  bool there;
};
// The row of number i of those of the heads that share keys.
W_FN Rows row_of(const Constants& c, int g, int i) {
  const int all = c.per_group * c.rows, at = within(i, all);
  return {g * c.per_group + at / c.rows, at % c.rows, i < all};
}

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
      read_words(k + (s64)within(base + i * 8 + g, c.keys) * c.k_row + (s * 4 + t) * kKeyWords * 4, &keys[i][s]);
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
    for (int w = 0; w < kKeyWords; ++w)
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const Rows& r = rows[n % 2];
        const int d = ((s * 4 + t) * kKeyWords + w) * 4 + n / 2 * 2;
        const X* const q = p.q + c.q_offset + (s64)b * c.q_batch + (s64)r.h * c.q_head + (s64)r.row * c.q_row + d;
        if constexpr (kElementScale > 0)
          made[s][w][n] = w_halves<X>(scaled_query(q[0], g, d), scaled_query(q[1], g, d + 1));
        else
          made[s][w][n] = *(const u32*)q;
      }
}

typedef float Scores[2][4];       // rows lane / 4 and 8 more of two keys each, as mma has them
typedef float Sums[kColumns][4];  // the same rows of columns (lane % 4 * 2 + 0 or 1) * kColumns + i

W_FN void multiply_keys(const Queries& q, const Keys& keys, Scores& s) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int d = 0; d < kSteps; ++d)
#pragma unroll
      for (int w = 0; w < kKeyWords; ++w) {
        u32 k[2];
        halves_of<X, Key>(keys[i][d].v[w], k);
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
    for (int e = 0; e < 4; ++e) {
      const Rows& r = rows[e / 2];
      const int j = base + i * 8 + threadIdx.x % 4 * 2 + e % 2;
      const bool seen = j < end && !(kCausal && j > r.row);
      s[i][e] = seen ? masked(p, c, capped(s[i][e] * scale), b, r.h, r.row, j) : -W_INF;
    }
}

// What a warp makes of its keys: for each of a thread's two rows the largest score, its part of the sum of exponentials
// relative to it, and of the weighted values.
struct Part {
  float top[2], sum[2];
  Sums acc;
};

W_FN void raise(Scores& s, Part& part) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = -W_INF;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) most = w_max<float>(most, s[i][e]);
#pragma unroll
    for (int m = 1; m < 4; m *= 2) most = w_max<float>(most, __shfl_xor_sync(0xffffffffu, most, m));
    const float now = w_max<float>(part.top[r], most), keep = now == -W_INF ? 0.0f : expf(part.top[r] - now);
    part.top[r] = now;
    part.sum[r] *= keep;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) part.sum[r] += s[i][e] = now == -W_INF ? 0.0f : expf(s[i][e] - now);
#pragma unroll
    for (int i = 0; i < kColumns; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) part.acc[i][e] *= keep;
  }
}

W_FN void add_values(const Scores& s, const Values& values, Sums& acc) {
  u32 a[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) a[n] = w_halves<X>(s[n / 2][n % 2 * 2], s[n / 2][n % 2 * 2 + 1]);
#pragma unroll
  for (int w = 0; w < kValueWords; ++w)
#pragma unroll
    for (int x = 0; x < 4; x += 2) {  // columns x and x + 1 of a word, of two neighbouring keys
      u32 b[2][2];
#pragma unroll
      for (int n = 0; n < 2; ++n)
        halves_of<X, Value>(w_bytes_of(values[n * 2].v[w], values[n * 2 + 1].v[w], x == 0 ? 0x5140 : 0x7362), b[n]);
#pragma unroll
      for (int i = 0; i < 2; ++i) w_mma<X>(acc[w * 4 + x + i], a[0], a[1], a[2], a[3], b[0][i], b[1][i]);
    }
}

template <class P>
W_FN float* parts_of(const P& p) {
  if constexpr (kSplit)
    return p.parts;
  else
    return nullptr;
}

// One element of the result, or of a part of the keys'.
W_FN void put(const Operands& p, const Constants& c, int b, int g, int block, int part, int r, int d, float f,
              float top, float sum) {
  const Rows row = row_of(c, g, block * kRows + r);
  if (!row.there) return;
  if constexpr (!kSplit) {
    const Head head = {b, row.h, g, nullptr, nullptr, nullptr};
    const bool none = sees_nothing(sum);
    store(p, c, head, row.row, d, none ? 0.0f : value_of(f * (1.0f / sum), g, d));
  } else {
    const s64 line = ((s64)b * c.heads + row.h) * c.rows + row.row;
    float* const to = parts_of(p) + (line * c.parts + part) * (kValueSize + 4);
    to[d] = f;
    if (d == 0) to[kValueSize] = top;
    if (d == 1) to[kValueSize + 1] = sum;
  }
}

// What the warps have made, as a block's.
W_FN void meet(const Operands& p, const Constants& c, int b, int g, int block, int part_of, Part& part) {
  __shared__ float tops[kWarps][kRows], sums[kWarps][kRows];
  __shared__ float results[kWarps][kKept][kPitch];
  const int warp = threadIdx.x / 32, own = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int m = 1; m < 4; m *= 2) part.sum[r] += __shfl_xor_sync(0xffffffffu, part.sum[r], m);
  if (t == 0)
#pragma unroll
    for (int r = 0; r < 2; ++r) tops[warp][own + r * 8] = part.top[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = -W_INF;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = w_max<float>(top, tops[w][own + r * 8]);
    const float keep = top == -W_INF ? 1.0f : expf(part.top[r] - top);
    if (own + r * 8 < kKept)
#pragma unroll
      for (int i = 0; i < kColumns; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          results[warp][own + r * 8][(t * 2 + half) * kColumns + i] = part.acc[i][r * 2 + half] * keep;
    if (t == 0) sums[warp][own + r * 8] = part.sum[r] * keep;
  }
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
    put(p, c, b, g, block, part_of, r, d, f, top, sum);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const int warp = threadIdx.x / 32, own = threadIdx.x % 32 / 4;
  const int part_of = (int)(blockIdx.x % (u32)c.parts), unit = (int)(blockIdx.x / (u32)c.parts);
  const int block = unit % c.row_blocks, kv_heads = c.heads / c.per_group, g = unit / c.row_blocks % kv_heads,
            b = unit / c.row_blocks / kv_heads;
  const int first = part_of * c.per_part, end = first + c.per_part < c.keys ? first + c.per_part : c.keys;
  const Key* const k = p.k + c.k_offset + (s64)b * c.k_batch + (s64)g * c.k_head;
  const Value* const v = p.v + c.v_offset + (s64)b * c.v_batch + (s64)g * c.v_head;
  const Rows rows[2] = {row_of(c, g, block * kRows + own), row_of(c, g, block * kRows + own + 8)};
  w_after();
  w_let_next();
  Queries q;
  Keys keys;
  Values values;
  load(c, k, v, first + warp * kKeys, keys, values);
  load_queries(p, c, b, g, rows, q);
  Part part = {{-W_INF, -W_INF}, {0, 0}, {}};
#pragma unroll 1
  for (int from = first; from < end; from += kWarps * kKeys) {
    const int base = from + warp * kKeys;
    Keys next_keys = {};
    Values next_values = {};
    if (from + kWarps * kKeys < end) load(c, k, v, base + kWarps * kKeys, next_keys, next_values);
    Scores s = {};
    multiply_keys(q, keys, s);
    see(p, c, b, g, rows, base, end, s);
    raise(s, part);
    add_values(s, values, part.acc);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int n = 0; n < kSteps; ++n) keys[i][n] = next_keys[i][n];
#pragma unroll
    for (int n = 0; n < 4; ++n) values[n] = next_values[n];
  }
  meet(p, c, b, g, block, part_of, part);
}
