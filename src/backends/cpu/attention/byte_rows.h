// Products of a few rows of f32 by rows of 8 bits, which become floats in registers, for one instruction set.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"
#include "base/dtype.h"

namespace wootz::cpu {

struct ByteRows {
  // What stands for a byte here, times this, is the byte's number.
  float factor;
  // s[m, n] = q[m, size] * transpose of k[n, size]. Rows are `ldq`, `ldk`, `lds` elements apart.
  void (*dots)(const float* q, int64_t ldq, int64_t m, const uint8_t* k, int64_t ldk, int64_t n, float* s, int64_t lds,
               int64_t size);
  // out[m, size] += w[m, n] * v[n, size].
  void (*gather)(const float* w, int64_t ldw, int64_t m, const uint8_t* v, int64_t ldv, int64_t n, float* out,
                 int64_t ldo, int64_t size);
  // Numbers, without `factor`, less `zero`.
  void (*widen)(const uint8_t* from, int64_t n, float zero, float* to);
};
// Of i8, u8, f8e4m3 and f8e5m2; null: no such rows.
const ByteRows* byte_rows(DType type, Isa isa);

}  // namespace wootz::cpu
