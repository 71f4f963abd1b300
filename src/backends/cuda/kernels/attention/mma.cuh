// Attention over few keys on tensor cores: a block takes kRows query rows of one head, and its warps divide the keys,
// kKeys at a time; what they have made meets in shared memory, added in the order of the warps. Keys and values go from
// memory to registers: nobody else in the block reads them, and all are on their way at once. Which elements of a sum,
// and which columns, a thread has at once does not matter as long as both operands agree: it takes those that lie
// together.
// The problem: that of attention/head.cuh, X of 16 bits and in rows whose elements lie together; Y; kThreads, kWarps,
// kKeys; kKept: of the rows, those that there are; Constants {row_blocks: of a head}.
#pragma once
#include "backends/cuda/kernels/attention/head.cuh"
#include "backends/cuda/kernels/gemm/mma.cuh"

constexpr int kRows = 16, kSteps = kSize / 32, kKeyParts = kKeys / 8, kValueParts = kValueSize / 32;
constexpr int kPitch = kValueSize + 4;  // of results in shared memory

typedef Pack<u32, 4> Quad;
typedef Pack<u32, 2> Couple;
typedef float Scores[kKeyParts][4];     // rows t / 4 and 8 more of two keys each, as mma has them
typedef float Sums[kValueParts][4][4];  // the same rows of columns 8 * (t % 4) + 0 ... 7 of each 32

// Of what comes after the last: the last, which no row sees.
W_FN int within(int i, int count) { return i < count ? i : count - 1; }

W_FN void load_keys(const Head& head, const Constants& c, int base, Quad (&k)[kKeyParts][kSteps]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < kKeyParts; ++i)
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      k[i][s] = *(const Quad*)(head.k + (s64)within(base + i * 8 + g, c.keys) * c.k_row + s * 32 + t * 8);
}

// Of each sixteen keys those that a thread multiplies at once: two neighbours of the first eight, two of the others.
W_FN void load_values(const Head& head, const Constants& c, int base, Couple (&v)[kKeys / 16][4][kValueParts]) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i)
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const X* const row = head.v + (s64)within(base + i * 16 + n / 2 * 8 + t * 2 + n % 2, c.keys) * c.v_row;
#pragma unroll
      for (int part = 0; part < kValueParts; ++part) v[i][n][part] = *(const Couple*)(row + part * 32 + g * 4);
    }
}

W_FN u32 both(float a, float b) { return (u32)Put<X>::to(a).x | (u32)Put<X>::to(b).x << 16; }

// What is added to the scores of the keys from `base` on: the mask, and minus infinity for those that a row does not
// see.
W_FN void load_mask(const Operands& p, const Constants& c, const Head& head, const int (&rows)[2], int base,
                    Scores& mask) {
#pragma unroll
  for (int i = 0; i < kKeyParts; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int j = base + i * 8 + threadIdx.x % 4 * 2 + e % 2, row = rows[e / 2];
      const float m = masked(p, c, 0.0f, head.b, head.h, row, within(j, c.keys));
      mask[i][e] = j < c.keys && !(kCausal && j > row) ? m : -W_INF;
    }
}

// Scores as they are seen; `most` gets the largest of each of the two rows.
W_FN void see(const Scores& mask, Scores& s, float (&most)[2]) {
  most[0] = most[1] = -W_INF;
#pragma unroll
  for (int i = 0; i < kKeyParts; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[i][e] = mask[i][e] == -W_INF ? -W_INF : capped(s[i][e] * (float)kScale) + mask[i][e];
      most[e / 2] = w_max<float>(most[e / 2], s[i][e]);
    }
#pragma unroll
  for (int m = 1; m < 4; m *= 2)
#pragma unroll
    for (int r = 0; r < 2; ++r) most[r] = w_max<float>(most[r], __shfl_xor_sync(0xffffffffu, most[r], m));
}

// acc += exponentials * values.
W_FN void add_values(const Scores& s, const Couple (&v)[kKeys / 16][4][kValueParts], Sums& acc) {
#pragma unroll
  for (int i = 0; i < kKeys / 16; ++i) {
    u32 a[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) a[n] = both(s[i * 2 + n / 2][n % 2 * 2], s[i * 2 + n / 2][n % 2 * 2 + 1]);
#pragma unroll
    for (int part = 0; part < kValueParts; ++part)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        u32 b[2];
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          const u32 one = v[i][n * 2][part].v[x / 2], two = v[i][n * 2 + 1][part].v[x / 2];
          b[n] = x % 2 == 0 ? (one & 0xffffu) | two << 16 : one >> 16 | (two & 0xffff0000u);
        }
        w_mma<X>(acc[part][x], a[0], a[1], a[2], a[3], b[0], b[1]);
      }
  }
}

// What a warp makes of its keys: for each of a thread's two rows the largest score, the sum of exponentials relative to
// it and the weighted values.
struct Part {
  float top[2], sum[2];
  Sums acc;
};

