// Attention of few rows over long keys and values of any type, in FP32, as a decoder's step reads its caches: a block
// takes up to kRows query rows of all heads that share keys, over its part of the keys, which its warps divide, kStep
// at a time. A thread copies pieces of kPieceBytes to shared memory, kStages turns ahead, and reads its own alone:
// nobody waits for others. kKeyLanes neighbours have a key. What the warps have made meets in shared memory, and what
// the parts of the keys have made, if they are several, in attention/joined.cuh. The problem: that of
// attention/parts.cuh, rows whose elements lie together, kCentered; kWarps, kThreads; kPieceBytes; kKeyPieces of a
// thread at once; kStages; kCluster: 1; kSharedBytes.
#pragma once
#include "backends/cuda/kernels/attention/floats.cuh"
#include "backends/cuda/kernels/attention/parts.cuh"

constexpr int kPiece = kPieceBytes / (int)sizeof(Key);
constexpr int lanes_of(int pieces) { return pieces <= 1 ? 1 : 2 * lanes_of((pieces + 1) / 2); }
constexpr int kKeyLanes = lanes_of(kSize / kPiece), kKeyGroups = 32 / kKeyLanes, kStep = kKeyGroups * kKeyPieces;
constexpr int kValueLanes = lanes_of(kValueSize / kPiece), kValueGroups = 32 / kValueLanes;
constexpr int kValuePieces = kStep / kValueGroups;
constexpr int kValuesAt = kKeyPieces * 32 * kPieceBytes, kTurnBytes = kValuesAt + kValuePieces * 32 * kPieceBytes;
// A key's lanes divide the scores of its rows and of the pieces behind it; kAlike lanes have the same.
constexpr int kSums = kRows * kKeyPieces, kOwn = kSums > kKeyLanes ? kSums / kKeyLanes : 1;
constexpr int kAlike = kKeyLanes > kSums ? kKeyLanes / kSums : 1;
constexpr int kOwnRows = kOwn > kKeyPieces ? kOwn / kKeyPieces : 1, kOwnKeys = kOwn / kOwnRows;
constexpr int kRowLanes = kKeyLanes / (kRows / kOwnRows);  // neighbours with the same rows
static_assert(kSize % kPiece == 0 && kValueSize % kPiece == 0 && kKeyLanes <= 32 && kValueLanes <= 32, "whole pieces");
static_assert(sizeof(Key) == sizeof(Value) && kValuePieces >= 1, "pieces alike");
static_assert(kWarps * kRows * kValueSize * 4 <= kSharedBytes, "room for what warps have made");

typedef float Floats[kPiece];
typedef float Scores[kOwnRows][kOwnKeys];
struct Part {
  float top[kOwnRows], sum[kOwnRows];  // of a thread's own rows; its part of the sum of exponentials
  Floats acc[kRows];
};
// What a warp's threads tell each other in a turn.
struct Told {
  float weights[kRows][kStep];
  float keep[kRows];  // what sums so far are worth
};

// The first of a thread's own scores: of row from / kKeyPieces, piece from % kKeyPieces.
W_FN int own_from() { return (int)threadIdx.x % kKeyLanes / kAlike * kOwn; }
// The one that speaks for those with the same rows.
W_FN bool tells() { return (int)threadIdx.x % 32 < kKeyLanes && (int)threadIdx.x % kRowLanes == 0; }
// The same of all lanes with a thread's rows.
template <class Add>
W_FN float of_row(float x, Add add) {
#pragma unroll
  for (int m = kAlike; m < kRowLanes; m *= 2) x = add(x, __shfl_xor_sync(0xffffffffu, x, m));
#pragma unroll
  for (int m = kKeyLanes; m < 32; m *= 2) x = add(x, __shfl_xor_sync(0xffffffffu, x, m));
  return x;
}

W_FN void copy(u8* to, const void* from, bool in) {
  if constexpr (kPieceBytes == 16)
    w_copy16(to, from, in);
  else
    w_copy8(to, from, in);
}

// A thread's pieces of kCount turns of kGroups rows each, from row `base` on; zeros from row `end` on. kAll: there are
// so many rows.
template <bool kAll, int kLanes, int kCount, int kPieces, class T>
W_FN void copy_rows(const T* x, s64 row, int base, int end, u8* to) {
  constexpr int kGroups = 32 / kLanes;
  const int lane = threadIdx.x % 32, piece = lane % kLanes, first = base + lane / kLanes;
  const T* const from = x + (s64)first * row + piece * kPiece;
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    const bool in = (kAll || first + n * kGroups < end) && (kPieces == kLanes || piece < kPieces);
    copy(to + (n * 32 + lane) * kPieceBytes, in ? from + n * kGroups * row : x, in);
  }
}

