// DFT: a thread a result, by its definition.
// The problem: A: type of sums; kThreads, kInverse; kParts: 1 or 2, of an element of x0; kReal: results have no
// imaginary part; Constants {count: results; n: length; in, out: extents along the axis; inner: elements behind it;
// taken: of in}; operand roots: as special/roots.cuh makes them
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

W_FN void kernel(const Operands& p, const Constants& c) {
  typedef Reg<Y0>::t R;
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  const s64 inside = i % c.inner, rest = i / c.inner, k = rest % c.out, outer = rest / c.out;
  A re = 0, im = 0;
  int at = 0;
  for (int e = 0; e < c.taken; ++e) {
    const s64 from = ((outer * c.in + e) * c.inner + inside) * kParts;
    A a = (A)w_get(p.x0[from]), b = kParts == 2 ? (A)w_get(p.x0[from + kParts - 1]) : 0;
    const A r = p.roots[at * 2], s = kInverse ? p.roots[at * 2 + 1] : -p.roots[at * 2 + 1];
    if (kReal) {
      // The other side is the conjugate: each number but the first and the middle one counts twice.
      if (e == 0 || e * 2 == c.n) {
        b = 0;
      } else {
        a *= 2;
        b *= 2;
      }
    }
    re += a * r - b * s;
    if (!kReal) im += a * s + b * r;
    at += (int)k;
    if (at >= c.n) at -= c.n;
  }
  const A scale = kInverse ? (A)c.n : (A)1;
  constexpr int kResult = kReal ? 1 : 2;
  p.y0[i * kResult] = Put<Y0>::to((R)(re / scale));
  if (!kReal) p.y0[i * kResult + 1] = Put<Y0>::to((R)(im / scale));
}
