// What pooling kernels with a thread a result share.
// The problem: that of common/window.cuh; R: type of the result; Offset: int, or s64 where x is too large; Kind: one of
// the below; kWithPadding: it counts; kPower, kZero, kScale: where the kind has them; Constants {x_image, x_channel;
// for k = 0..2: x_stride<k>, end<k>: of the input with its padding};
//   epilogue(p, c, f, at)    the expression behind it
#pragma once
#include "backends/cuda/kernels/common/window.cuh"

template <class T>
W_FN A lowest() {
  if constexpr (IsF<T>::v)
    return -(A)W_INF;
  else
    return (A)Lim<T>::lo;
}

// `inside`: elements of the window; `by`: those that count.
struct PoolMax {
  static W_M A start() { return lowest<A>(); }
  static W_M A step(A a, A v) { return w_max<A>(a, v); }
  static W_M R end(A a, int, int) { return (R)a; }
};

struct PoolMean {
  static W_M A start() { return 0; }
  static W_M A step(A a, A v) { return a + v; }
  static W_M R end(A a, int, int by) { return by == 0 ? (R)0 : (R)(a / (A)by); }
};

// Of 8 bits with a scale.
struct PoolScaledMean : PoolMean {
  static W_M R end(A a, int inside, int by) {
    return (R)(by == 0 ? 0.0f : (float)(a - inside * kZero) * (float)kScale / (float)by);
  }
};

struct PoolPower {
  static W_M A start() { return 0; }
  static W_M A step(A a, A v) {
    if constexpr (kPower == 1) return a + w_abs<A>(v);
    if constexpr (kPower == 2) return a + v * v;
    return a + w_pow<A>(w_abs<A>(v), (A)kPower);
  }
  static W_M R end(A a, int, int) {
    if constexpr (kPower == 1) return (R)a;
    if constexpr (kPower == 2) return (R)w_sqrt(w_real(a));
    return (R)w_pow<A>(a, (A)1 / (A)kPower);
  }
};

// Where a window begins; pads are outside of x.
struct Corner {
  int q0, q1, q2;
};

W_FN Corner corner_of(const Constants& c, const Place& at) {
  return {at.d0 * c.stride0 - c.pad0, at.d1 * c.stride1 - c.pad1, at.d2 * c.stride2 - c.pad2};
}

// visit(element of x, its distance from the window's corner along each axis) for what of the window is inside of x;
// gives how many positions count as inside of the padded input.
template <class Visit>
W_FN int each_tap(const Operands& p, const Constants& c, const Place& at, Visit visit) {
  const Corner corner = corner_of(c, at);
  const Offset first = (Offset)at.n * c.x_image + (Offset)at.channel * c.x_channel + (Offset)corner.q0 * c.x_stride0 +
                       (Offset)corner.q1 * c.x_stride1 + (Offset)corner.q2 * c.x_stride2;
  int padded = 0;
  for (int t0 = 0; t0 < c.kernel0; ++t0) {
    const int s0 = t0 * c.dilation0, q0 = corner.q0 + s0;
    for (int t1 = 0; t1 < c.kernel1; ++t1) {
      const int s1 = t1 * c.dilation1, q1 = corner.q1 + s1;
      for (int t2 = 0; t2 < c.kernel2; ++t2) {
        const int s2 = t2 * c.dilation2, q2 = corner.q2 + s2;
        if (q0 < c.end0 && q1 < c.end1 && q2 < c.end2) ++padded;
        if (q0 >= 0 && q0 < c.in0 && q1 >= 0 && q1 < c.in1 && q2 >= 0 && q2 < c.in2)
          visit((A)w_get(p.x[first + (Offset)s0 * c.x_stride0 + (Offset)s1 * c.x_stride1 + (Offset)s2 * c.x_stride2]),
                s0, s1, s2);
      }
    }
  }
  return padded;
}
