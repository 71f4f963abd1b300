// How an update meets what is there.
// The problem: T; Combine: one of the below.
#pragma once
#include "backends/cuda/kernels/common/indices.cuh"

struct AddTo {
  template <class R>
  static W_M R of(R old, R v) {
    return w_add<R>(old, v);
  }
};

struct MulTo {
  template <class R>
  static W_M R of(R old, R v) {
    return w_mul<R>(old, v);
  }
};

struct MaxOf {
  template <class R>
  static W_M R of(R old, R v) {
    return w_max<R>(old, v);
  }
};

struct MinOf {
  template <class R>
  static W_M R of(R old, R v) {
    return w_min<R>(old, v);
  }
};

struct Either {
  static W_M bool of(bool old, bool v) { return old || v; }
};

struct Both {
  static W_M bool of(bool old, bool v) { return old && v; }
};

W_FN void combine(T* y, T update) { *y = Put<T>::to(Combine::of(w_get(*y), w_get(update))); }
