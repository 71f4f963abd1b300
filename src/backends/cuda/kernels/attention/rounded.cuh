// Attention of integers or floats of 8 bits whose weights are rounded to such, too: a block takes kRows query rows of
// one head, a warp 16 of them, over kKeys keys at a time, which are in shared memory for all of its warps while the
// next ones are on their way. It goes over the keys twice: what rounds a weight follows from the sum of its whole row.
// Of integers, sums of both products are whole numbers; floats become those of 16 bits in registers, whose products are
// exact. Which keys of a sum, and which columns, a thread has at once does not matter as long as both operands agree.
// The problem: that of attention/head.cuh, X, Key and Value of 8 bits, rows whose elements lie together; Y; kThreads,
// kRows, kKeys; kQueryZero; kScoreGrid, kScoreLow, kScoreHigh: scores are rounded to whole multiples of the first, from
// the second to the third, 0: they are not; kWeightGrid, kWeightHigh, Weight: of weights, and their type;
// kAddsMask: masked() adds something; kCluster: 1; kSharedBytes; Constants {row_blocks: of a head}.
#pragma once
#include "backends/cuda/kernels/attention/halves.cuh"
#include "backends/cuda/kernels/attention/head.cuh"

constexpr int kWarps = kThreads / 32, kStages = 2;
constexpr int kKeyPitch = kSize + 16, kValuePitch = kValueSize + 16;  // bytes: neighbours are in different banks
constexpr int kStageBytes = kKeys * (kKeyPitch + kValuePitch);
constexpr u32 kOnes = 0x01010101u;
constexpr float kLog2e = 1.44269504088896f;
constexpr int kGroups = kKeys / 8, kColumns = kValueSize / 8, kValueWords = kColumns / 4;
constexpr int kZeroOfKeys = (int)kKeyZero - Signed<Key>::kLower,
              kZeroOfValues = (int)kValueZero - Signed<Value>::kLower;
static_assert(kSize % 64 == 0 && kValueSize % 32 == 0 && kKeys % 32 == 0, "pieces of all threads");

// A thread's parts of a 16 x 32 tile of A and a 32 x 8 tile of B.
struct Words {
  u32 a[4], b[2];
};
template <class A, class B>
struct Products {
  typedef int Total;
  static W_M void add(int (&d)[4], const Words& w) { w_mma<A>(d, w.a[0], w.a[1], w.a[2], w.a[3], w.b[0], w.b[1]); }
};
// The halves of a word are places of the sum beside each other.
template <class A, class B>
struct FloatProducts {
  typedef float Total;
  static W_M void add(float (&d)[4], const Words& w) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 one[2], other[2], b[2];
      ToHalves<f16, A>::of(w.a[i * 2], one);
      ToHalves<f16, A>::of(w.a[i * 2 + 1], other);
      ToHalves<f16, B>::of(w.b[i], b);
      w_mma<f16>(d, one[0], other[0], one[1], other[1], b[0], b[1]);
    }
  }
};
template <class B>
struct Products<f8e4m3, B> : FloatProducts<f8e4m3, B> {};
template <class B>
struct Products<f8e5m2, B> : FloatProducts<f8e5m2, B> {};

typedef Products<X, Signed<Key>::t> KeyProducts;
typedef Products<Weight, Signed<Value>::t> ValueProducts;
typedef Products<Weight, Signed<Key>::t> KeySums;  // of ones, which are bytes where the weights are
typedef KeyProducts::Total Total;

typedef Total Scores[kGroups][4];  // rows lane / 4 and 8 more of two keys each, as w_mma() has them
typedef float Seen[kGroups][4];    // the same as scores
typedef Total Sums[kColumns][4];   // the same rows of columns (lane % 4 * 2 + 0 or 1) * kColumns + i

// kLines rows of kBytes from `first` on to shared memory; zeros from row `end` on.
template <int kBytes, int kPitch, int kLines, class T>
W_FN void load_rows(const T* x, s64 row, int first, int end, u8* to) {
  constexpr int kPieces = kBytes / 16;
  for (int i = threadIdx.x; i < kLines * kPieces; i += kThreads) {
    const int line = i / kPieces, q = i % kPieces;
    const bool in = first + line < end;
    w_copy16(to + line * kPitch + q * 16, in ? x + (s64)(first + line) * row + q * 16 : x, in);
  }
}

// Products of the warp's queries and a tile's keys; and of ones and the keys, where the queries have a zero point.
W_FN void multiply_keys(const u8* own, const u8* keys, Scores& s, Scores& sums) {
#pragma unroll
  for (int part = 0; part < kSize / 64; ++part) {
    Pack<u32, 4> q[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      w_matrices(&q[half], own, 0,
                 [&](int lane) { return lane % 16 * kKeyPitch + (part * 4 + half * 2 + lane / 16) * 16; });
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      Pack<u32, 4> k;
      w_matrices(&k, keys, 0, [&](int lane) { return (i * 8 + lane % 8) * kKeyPitch + (part * 4 + lane / 8) * 16; });
#pragma unroll
      for (int e = 0; e < 4; ++e) k.v[e] ^= Signed<Key>::kFlip;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Pack<u32, 4>& a = q[half];
        const u32 b[2] = {k.v[half * 2], k.v[half * 2 + 1]};
        KeyProducts::add(s[i], {{a.v[0], a.v[1], a.v[2], a.v[3]}, {b[0], b[1]}});
        if constexpr (kQueryZero != 0) KeySums::add(sums[i], {{kOnes, kOnes, kOnes, kOnes}, {b[0], b[1]}});
      }
    }
  }
}

