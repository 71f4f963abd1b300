// The first kBest elements of a line by a block, one after the other: each is the best of what follows the last one in
// the order (key, index). The same bits whatever the schedule. The problem: X; kThreads, kBest; kLargest: the largest
// come first; kLast: of equal ones the last comes first; kValues: the elements are asked for too; Constants {length: of
// a line; inner: elements between those of a line}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

// Keys in the order of the values: -0 = 0, NaN above all.
W_FN u64 key_of(double v) {
  if (v != v) return ~0ULL;
  v += 0.0;
  const u64 b = w_d2bits(v);
  return b >> 63 ? ~b : b | 1ULL << 63;
}

W_FN u64 key_of(float v) { return key_of((double)v); }

template <class T>
W_FN u64 key_of(T v) {
  return (T)-1 < 0 ? (u64)(s64)v ^ 1ULL << 63 : (u64)v;
}

W_FN u64 key_of(bool v) { return v; }

// A template, so that it may name an operand that is not there.
template <class P>
W_FN void store(const P& p, const Constants& c, const X* x, s64 to, s64 found) {
  p.index[to] = found;
  if constexpr (kValues) p.y[to] = x[found * c.inner];
}

W_FN void kernel(const Operands& p, const Constants& c) {
  __shared__ u64 key[kThreads];
  __shared__ int at[kThreads];
  const int t = threadIdx.x;
  const s64 outer = blockIdx.x / c.inner, inner = blockIdx.x % c.inner;
  const X* x = p.x + outer * ((s64)c.length * c.inner) + inner;
  u64 done_key = 0;
  int done = -1;
  bool any = false;
  for (int n = 0; n < kBest; ++n) {
    u64 best = ~0ULL;
    int where = 0x7fffffff;
    for (int i = t; i < c.length; i += kThreads) {
      const u64 whole = key_of(w_get(x[(s64)i * c.inner])), e = kLargest ? ~whole : whole;
      const int j = kLast ? (int)c.length - 1 - i : i;
      if (any && (e < done_key || (e == done_key && j <= done))) continue;
      if (e < best || (e == best && j < where)) {
        best = e;
        where = j;
      }
    }
    __syncthreads();
    key[t] = best;
    at[t] = where;
    for (int s = kThreads / 2; s > 0; s /= 2) {
      __syncthreads();
      if (t < s && (key[t + s] < key[t] || (key[t + s] == key[t] && at[t + s] < at[t]))) {
        key[t] = key[t + s];
        at[t] = at[t + s];
      }
    }
    __syncthreads();
    done_key = key[0];
    done = at[0];
    any = true;
    const s64 found = kLast ? c.length - 1 - done : done;
    if (t == 0) store(p, c, x, (outer * kBest + n) * c.inner + inner, found);
  }
}