W_FN void attend(const Operands& p, const Constants& c, const Head& head, const int (&rows)[2], Part* part) {
  const int t = threadIdx.x % 4;
  Quad q[2][kSteps];
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int s = 0; s < kSteps; ++s) q[r][s] = *(const Quad*)(head.q + (s64)rows[r] * c.q_row + s * 32 + t * 8);
#pragma unroll 1
  for (int from = 0; from < c.keys; from += kWarps * kKeys) {
    const int base = from + (int)threadIdx.x / 32 * kKeys;
    Quad k[kKeyParts][kSteps];
    Couple v[kKeys / 16][4][kValueParts];
    Scores mask;
    load_keys(head, c, base, k);
    load_mask(p, c, head, rows, base, mask);
    load_values(head, c, base, v);
    Scores s = {};
#pragma unroll
    for (int i = 0; i < kKeyParts; ++i)
#pragma unroll
      for (int d = 0; d < kSteps; ++d)
#pragma unroll
        for (int n = 0; n < 4; n += 2)
          w_mma<X>(s[i], q[0][d].v[n], q[1][d].v[n], q[0][d].v[n + 1], q[1][d].v[n + 1], k[i][d].v[n],
                   k[i][d].v[n + 1]);
    float most[2];
    see(mask, s, most);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float now = w_max<float>(part->top[r], most[r]), keep = now == -W_INF ? 0.0f : expf(part->top[r] - now);
      float more = 0;
#pragma unroll
      for (int i = 0; i < kKeyParts; ++i)
#pragma unroll
        for (int e = r * 2; e < r * 2 + 2; ++e) more += s[i][e] = now == -W_INF ? 0.0f : expf(s[i][e] - now);
#pragma unroll
      for (int m = 1; m < 4; m *= 2) more += __shfl_xor_sync(0xffffffffu, more, m);
      part->top[r] = now;
      part->sum[r] = part->sum[r] * keep + more;
#pragma unroll
      for (int i = 0; i < kValueParts * 4; ++i)
#pragma unroll
        for (int e = r * 2; e < r * 2 + 2; ++e) part->acc[i / 4][i % 4][e] *= keep;
    }
    add_values(s, v, part->acc);
  }
}

// Four neighbours of a row, which lie in steps of so many.
W_FN void store_vector(const Operands& p, const Constants& c, const Head& head, int row, int d, const Pack<float, 4>& f,
                       float scale) {
  const s64 at = (s64)head.b * c.y_batch + (s64)head.h * c.y_head + (s64)row * c.y_row + d;
  Pack<Y, 4> y;
#pragma unroll
  for (int k = 0; k < 4; ++k) y.v[k] = epilogue(p, c, f.v[k] * scale, head.b, head.h, row, d + k);
  *(Pack<Y, 4>*)(p.y + at) = y;
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ float tops[kWarps][kRows], sums[kWarps][kRows];
  __shared__ Pack<float, 4> results[kWarps][kKept][kPitch / 4];
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int first = (int)(blockIdx.x % (u32)c.row_blocks) * kRows;
  const Head head = this_head(p, c, blockIdx.x / (u32)c.row_blocks);
  const int rows[2] = {within(first + g, c.rows), within(first + g + 8, c.rows)};
  w_after();
  w_let_next();
  Part part = {{-W_INF, -W_INF}, {0, 0}, {}};
  attend(p, c, head, rows, &part);
  if (t == 0)
#pragma unroll
    for (int r = 0; r < 2; ++r) tops[warp][g + r * 8] = part.top[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float top = -W_INF;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = w_max<float>(top, tops[w][g + r * 8]);
    const float keep = top == -W_INF ? 0.0f : expf(part.top[r] - top);
#pragma unroll
    for (int i = 0; i < kValueParts; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Sums& a = part.acc;
        const int e = r * 2 + half;
        if (g + r * 8 < kKept)
          results[warp][g + r * 8][i * 8 + t * 2 + half] = {a[i][0][e] * keep, a[i][1][e] * keep, a[i][2][e] * keep,
                                                            a[i][3][e] * keep};
      }
    if (t == 0) sums[warp][g + r * 8] = part.sum[r] * keep;
  }
  __syncthreads();
  constexpr int kVectors = kKept * kValueSize / 4;
#pragma unroll
  for (int from = 0; from < kVectors; from += kThreads) {
    const int i = from + threadIdx.x, r = i / (kValueSize / 4), d = i % (kValueSize / 4) * 4;
    if (i >= kVectors || first + r >= c.rows) break;
    float sum = 0;
    Pack<float, 4> f = {};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const Pack<float, 4> more = results[w][r][d / 4];
      sum += sums[w][r];
#pragma unroll
      for (int k = 0; k < 4; ++k) f.v[k] += more.v[k];
    }
    const float scale = sees_nothing(sum) ? 0.0f : 1.0f / sum;
    store_vector(p, c, head, first + r, d, sees_nothing(sum) ? Pack<float, 4>{} : f, scale);
  }
}
