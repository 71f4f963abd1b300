// What kernels of attention share: one query head b, h, with the keys and values of its group.
// The problem: X; kSize, kValueSize: elements of a head's row; kScale, kCap: of scores (0: no cap); kCausal; kNanRows:
// what rows give that see no key; Key, Value: types of keys and values, X or of 8 bits, with zero points kKeyZero,
// kValueZero; Constants {rows, keys, heads; per_group: heads with the same keys; for t = q, k, v, y: t_offset, t_batch,
// t_head, t_row, and t_column but for y: strides};
//   float masked(p, c, s, b, h, row, j)      the score of key j with the mask
//   key_scale(g, d), value_scale(g, d)       that of element d of the keys and values of group g, of 8 bits
//   epilogue(p, c, f, b, h, row, d)          the expression behind the result for element d of the row
#pragma once
#include "backends/cuda/kernels/attention/scores.cuh"

// An element of keys or values as a number, but for its scale.
template <class T>
W_FN float number(T x, double zero) {
  return sizeof(T) > 1 ? (float)w_get(x) : (float)w_get(x) - (float)zero;
}

struct Head {
  int b, h, g;
  const X* q;
  const Key* k;
  const Value* v;
};

W_FN Head this_head(const Operands& p, const Constants& c, int head) {
  const int b = head / c.heads, h = head % c.heads, g = h / c.per_group;
  return {b,
          h,
          g,
          p.q + c.q_offset + (s64)b * c.q_batch + (s64)h * c.q_head,
          p.k + c.k_offset + (s64)b * c.k_batch + (s64)g * c.k_head,
          p.v + c.v_offset + (s64)b * c.v_batch + (s64)g * c.v_head};
}

W_FN void store(const Operands& p, const Constants& c, const Head& head, int row, int d, float f) {
  const s64 at = (s64)head.b * c.y_batch + (s64)head.h * c.y_head + (s64)row * c.y_row + d;
  p.y[at] = epilogue(p, c, f, head.b, head.h, row, d);
}