// What zero points add to all sums of a row: by the products of the queries and ones.
W_FN void row_terms(const u8* own, Total (&terms)[2]) {
  Total sums[4] = {};
#pragma unroll
  for (int part = 0; part < kSize / 32; ++part) {
    Pack<u32, 4> q;
    w_matrices(&q, own, 0, [&](int lane) { return lane % 16 * kKeyPitch + (part * 2 + lane / 16) * 16; });
    Products<X, s8>::add(sums, {{q.v[0], q.v[1], q.v[2], q.v[3]}, {kOnes, kOnes}});
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) terms[r] = kSize * kQueryZero * kZeroOfKeys - kZeroOfKeys * sums[r * 2];
}

// The scores of the keys from `base` on as a row sees them.
W_FN void see(const Operands& p, const Constants& c, const Head& head, const int (&rows)[2], const Total (&terms)[2],
              int base, const Scores& s, const Scores& sums, Seen& seen) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = base + i * 8 + threadIdx.x % 4 * 2 + e % 2, row = rows[e / 2];
      const bool there = j < c.keys && !(kCausal && j > row);
      const float x = (float)(s[i][e] + terms[e / 2] - (kQueryZero != 0 ? kQueryZero * sums[i][e] : 0));
      float score;
      if constexpr (kScoreGrid > 0)
        score = fminf(fmaxf(rintf(x * (float)(kScale / kScoreGrid)), (float)kScoreLow), (float)kScoreHigh) *
                (float)kScoreGrid;
      else
        score = x * (float)kScale;
      score = capped(score);
      if constexpr (kAddsMask) score = masked(p, c, score, head.b, head.h, row < c.rows ? row : 0, there ? j : 0);
      seen[i][e] = there ? score : -W_INF;
    }
}

W_FN float power(float score, float top) { return w_exp2_near(score * kLog2e - top * kLog2e); }

// The largest score of a thread's two rows so far, and its part of the sum of exponentials relative to it.
struct State {
  float top[2], sum[2];
};
W_FN void add_exponentials(const Seen& s, State& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = state.top[r];
#pragma unroll
    for (int i = 0; i < kGroups; ++i) most = w_max<float>(most, w_max<float>(s[i][r * 2], s[i][r * 2 + 1]));
#pragma unroll
    for (int m = 1; m < 4; m *= 2) most = w_max<float>(most, __shfl_xor_sync(0xffffffffu, most, m));
    const float from = most == -W_INF ? 0.0f : most;
    float sum = state.sum[r] * power(state.top[r], from);
#pragma unroll
    for (int i = 0; i < kGroups; ++i)
#pragma unroll
      for (int e = r * 2; e < r * 2 + 2; ++e) sum += power(s[i][e], from);
    state.top[r] = most;
    state.sum[r] = sum;
  }
}

// A thread's sums become a row's, and these what turns an exponential into steps of the weights' grid; 0 where a row
// sees nothing, or no numbers.
W_FN void close(State& state) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
#pragma unroll
    for (int m = 1; m < 4; m *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    state.sum[r] = sum > 0 ? 1.0f / (sum * (float)kWeightGrid) : 0.0f;
    if (state.top[r] == -W_INF) state.top[r] = 0;
  }
}

// In steps of the grid.
W_FN float weight_of(float score, float top, float steps) {
  return steps > 0 ? fminf(power(score, top) * steps, (float)kWeightHigh) : 0.0f;
}

// Four weights as bytes; of integers their sum is added to `count`.
W_FN u32 bytes_of(const float (&w)[4], int* count, u8) {
  int whole[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) *count += whole[e] = (int)rintf(w[e]);
  return w_near_bytes<false>(whole[0], whole[1], whole[2], whole[3]);
}
template <class T>
W_FN u32 bytes_of(const float (&w)[4], int*, T) {
  u32 made = 0;
#pragma unroll
  for (int e = 0; e < 4; ++e) made |= (u32)Put<T>::to(w[e]).x << (e * 8);
  return made;
}

