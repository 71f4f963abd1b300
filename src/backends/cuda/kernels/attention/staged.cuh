// Attention on tensor cores where heads are many: a block takes kRows query rows of one head, a warp 16 of them, over
// kKeys keys at a time, which are in shared memory for all of its warps while the next ones are on their way. Scores
// are those of kStep keys at once; exponentials are powers of two, relative to the largest score so far. The problem:
// that of attention/head.cuh, X of 16 bits, or FP32 that is multiplied as TF32, in rows whose elements lie together; Y,
// of no more bits; kThreads, kRows, kKeys, kStep; kAddsMask: masked() adds something; kWhole, kAllRows: no tile reaches
// beyond the keys, the rows; kCluster: 1; kSharedBytes; Constants {row_blocks: of a head}.
#pragma once
#include "backends/cuda/kernels/attention/head.cuh"
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kBytes = sizeof(X), kPiece = 16 / kBytes;
constexpr int kWarps = kThreads / 32, kKeyLine = kSize * kBytes, kValueLine = kValueSize * kBytes;  // bytes of a row
constexpr int kStages = 2, kStageBytes = kKeys * (kKeyLine + kValueLine);
constexpr int kOwnBytes = 16 * kKeyLine;  // a warp's queries, then its results
static_assert(kValueSize <= kSize && sizeof(Y) <= kBytes);
constexpr int kGroups = kStep / 8, kParts = kValueSize / 8;
constexpr float kLog2e = 1.44269504088896f;

typedef float Scores[kGroups][4];  // rows lane / 4 and 8 more of two keys each, as w_mma() has them
typedef float Sums[kParts][4];     // the same rows of two columns each

// Where piece `q` of 16 bytes of a line is: so exchanged that the pieces of a number of eight lines meet all banks.
template <int kLine>
W_FN int piece_at(int line, int q) {
  return line * kLine + (kLine % 128 == 0 ? q ^ (line & 7) : kLine % 64 == 0 ? q ^ (line >> 1 & 3) : q) * 16;
}

// kLines rows from `first` on to shared memory; zeros from row `end` on. kAll: there are so many.
template <int kLine, int kLines, bool kAll>
W_FN void load_lines(const X* x, s64 row, int first, int end, u8* to) {
  constexpr int kPieces = kLine / 16, kAtOnce = kThreads / kPieces;
  const int own = (int)(threadIdx.x / kPieces), q = (int)(threadIdx.x % kPieces);
  if (kThreads % kPieces != 0 && own >= kAtOnce) return;
  const X* const from = x + (s64)(first + own) * row + q * kPiece;
#pragma unroll
  for (int n = 0; n < kLines; n += kAtOnce) {
    if (kLines % kAtOnce != 0 && n + own >= kLines) break;
    const bool in = kAll || first + own + n < end;
    w_copy16(to + piece_at<kLine>(n + own, q), in ? from + n * row : x, in);
  }
}

// What tensor cores are to read of four operands: the nearest, where they would cut bits off.
W_FN void as_multiplied(Pack<u32, 4>* v) {
  if constexpr (kBytes == 4)
#pragma unroll
    for (int i = 0; i < 4; ++i) v->v[i] = w_tf32(v->v[i]);
}

// Products of the warp's queries and the keys from line `base` on.
W_FN void multiply_keys(const u8* own, const u8* keys, int base, Scores& s) {
#pragma unroll
  for (int part = 0; part < kKeyLine / 64; ++part) {
    Pack<u32, 4> q[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      w_matrices(&q[half], own, 0,
                 [&](int lane) { return piece_at<kKeyLine>(lane % 16, part * 4 + half * 2 + lane / 16); });
#pragma unroll
    for (int half = 0; half < 2; ++half) as_multiplied(&q[half]);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      Pack<u32, 4> k;
      w_matrices(&k, keys, 0,
                 [&](int lane) { return piece_at<kKeyLine>(base + i * 8 + lane % 8, part * 4 + lane / 8); });
      as_multiplied(&k);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        w_mma<X>(s[i], q[half].v[0], q[half].v[1], q[half].v[2], q[half].v[3], k.v[half * 2], k.v[half * 2 + 1]);
    }
  }
}

