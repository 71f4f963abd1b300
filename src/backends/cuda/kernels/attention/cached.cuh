// Attention of few rows over keys and values of two parts, a cache and what came to it, which need not lie together: a
// block for kRows query rows of one head. Its threads read kTile keys and values at a time, in what type they are,
// round them to X into shared memory, and the block of the first rows of the first head writes them where they lie
// together. Four threads make a score; each thread multiplies values of its elements, and the block adds them up. The
// problem: that of attention/head.cuh, k and v unused; kThreads, kRows, kTile; KeyPast, KeyOwn, ValuePast, ValueOwn:
// types of the parts; kKept: keys and values are written, to made_keys(p) and made_values(p); kSharedBytes; Operands
// key_past, key_own, value_past, value_own; Constants {row_blocks: of a head; past: rows of the caches; for those four:
// _batch, _head, _row: strides; kv_heads}.
#pragma once
#include "backends/cuda/kernels/attention/head.cuh"
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kWarps = kThreads / 32, kPacks = kSize / 4;     // packs of four neighbours, of a row
constexpr int kTogether = kThreads / kPacks;                  // rows that are read at once
constexpr int kPasses = (kTile + kTogether - 1) / kTogether;  // for those of a tile
constexpr int kPitch = (kSize * 2 + 127) / 128 * 128 + 64;    // bytes: two rows are in different banks
constexpr int kPieces = kSize / 8, kGroups = kThreads / kPieces, kOfScore = 4;
static_assert(kSize == kValueSize && kTile * kOfScore <= kThreads, "one size, and a score for each four threads");

typedef Pack<u32, 4> Raw;
typedef Pack<X, 8> Piece;

template <class T>
W_FN void read_raw(const T* from, Raw* raw) {
  if constexpr (sizeof(T) == 4) {
    *raw = *(const Raw*)from;
  } else {
    const Pack<u32, 2> half = *(const Pack<u32, 2>*)from;
    raw->v[0] = half.v[0];
    raw->v[1] = half.v[1];
  }
}

template <class T>
W_FN Pack<X, 4> rounded(const Raw& raw) {
  Pack<X, 4> made;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if constexpr (sizeof(T) == 4) {
      made.v[k] = Put<X>::to(w_bits2f(raw.v[k]));
    } else {
      T t;
      t.x = (u16)(raw.v[k / 2] >> (k % 2 * 16));
      made.v[k] = Put<X>::to(w_get(t));
    }
  return made;
}

// Rows of a head: of the cache, and those that came to it.
template <class Past, class Own>
struct Rows {
  const Past* past;
  const Own* own;
  s64 past_row, own_row;

  W_M void prefetch(const Constants& c) const {
    constexpr int kLine = 128 / (int)sizeof(Past), kLines = kSize / kLine < 1 ? 1 : kSize / kLine;
    for (int i = threadIdx.x; i < c.past * kLines; i += kThreads)
      w_prefetch(past + i / kLines * past_row + i % kLines * kLine);
  }
  // All of a thread's are on their way at once: what they are rounded to is asked for later.
  W_M void read(const Constants& c, int base, Raw (&raw)[kPasses]) const {
    const int pack = threadIdx.x % kPacks;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int j = base + i * kTogether + (int)threadIdx.x / kPacks;
      raw[i] = Raw{};
      if (j < c.past)
        read_raw(past + j * past_row + pack * 4, &raw[i]);
      else if (j < c.keys)
        read_raw(own + (j - c.past) * own_row + pack * 4, &raw[i]);
    }
  }
  // To shared memory; to `kept`, where it is not null.
  W_M void put(const Constants& c, int base, const Raw (&raw)[kPasses], u8* to, X* kept) const {
    const int pack = threadIdx.x % kPacks;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int in_tile = i * kTogether + (int)threadIdx.x / kPacks, j = base + in_tile;
      const Pack<X, 4> x = j < c.past ? rounded<Past>(raw[i]) : rounded<Own>(raw[i]);
      if (in_tile < kTile) *(Pack<X, 4>*)(to + in_tile * kPitch + pack * 8) = x;
      if (kept != nullptr && in_tile < kTile && j < c.keys) *(Pack<X, 4>*)(kept + (s64)j * kSize + pack * 4) = x;
    }
  }
};