// acc += weights * a tile's values, all of them by 32 keys; `counts`: sums of weights.
W_FN void add_values(const Seen& s, const State& state, const u8* values, Sums& acc, int (&counts)[2]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < kKeys / 32; ++i) {
    u32 a[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) {  // rows g, g + 8 of the first sixteen keys, of the others
      const int r = n % 2, from = i * 4 + n / 2 * 2;
      float w[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) w[e] = weight_of(s[from + e / 2][r * 2 + e % 2], state.top[r], state.sum[r]);
      a[n] = bytes_of(w, &counts[r], Weight());
    }
    Pack<u32, kValueWords> rows[2][4];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = i * 32 + half * 16 + e / 2 * 8 + t * 2 + e % 2;
        rows[half][e] = *(const Pack<u32, kValueWords>*)(values + key * kValuePitch + g * kColumns);
      }
#pragma unroll
    for (int w = 0; w < kValueWords; ++w) {
      u32 b[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int two = 0; two < 2; ++two) {  // columns 0 and 1 of a word, 2 and 3
          const u32 from = two == 0 ? 0x5140 : 0x7362;
          const u32 low = w_bytes_of(rows[half][0].v[w], rows[half][1].v[w], from),
                    high = w_bytes_of(rows[half][2].v[w], rows[half][3].v[w], from);
          b[half][two * 2] = w_bytes_of(low, high, 0x5410) ^ Signed<Value>::kFlip;
          b[half][two * 2 + 1] = w_bytes_of(low, high, 0x7632) ^ Signed<Value>::kFlip;
        }
      }
#pragma unroll
      for (int x = 0; x < 4; ++x) ValueProducts::add(acc[w * 4 + x], {{a[0], a[1], a[2], a[3]}, {b[0][x], b[1][x]}});
    }
  }
}

W_FN void store_rows(const Operands& p, const Constants& c, const Head& head, const int (&rows)[2], const Sums& acc,
                     int (&counts)[2]) {
  constexpr int kPack = kColumns % 8 == 0 ? 8 : 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int m = 1; m < 4; m *= 2) counts[r] += __shfl_xor_sync(0xffffffffu, counts[r], m);
    if (rows[r] >= c.rows) continue;
    const int less = kZeroOfValues * counts[r];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int from = 0; from < kColumns; from += kPack) {
        const int d = (threadIdx.x % 4 * 2 + half) * kColumns + from;
        Pack<Y, kPack> y;
#pragma unroll
        for (int x = 0; x < kPack; ++x) {
          const float f =
              (float)(acc[from + x][r * 2 + half] - less) * ((float)kWeightGrid * value_scale(head.g, d + x));
          y.v[x] = epilogue(p, c, f, head.b, head.h, rows[r], d + x);
        }
        *(Pack<Y, kPack>*)(p.y + (s64)head.b * c.y_batch + (s64)head.h * c.y_head + (s64)rows[r] * c.y_row + d) = y;
      }
  }
}

W_FN void kernel(const Operands& p, const Constants& c) {
  W_SHARED(memory, kSharedBytes);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int begin = (int)(blockIdx.x % (u32)c.row_blocks) * kRows, first = begin + warp * 16;
  const Head head = this_head(p, c, blockIdx.x / (u32)c.row_blocks);
  const int rows[2] = {first + lane / 4, first + lane / 4 + 8};
  const int end = kCausal && begin + kRows < c.keys ? begin + kRows : c.keys, tiles = (end + kKeys - 1) / kKeys;
  u8* const own = memory + warp * 16 * kKeyPitch;
  const auto keys = [&](int turn) { return memory + kRows * kKeyPitch + turn % kStages * kStageBytes; };
  const auto values = [&](int turn) { return keys(turn) + kKeys * kKeyPitch; };
  // First the keys alone, then both.
  const auto load = [&](int turn) {
    const int tile = turn % tiles;
    if (turn < 2 * tiles) load_rows<kSize, kKeyPitch, kKeys>(head.k, c.k_row, tile * kKeys, c.keys, keys(turn));
    if (turn >= tiles && turn < 2 * tiles)
      load_rows<kValueSize, kValuePitch, kKeys>(head.v, c.v_row, tile * kKeys, c.keys, values(turn));
    w_commit();
  };
  w_begin();
  load_rows<kSize, kKeyPitch, kRows>(head.q, c.q_row, begin, c.rows, memory);
#pragma unroll
  for (int s = 0; s < kStages; ++s) load(s);
  State state = {{-W_INF, -W_INF}, {0, 0}};
  Sums acc = {};
  int counts[2] = {};
  Total terms[2] = {};
#pragma unroll 1
  for (int turn = 0; turn < 2 * tiles; ++turn) {
    w_wait<kStages - 1>();
    __syncthreads();
    if (turn == 0 && kZeroOfKeys != 0) row_terms(own, terms);
    Scores s = {}, sums = {};
    Seen seen;
    multiply_keys(own, keys(turn), s, sums);
    see(p, c, head, rows, terms, turn % tiles * kKeys, s, sums, seen);
    if (turn < tiles)
      add_exponentials(seen, state);
    else
      add_values(seen, state, values(turn), acc, counts);
    if (turn == tiles - 1) close(state);
    __syncthreads();
    load(turn + kStages);
  }
  store_rows(p, c, head, rows, acc, counts);
}
