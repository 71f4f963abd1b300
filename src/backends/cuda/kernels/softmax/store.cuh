// The results of a row whose largest element and sum are known: what kernels of softmax end with.
#pragma once
#include "backends/cuda/kernels/common/rows.cuh"

W_FN void store(const Operands& p, const Constants& c, const Thread& t, const Kept& at, const Elements& elements, A top,
                A total) {
  const A scale = kLog ? w_log(total) : (A)1 / total;

  if (!t.live) return;
  elements.each(p, c, at, t.number, [&](int r, A v) {
    const Element in = element(c, r);
    const A f = kLog ? (v - top) - scale : w_exp(v - top) * scale;
    p.y[at.y + in.y] = epilogue(p, c, f, at, in);
  });
}