struct Shared {
  u8 *keys, *values;
  float *query, *scores, *weights, *parts;  // [kRows][kSize], [kRows][kTile] twice, [kWarps][kSize]
  float *keep, *sums;                       // [kRows]
};
W_FN Shared places(u8* memory) {
  Shared s;
  s.keys = memory;
  s.values = s.keys + kTile * kPitch;
  s.query = (float*)(s.values + kTile * kPitch);
  s.scores = s.query + kRows * kSize;
  s.weights = s.scores + kRows * kTile;
  s.parts = s.weights + kRows * kTile;
  s.keep = s.parts + kWarps * kSize;
  s.sums = s.keep + kRows;
  return s;
}

// Scores of the tile from `base` on; minus infinity for keys that a row does not see.
W_FN void score(const Operands& p, const Constants& c, const Head& head, int first, int base, const Shared& at) {
  const int j = threadIdx.x / kOfScore, lane = threadIdx.x % kOfScore;
  float s[kRows] = {};
  if (j < kTile)
#pragma unroll
    for (int i = 0; i < kPieces / kOfScore; ++i) {
      const int piece = i * kOfScore + lane;
      const Piece k = *(const Piece*)(at.keys + j * kPitch + piece * 16);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int e = 0; e < 8; ++e) s[r] += at.query[r * kSize + piece * 8 + e] * w_get(k.v[e]);
    }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int m = 1; m < kOfScore; m *= 2) s[r] += __shfl_xor_sync(0xffffffffu, s[r], m);
    const int row = first + r, key = base + j;
    if (lane != 0 || j >= kTile) continue;
    const bool seen = row < c.rows && key < c.keys && !(kCausal && key > row);
    at.scores[r * kTile + j] = seen ? masked(p, c, capped(s[r] * (float)kScale), head.b, head.h, row, key) : -W_INF;
  }
}

// The largest score of a row so far, and the sum of exponentials relative to it.
struct State {
  float top, sum;
};
// Exponentials of the tile's scores. Each warp has a row; where there are fewer, several make the same.
W_FN void weigh(State* state, const Shared& at) {
  const int warp = threadIdx.x / 32, row = warp % kRows, lane = threadIdx.x % 32;
  constexpr int kEach = (kTile + 31) / 32;
  float s[kEach], most = -W_INF, more = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    s[i] = i * 32 + lane < kTile ? at.scores[row * kTile + i * 32 + lane] : -W_INF;
    most = w_max<float>(most, s[i]);
  }
#pragma unroll
  for (int m = 1; m < 32; m *= 2) most = w_max<float>(most, __shfl_xor_sync(0xffffffffu, most, m));
  const float now = w_max<float>(state->top, most), keep = now == -W_INF ? 0.0f : expf(state->top - now);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const float e = now == -W_INF ? 0.0f : expf(s[i] - now);
    more += e;
    if (warp < kRows && i * 32 + lane < kTile) at.weights[row * kTile + i * 32 + lane] = e;
  }
#pragma unroll
  for (int m = 1; m < 32; m *= 2) more += __shfl_xor_sync(0xffffffffu, more, m);
  state->sum = state->sum * keep + more;
  state->top = now;
  if (warp < kRows && lane == 0) {
    at.keep[row] = keep;
    at.sums[row] = state->sum;
  }
}

