// What kernels of attention share: one query head b, h, with the keys and values of its group.
// The problem: X; kSize, kValueSize: elements of a head's row; kScale, kCap: of scores (0: no cap); kCausal; kNanRows:
// what rows give that see no key; Constants {rows, keys, heads; per_group: heads with the same keys; for t = q, k, v,
// y: t_offset, t_batch, t_head, t_row, and t_column but for y: strides};
//   float masked(p, c, s, b, h, row, j)      the score of key j with the mask
//   epilogue(p, c, f, b, h, row, d)          the expression behind the result for element d of the row
#pragma once
#include "backends/cuda/kernels/attention/scores.cuh"

struct Head {
  int b, h;
  const X *q, *k, *v;
};

W_FN Head this_head(const Operands& p, const Constants& c, int head) {
  const int b = head / c.heads, h = head % c.heads, g = h / c.per_group;
  return {b, h, p.q + c.q_offset + (s64)b * c.q_batch + (s64)h * c.q_head,
          p.k + c.k_offset + (s64)b * c.k_batch + (s64)g * c.k_head,
          p.v + c.v_offset + (s64)b * c.v_batch + (s64)g * c.v_head};
}

W_FN void store(const Operands& p, const Constants& c, const Head& head, int row, int d, float f) {
  const s64 at = (s64)head.b * c.y_batch + (s64)head.h * c.y_head + (s64)row * c.y_row + d;
  p.y[at] = epilogue(p, c, f, head.b, head.h, row, d);
}
