// Sums, maxima and minima over a block's groups of TY threads that share a row; INNER: the threads of a group are
// neighbours. The order of the sum is fixed by the block's shape alone.
#pragma once
#include "backends/cuda/kernels/common/scalar.cuh"

struct Sum {
  template <class T>
  W_M T operator()(T a, T b) const {
    return a + b;
  }
};

struct Prod {
  template <class T>
  W_M T operator()(T a, T b) const {
    return a * b;
  }
};

struct Max {
  template <class T>
  W_M T operator()(T a, T b) const {
    return w_max(a, b);
  }
};

struct Min {
  template <class T>
  W_M T operator()(T a, T b) const {
    return w_min(a, b);
  }
};

template <int TX, int TY, bool INNER, class T, class Op>
W_FN T w_group(T v, T* shared, Op op) {
  if constexpr (TY == 1) return v;
  const int t = threadIdx.x;
  if constexpr (INNER) {
    for (int m = (TY < 32 ? TY : 32) / 2; m > 0; m /= 2) v = op(v, __shfl_xor_sync(0xffffffffu, v, m));
    if constexpr (TY > 32) {
      constexpr int W = TY / 32;
      __syncthreads();
      if (t % 32 == 0) shared[t / 32] = v;
      __syncthreads();
      v = shared[t / TY * W];
      for (int w = 1; w < W; ++w) v = op(v, shared[t / TY * W + w]);
    }
    return v;
  } else {
    __syncthreads();
    shared[t] = v;
    for (int s = TY / 2; s > 0; s /= 2) {
      __syncthreads();
      if (t / TX < s) shared[t] = op(shared[t], shared[t + s * TX]);
    }
    __syncthreads();
    return shared[t % TX];
  }
}