// acc += exponentials * the values from line `base` on, of 32 bits. Of eight keys a thread has two neighbours: which
// places of a product they take does not matter as long as both operands agree.
W_FN void add_words(const Scores& s, const u8* values, int base, Sums& acc) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    u32 a[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) a[n] = w_tf32(w_f2bits(s[i][n % 2 * 2 + n / 2]));
#pragma unroll
    for (int j = 0; j < kParts; ++j) {
      u32 b[2];
#pragma unroll
      for (int n = 0; n < 2; ++n)
        b[n] =
            w_tf32(*(const u32*)(values + piece_at<kValueLine>(base + i * 8 + t * 2 + n, j * 2 + g / 4) + g % 4 * 4));
      w_mma<X>(acc[j], a[0], a[1], a[2], a[3], b[0], b[1]);
    }
  }
}

// The same of 16 bits.
template <class T>
W_FN void add_halves(const Scores& s, const u8* values, int base, Sums& acc) {
#pragma unroll
  for (int i = 0; i < kStep / 16; ++i) {
    u32 a[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) a[n] = w_halves<T>(s[i * 2 + n / 2][n % 2 * 2], s[i * 2 + n / 2][n % 2 * 2 + 1]);
#pragma unroll
    for (int j = 0; j < kParts; j += 2) {
      Pack<u32, 4> v;
      w_turned_matrices(&v, values,
                        [&](int lane) { return piece_at<kValueLine>(base + i * 16 + lane % 16, j + lane / 16); });
#pragma unroll
      for (int half = 0; half < 2; ++half)
        w_mma<X>(acc[j + half], a[0], a[1], a[2], a[3], v.v[half * 2], v.v[half * 2 + 1]);
    }
  }
}

template <class T>
W_FN void add_values(const Scores& s, const u8* values, int base, Sums& acc) {
  if constexpr (sizeof(T) == 4)
    add_words(s, values, base, acc);
  else
    add_halves<T>(s, values, base, acc);
}

// The scores of the keys from `base` on as a row sees them, in powers of two.
W_FN void see(const Operands& p, const Constants& c, const Head& head, const int (&rows)[2], int base, Scores& s) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = base + i * 8 + threadIdx.x % 4 * 2 + e % 2, row = rows[e / 2];
      const bool seen = (kWhole || j < c.keys) && !(kCausal && j > row);
      float score = kCap > 0 ? capped(s[i][e] * (float)kScale) * kLog2e : s[i][e] * ((float)kScale * kLog2e);
      if constexpr (kAddsMask) {
        const float m = masked(p, c, 0.0f, head.b, head.h, kAllRows || row < c.rows ? row : 0, seen ? j : 0);
        score = m == -W_INF ? m : score + m * kLog2e;
      }
      s[i][e] = seen ? score : -W_INF;
    }
}

// What a warp has so far: of a thread's two rows the largest score, its part of the sum of exponentials relative to it,
// and of the weighted values.
struct Part {
  float top[2], sum[2];
  Sums acc;
};

// Exponentials in place of scores.
W_FN void raise(Scores& s, Part& part) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float now = part.top[r];
#pragma unroll
    for (int i = 0; i < kGroups; ++i) now = fmaxf(now, fmaxf(s[i][r * 2], s[i][r * 2 + 1]));
#pragma unroll
    for (int m = 1; m < 4; m *= 2) now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, m));
    const float from = now == -W_INF ? 0.0f : now, keep = w_exp2_near(part.top[r] - from);
    part.top[r] = now;
    part.sum[r] *= keep;
#pragma unroll
    for (int j = 0; j < kParts; ++j)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) part.acc[j][e] *= keep;
