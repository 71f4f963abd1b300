// The loss of a target, and its weight: the scores x0 at the class x1, weighted by x2.
// The problem: kThreads, kWeighted; kIgnores: targets kIgnored have neither; Constants {count: targets; classes; inner:
// elements behind them}.
#pragma once
#include "backends/cuda/kernels/common/prelude.cuh"

struct Loss {
  double value, weight;
};

template <class P>
W_FN Loss loss_of(const P& p, const Constants& c, s64 e) {
  const s64 target = (s64)w_get(p.x1[e]);
  if (kIgnores && target == kIgnored) return {0, 0};
  if (target < 0 || target >= c.classes) return {(double)W_NAN, (double)W_NAN};
  double weight = 1;
  if constexpr (kWeighted) weight = (double)w_get(p.x2[target]);
  const s64 at = (e / c.inner * c.classes + target) * c.inner + e % c.inner;
  return {-(double)w_get(p.x0[at]) * weight, weight};
}