// A warp's keys and values from `base` on.
template <bool kAll>
W_FN void copy_turn(const Constants& c, const Key* k, const Value* v, int base, int end, u8* to) {
  copy_rows<kAll, kKeyLanes, kKeyPieces, kSize / kPiece>(k, c.k_row, base, end, to);
  copy_rows<kAll, kValueLanes, kValuePieces, kValueSize / kPiece>(v, c.v_row, base, end, to + kValuesAt);
}

W_FN const Piece<kPieceBytes>& piece_at(const u8* at, int n) {
  return *(const Piece<kPieceBytes>*)(at + (n * 32 + (int)threadIdx.x % 32) * kPieceBytes);
}

// Queries with the scales of scores and keys.
W_FN void load_queries(const Operands& p, const Constants& c, const Unit& u, const Rows (&rows)[kRows],
                       Floats (&made)[kRows]) {
  const int first = threadIdx.x % kKeyLanes * kPiece;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const X* const q = p.q + c.q_offset + (s64)u.b * c.q_batch + (s64)rows[r].h * c.q_head + (s64)rows[r].row * c.q_row;
#pragma unroll
    for (int e = 0; e < kPiece; ++e)
      made[r][e] = first + e < kSize ? w_get(q[first + e]) * ((float)kScale * key_scale(u.g, first + e)) : 0.0f;
  }
}

// Sums of v[0], v[1], ... over a key's lanes, which divide them: a thread gets its own.
W_FN void divide_sums(float (&v)[kSums]) {
#pragma unroll
  for (int m = kKeyLanes / 2, count = kSums; m > 0; m /= 2) {
    if (count == 1) {
      v[0] += __shfl_xor_sync(0xffffffffu, v[0], m);
      continue;
    }
    count /= 2;
    const bool upper = (threadIdx.x & m) != 0;
#pragma unroll
    for (int i = 0; i < kSums / 2; ++i) {
      if (i >= count) break;
      const float own = upper ? v[i + count] : v[i], other = upper ? v[i] : v[i + count];
      v[i] = own + __shfl_xor_sync(0xffffffffu, other, m);
    }
  }
}

// Scores of a turn.
W_FN void multiply_keys(const Floats (&q)[kRows], const u8* at, Scores& s) {
  float sums[kSums] = {};
#pragma unroll
  for (int n = 0; n < kKeyPieces; ++n) {
    Floats k;
    floats_of<Key, kPieceBytes>(piece_at(at, n), kKeyZero, k);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int e = 0; e < kPiece; ++e) sums[r * kKeyPieces + n] = fmaf(q[r][e], k[e], sums[r * kKeyPieces + n]);
  }
  divide_sums(sums);
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
    for (int i = 0; i < kOwnKeys; ++i) s[r][i] = sums[r * kOwnKeys + i];
}

// `first`: of a thread's keys, which are kKeyGroups apart.
W_FN void see(const Operands& p, const Constants& c, const Unit& u, const Rows (&own)[kOwnRows], int first, Scores& s) {
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
    for (int i = 0; i < kOwnKeys; ++i) {
      const int j = first + i * kKeyGroups;
      const bool seen = j < u.end && !(kCausal && j > own[r].row);
      s[r][i] = seen ? masked(p, c, capped(s[r][i]), u.b, own[r].h, own[r].row, j) : -W_INF;
    }
}

// Exponentials in place of scores, relative to the largest so far of a warp. They and what sums so far are worth go to
// where all lanes read them; `first`: a thread's key of the turn.
W_FN void raise(Scores& s, Part& part, int first, Told& told) {
  const int row = own_from() / kKeyPieces;
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    float now = part.top[r];
#pragma unroll
    for (int i = 0; i < kOwnKeys; ++i) now = w_max<float>(now, s[r][i]);
    now = of_row(now, Max());
    const float keep = now == part.top[r] ? 1.0f : expf(part.top[r] - now);
    part.top[r] = now;
    part.sum[r] *= keep;
#pragma unroll
    for (int i = 0; i < kOwnKeys; ++i) part.sum[r] += s[r][i] = now == -W_INF ? 0.0f : expf(s[r][i] - now);
    if (tells()) told.keep[row + r] = keep;
  }
  if (threadIdx.x % kAlike != 0) return;
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
    for (int i = 0; i < kOwnKeys; ++i) told.weights[row + r][first + i * kKeyGroups] = s[r][i];
}

