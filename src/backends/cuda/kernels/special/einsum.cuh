// Einsum: a thread a result, which sums the products over the labels that the result has not.
// The problem: A: type of sums; kThreads; kSummed: labels that are summed; Constants {count: results};
//   At at(c, i)            where result i begins in every operand
//   moved(c, at, k, l)     place l of summed label k from there
//   extent(c, k)           of summed label k
//   product(p, at)         of the operands' elements
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

template <int LABEL>
W_FN void add_products(const Operands& p, const Constants& c, const At& place, A* sum) {
  if constexpr (LABEL == kSummed)
    *sum += product(p, place);
  else
    for (s64 l = 0; l < extent(c, LABEL); ++l) add_products<LABEL + 1>(p, c, moved(c, place, LABEL, l), sum);
}

W_FN void kernel(const Operands& p, const Constants& c) {
  const s64 i = (s64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= c.count) return;
  A sum = 0;
  add_products<0>(p, c, at(c, i), &sum);
  p.y0[i] = Put<Y0>::to((Reg<Y0>::t)sum);
}
