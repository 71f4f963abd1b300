// NonMaxSuppression: a block for each class of each image. Its threads keep who is still in the race as bits of their
// own, find the best together, and strike out what the best hides, until none is left or enough are found.
// The problem: A; kThreads; kWords: of bits, a thread; kUnroll; kCenter: boxes are center and size; kHiding, kLeast: x3
// is the overlap that hides, x4 the least score; Constants {boxes: of an image; classes; most: found of a class};
// operands picked: the boxes found, by class; found: their counts
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

#ifdef WOOTZ_ON_HOST
#define w_lowest(m) __builtin_ctz(m)
#else
#define w_lowest(m) (__ffs(m) - 1)
#endif

struct Box {
  A y1, x1, y2, x2;
};

W_FN Box box_at(const X0* v) {
  const A a = w_get(v[0]), b = w_get(v[1]), c = w_get(v[2]), d = w_get(v[3]);
  if (kCenter) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

W_FN A overlap(const Box& p, const Box& q) {
  const A h = (p.y2 < q.y2 ? p.y2 : q.y2) - (p.y1 < q.y1 ? q.y1 : p.y1);
  const A w = (p.x2 < q.x2 ? p.x2 : q.x2) - (p.x1 < q.x1 ? q.x1 : p.x1);
  if (h <= 0 || w <= 0) return 0;
  const A common = h * w, both = (p.y2 - p.y1) * (p.x2 - p.x1) + (q.y2 - q.y1) * (q.x2 - q.x1) - common;
  return both <= 0 ? (A)0 : common / both;
}

// The best of the block's candidates: of equals the first. A thread's own boxes come in order.
W_FN int best_of_block(A top, int where) {
  __shared__ A score[kThreads];
  __shared__ int box[kThreads];
  const int t = threadIdx.x;
  score[t] = top;
  box[t] = where;
  for (int h = kThreads / 2; h > 0; h /= 2) {
    __syncthreads();
    if (t < h && box[t + h] >= 0 &&
        (box[t] < 0 || score[t + h] > score[t] || (score[t + h] == score[t] && box[t + h] < box[t]))) {
      score[t] = score[t + h];
      box[t] = box[t + h];
    }
  }
  __syncthreads();
  where = box[0];
  __syncthreads();
  return where;
}

template <class P>
W_FN void kernel(const P& p, const Constants& c) {
  const int t = threadIdx.x;
  const X0* box = p.x0 + (s64)(blockIdx.x / c.classes) * ((s64)c.boxes * 4);
  const X1* score = p.x1 + (s64)blockIdx.x * c.boxes;
  int* picked = p.picked + (s64)blockIdx.x * c.most;
  s64 most = (s64)w_get(p.x2[0]);
  if (most > c.most) most = c.most;
  A hiding = 0, least = 0;
  if constexpr (kHiding) hiding = (A)w_get(p.x3[0]);
  if constexpr (kLeast) least = (A)w_get(p.x4[0]);
  u32 alive[kWords];
#pragma unroll kUnroll
  for (int g = 0; g < kWords; ++g) {
    alive[g] = 0;
    for (int j = 0; j < 32; ++j) {
      const int b = (g * 32 + j) * kThreads + t;
      if (b >= c.boxes) break;
      const A s = (A)w_get(score[b]);
      if (kLeast ? s > least : s == s) alive[g] |= 1u << j;
    }
  }
  Box last = {0, 0, 0, 0};
  int k = 0;
  for (; k < most; ++k) {
    A top = 0;
    int where = -1;
#pragma unroll kUnroll
    for (int g = 0; g < kWords; ++g)
      for (u32 m = alive[g]; m != 0; m &= m - 1) {
        const int j = w_lowest(m), b = (g * 32 + j) * kThreads + t;
        if (k > 0 && overlap(last, box_at(box + (s64)b * 4)) > hiding) {
          alive[g] &= ~(1u << j);
          continue;
        }
        const A s = (A)w_get(score[b]);
        if (where < 0 || s > top) {
          top = s;
          where = b;
        }
      }
    where = best_of_block(top, where);
    if (where < 0) break;
    if (t == 0) picked[k] = where;
    last = box_at(box + (s64)where * 4);
    const int own = where / kThreads;
    if (where % kThreads == t) alive[own / 32] &= ~(1u << own % 32);
  }
  if (t == 0) p.found[blockIdx.x] = k;
}