W_FN void add_values(const Told& told, const u8* at, Floats (&acc)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    if (const float keep = told.keep[r]; keep != 1)  // of the whole warp; seldom, of long keys
#pragma unroll
      for (int e = 0; e < kPiece; ++e) acc[r][e] *= keep;
#pragma unroll
  for (int n = 0; n < kValuePieces; ++n) {
    Floats v;
    floats_of<Value, kPieceBytes>(piece_at(at, n), kValueZero, v);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float weight = told.weights[r][n * kValueGroups + (int)threadIdx.x % 32 / kValueLanes];
#pragma unroll
      for (int e = 0; e < kPiece; ++e) acc[r][e] = fmaf(weight, v[e], acc[r][e]);
    }
  }
}

// What the warps have made, as a block's.
W_FN void meet(const Operands& p, const Constants& c, const Unit& u, Part& part, float* results) {
  __shared__ float tops[kWarps][kRows], sums[kWarps][kRows];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __syncthreads();  // all have read what was copied
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    part.sum[r] = of_row(part.sum[r], Sum());
    if (tells()) {
      tops[warp][own_from() / kKeyPieces + r] = part.top[r];
      sums[warp][own_from() / kKeyPieces + r] = part.sum[r];
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
#pragma unroll
      for (int m = kValueLanes; m < 32; m *= 2) part.acc[r][e] += __shfl_xor_sync(0xffffffffu, part.acc[r][e], m);
      if (lane * kPiece < kValueSize && lane < kValueLanes)
        results[(warp * kRows + r) * kValueSize + lane * kPiece + e] = part.acc[r][e];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * kValueSize; i += kThreads) {
    const int r = i / kValueSize, d = i % kValueSize;
    float top = -W_INF, sum = 0, f = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = w_max<float>(top, tops[w][r]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float keep = top == -W_INF ? 1.0f : expf(tops[w][r] - top);
      sum += sums[w][r] * keep;
      f += results[(w * kRows + r) * kValueSize + d] * keep;
    }
    put(p, c, u, r, d, f, top, sum);
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  __shared__ Told told[kWarps];
  constexpr int kTogether = kWarps * kStep;
  const int warp = threadIdx.x / 32;
  const Unit u = this_unit(c);
  const Key* const k = keys_of(p, c, u);
  const Value* const v = values_of(p, c, u);
  u8* const own = memory + warp * kStages * kTurnBytes;
  const auto load = [&](int from, u8* to) {
    const int base = from + warp * kStep;
    if (from + kTogether <= u.end)
      copy_turn<true>(c, k, v, base, u.end, to);
    else if (from < u.end)
      copy_turn<false>(c, k, v, base, u.end, to);
    w_commit();
  };
  w_after();
  w_let_next();
#pragma unroll
  for (int i = 0; i < kStages; ++i) load(u.first + i * kTogether, own + i * kTurnBytes);
  Rows rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) rows[r] = row_of(c, u.g, u.block * kRows + r);
  Floats q[kRows];
  load_queries(p, c, u, rows, q);
  const int from = own_from(), group = (int)threadIdx.x % 32 / kKeyLanes;
  const int first = from % kKeyPieces * kKeyGroups + group;
  Rows own_rows[kOwnRows];
  Part part = {};
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    own_rows[r] = row_of(c, u.g, u.block * kRows + from / kKeyPieces + r);
    part.top[r] = -W_INF;
  }
  int turn = 0;
#pragma unroll 1
  for (int base = u.first; base < u.end; base += kTogether) {
    u8* const at = own + turn * kTurnBytes;
    turn = turn + 1 == kStages ? 0 : turn + 1;
    w_wait<kStages - 1>();
    Scores s;
    multiply_keys(q, at, s);
    see(p, c, u, own_rows, base + warp * kStep + first, s);
    raise(s, part, first, told[warp]);
    w_meet<32, kWarps>(warp);
    add_values(told[warp], at + kValuesAt, part.acc);
    w_meet<32, kWarps>(warp);
    load(base + kStages * kTogether, at);
  }
  w_wait<0>();
  meet(p, c, u, part, (float*)memory);
}
