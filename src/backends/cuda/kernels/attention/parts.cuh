// What kernels share that divide long keys among blocks: rows of the heads that share keys, and where a block puts what
// it makes of its part. The problem: that of attention/byte_values.cuh; kRows of a block; kSplit: the keys have parts;
// Operands parts: floats, where they have; Constants {row_blocks: of those heads; parts: of the keys; per_part: keys of
// a part}.
#pragma once
#include "backends/cuda/kernels/attention/byte_values.cuh"

W_FN int within(int i, int count) { return i < count ? i : count - 1; }

struct Rows {
  int h, row;
  bool there;
};
// The row of number i of those of the heads that share keys.
W_FN Rows row_of(const Constants& c, int g, int i) {
  const int all = c.per_group * c.rows, at = within(i, all);
  return {g * c.per_group + at / c.rows, at % c.rows, i < all};
}

// A block's rows and keys: `first` to `end` of batch b, group g of heads.
struct Unit {
  int b, g, block, part, first, end;
};
W_FN Unit this_unit(const Constants& c) {
  const int part = (int)(blockIdx.x % (u32)c.parts), unit = (int)(blockIdx.x / (u32)c.parts);
  const int kv_heads = c.heads / c.per_group, first = part * c.per_part;
  const int end = c.keys - first > c.per_part ? first + c.per_part : c.keys;
  return {unit / c.row_blocks / kv_heads, unit / c.row_blocks % kv_heads, unit % c.row_blocks, part, first, end};
}
W_FN const Key* keys_of(const Operands& p, const Constants& c, const Unit& u) {
  return p.k + c.k_offset + (s64)u.b * c.k_batch + (s64)u.g * c.k_head;
}
W_FN const Value* values_of(const Operands& p, const Constants& c, const Unit& u) {
  return p.v + c.v_offset + (s64)u.b * c.v_batch + (s64)u.g * c.v_head;
}

template <class P>
W_FN float* parts_of(const P& p) {
  if constexpr (kSplit)
    return p.parts;
  else
    return nullptr;
}

// One element of the result, or of a part of the keys'.
W_FN void put(const Operands& p, const Constants& c, const Unit& u, int r, int d, float f, float top, float sum) {
  const Rows row = row_of(c, u.g, u.block * kRows + r);
  if (!row.there) return;
  if constexpr (!kSplit) {
    const Head head = {u.b, row.h, u.g, nullptr, nullptr, nullptr};
    const bool none = c.keys == 0 || sees_nothing(sum);
    store(p, c, head, row.row, d, none ? 0.0f : value_of(f * (1.0f / sum), u.g, d));
  } else {
    const s64 line = ((s64)u.b * c.heads + row.h) * c.rows + row.row;
    float* const to = parts_of(p) + (line * c.parts + u.part) * (kValueSize + 4);
    to[d] = f;
    if (d == 0) to[kValueSize] = top;
    if (d == 1) to[kValueSize + 1] = sum;
  }
}