#pragma unroll
    for (int i = 0; i < kGroups; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) part.sum[r] += s[i][e] = w_exp2_near(s[i][e] - from);
  }
}

// The warp's results, by way of shared memory: a thread has two neighbours, and stores 16 bytes.
W_FN void store_rows(const Operands& p, const Constants& c, const Head& head, int first, const int (&rows)[2],
                     Part& part, u8* own) {
  constexpr int kLine = kValueSize * (int)sizeof(Y), kPieces = kLine / 16;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = part.sum[r];
#pragma unroll
    for (int m = 1; m < 4; m *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    const bool none = sees_nothing(sum);
    const float scale = none ? 0.0f : 1.0f / sum;
    const int row = kAllRows || rows[r] < c.rows ? rows[r] : 0;
#pragma unroll
    for (int j = 0; j < kParts; ++j) {
      Pack<Y, 2> y;
#pragma unroll
      for (int e = 0; e < 2; ++e)
        y.v[e] = epilogue(p, c, none ? 0.0f : part.acc[j][r * 2 + e] * scale, head.b, head.h, row, j * 8 + t * 2 + e);
      const int byte = (j * 8 + t * 2) * (int)sizeof(Y);
      *(Pack<Y, 2>*)(own + piece_at<kLine>(g + r * 8, byte / 16) + byte % 16) = y;
    }
  }
  w_meet<32, kWarps>(0);
  Y* const to = p.y + ((s64)head.b * c.y_batch + (s64)head.h * c.y_head);
#pragma unroll
  for (int from = 0; from < 16 * kPieces; from += 32) {
    const int line = (from + lane) / kPieces, q = (from + lane) % kPieces;
    if (kAllRows || first + line < c.rows)
      *(Pack<u32, 4>*)(to + (s64)(first + line) * c.y_row + q * (16 / (int)sizeof(Y))) =
          *(const Pack<u32, 4>*)(own + piece_at<kLine>(line, q));
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int begin = (int)(blockIdx.x % (u32)c.row_blocks) * kRows, first = begin + warp * 16;
  const Head head = this_head(p, c, blockIdx.x / (u32)c.row_blocks);
  const int rows[2] = {first + lane / 4, first + lane / 4 + 8};
  const int end = kCausal && begin + kRows < c.keys ? begin + kRows : c.keys;
  u8* const own = memory + warp * kOwnBytes;
  const auto keys = [&](int tile) { return memory + kWarps * kOwnBytes + tile % kStages * kStageBytes; };
  const auto values = [&](int tile) { return keys(tile) + kKeys * kKeyLine; };
  // Keys and values are waited for apart, in this order; behind the last tile there is nothing to wait for.
  const auto load = [&](int tile) {
    if (tile * kKeys < end) load_lines<kKeyLine, kKeys, kWhole>(head.k, c.k_row, tile * kKeys, c.keys, keys(tile));
    w_commit();
    if (tile * kKeys < end) load_lines<kValueLine, kKeys, kWhole>(head.v, c.v_row, tile * kKeys, c.keys, values(tile));
    w_commit();
  };
  w_begin();
  load_lines<kKeyLine, kRows, kAllRows>(head.q, c.q_row, begin, c.rows, memory);
#pragma unroll
  for (int s = 0; s < kStages; ++s) load(s);
  Part part = {{-W_INF, -W_INF}, {0, 0}, {}};
#pragma unroll 1
  for (int tile = 0; tile * kKeys < end; ++tile) {
    w_wait<kStages * 2 - 1>();
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < kKeys; step += kStep) {
      Scores s = {};
      multiply_keys(own, keys(tile), step, s);
      see(p, c, head, rows, tile * kKeys + step, s);
      raise(s, part);
      if (step == 0) {
        w_wait<kStages * 2 - 2>();
        __syncthreads();
      }
      add_values<X>(s, values(tile), step, part.acc);
    }
    __syncthreads();
    load(tile + kStages);
  }
  store_rows(p, c, head, first, rows, part, own);
}
