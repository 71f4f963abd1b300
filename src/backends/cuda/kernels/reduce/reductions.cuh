// The kinds of reductions: where a sum starts, how it takes a value, how two of them join, and what becomes of it.
// The problem: A, R: type of sums, and of what they come to; kZero, kScale: of the elements, where the kind has them;
// Constants {length: elements that are reduced to one}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <class T>
W_FN A lowest() {
  if constexpr (IsF<T>::v)
    return -(A)W_INF;
  else
    return (A)Lim<T>::lo;
}

template <class T>
W_FN A highest() {
  if constexpr (IsF<T>::v)
    return (A)W_INF;
  else if constexpr (sizeof(T) == 8 && (T)-1 > 0)
    return (A)~0ULL;
  else
    return (A)Lim<T>::hi;
}

struct SumOf {
  typedef Sum Join;
  static W_M A start() { return 0; }
  static W_M A step(A a, A v) { return a + v; }
  static W_M A end(A a, const Constants&) { return a; }
};

struct MeanOf : SumOf {
  static W_M A end(A a, const Constants& c) { return a / (A)c.length; }
};

// Of 8 bits with a scale: of integers, whose sum is exact in any order.
struct ScaledMeanOf : SumOf {
  static W_M R end(A a, const Constants& c) {
    return (R)((float)(a - (A)c.length * kZero) * (float)kScale / (float)c.length);
  }
};

struct MaxOf : SumOf {
  typedef Max Join;
  static W_M A start() { return lowest<R>(); }
  static W_M A step(A a, A v) { return w_max<A>(a, v); }
};

struct MinOf : SumOf {
  typedef Min Join;
  static W_M A start() { return highest<R>(); }
  static W_M A step(A a, A v) { return w_min<A>(a, v); }
};

struct ProdOf : SumOf {
  typedef Prod Join;
  static W_M A start() { return 1; }
  static W_M A step(A a, A v) { return a * v; }
};

struct L1Of : SumOf {
  static W_M A step(A a, A v) { return a + w_abs<A>(v); }
};

struct SumSqOf : SumOf {
  static W_M A step(A a, A v) { return a + v * v; }
};

struct L2Of : SumSqOf {
  static W_M A end(A a, const Constants&) { return w_cast<A>(w_sqrt(w_real(a))); }
};

struct LogSumOf : SumOf {
  static W_M A end(A a, const Constants&) { return w_cast<A>(w_log(w_real(a))); }
};