W_FN void add_values(const Shared& at, float (&acc)[kRows][8]) {
  const int piece = threadIdx.x % kPieces, group = threadIdx.x / kPieces;
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int e = 0; e < 8; ++e) acc[r][e] *= at.keep[r];
#pragma unroll
  for (int from = 0; from < kTile; from += kGroups) {
    const int j = from + group;
    if (j >= kTile) break;
    const Piece v = *(const Piece*)(at.values + j * kPitch + piece * 16);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float weight = at.weights[r * kTile + j];
#pragma unroll
      for (int e = 0; e < 8; ++e) acc[r][e] += weight * w_get(v.v[e]);
    }
  }
}

// A row's sums over all groups of threads, and from them the results.
W_FN void finish_row(const Operands& p, const Constants& c, const Head& head, int r, int row, float (&acc)[8],
                     const Shared& at) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int e = 0; e < 8; ++e) {
#pragma unroll
    for (int m = kPieces; m < 32; m *= 2) acc[e] += __shfl_xor_sync(0xffffffffu, acc[e], m);
    if (lane < kPieces) at.parts[(int)threadIdx.x / 32 * kSize + lane * 8 + e] = acc[e];
  }
  __syncthreads();
  const float sum = at.sums[r], scale = 1.0f / sum;
  const bool none = sees_nothing(sum);
  for (int d = threadIdx.x; d < kSize; d += kThreads) {
    float f = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) f += at.parts[w * kSize + d];
    if (row < c.rows) store(p, c, head, row, d, none ? 0.0f : f * scale);
  }
  __syncthreads();
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  const Shared at = places(memory);
  const int block = (int)(blockIdx.x % (u32)c.row_blocks), first = block * kRows;
  const Head head = this_head(p, c, blockIdx.x / (u32)c.row_blocks);
  const int g = head.h / c.per_group;
  const Rows<KeyPast, KeyOwn> keys = {p.key_past + (s64)head.b * c.key_past_batch + (s64)g * c.key_past_head,
                                      p.key_own + (s64)head.b * c.key_own_batch + (s64)g * c.key_own_head,
                                      c.key_past_row, c.key_own_row};
  const Rows<ValuePast, ValueOwn> values = {
      p.value_past + (s64)head.b * c.value_past_batch + (s64)g * c.value_past_head,
      p.value_own + (s64)head.b * c.value_own_batch + (s64)g * c.value_own_head, c.value_past_row, c.value_own_row};
  keys.prefetch(c);  // whoever makes them: the L2 has what is there in the end
  values.prefetch(c);
  w_after();
  // Not before: the next step's weights would be on their way ahead of the caches, for which its few blocks wait.
  w_let_next();
  Raw k[kPasses], v[kPasses];
  keys.read(c, 0, k);
  values.read(c, 0, v);
  for (int i = threadIdx.x; i < kRows * kSize; i += kThreads) {
    const int row = first + i / kSize;
    at.query[i] = row < c.rows ? w_get(head.q[(s64)row * c.q_row + i % kSize]) : 0.0f;
  }
  if (threadIdx.x < kRows) at.sums[threadIdx.x] = 0;
  const bool keeps = kKept && block == 0 && head.h % c.per_group == 0;
  const s64 kept = ((s64)head.b * c.kv_heads + g) * c.keys * kSize;
  X* const kept_keys = keeps ? made_keys(p) + kept : nullptr;
  X* const kept_values = keeps ? made_values(p) + kept : nullptr;
  State state = {-W_INF, 0};
  float acc[kRows][8] = {};
#pragma unroll 1
  for (int base = 0; base < c.keys; base += kTile) {
    keys.put(c, base, k, at.keys, kept_keys);
    values.put(c, base, v, at.values, kept_values);
    __syncthreads();
    keys.read(c, base + kTile, k);
    values.read(c, base + kTile, v);
    score(p, c, head, first, base, at);
    __syncthreads();
    weigh(&state, at);
    __syncthreads();
    add_values(at, acc);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) finish_row(p, c, head, r, first + r, acc[r], at);
}
