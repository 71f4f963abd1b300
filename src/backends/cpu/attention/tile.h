// Small dense products on f32 that stay in the first two caches, and the softmax between them, for one instruction set.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"

namespace wootz::cpu {

struct TileOps {
  // c[m, n] = a[m, k] * b[k, n], or c += with accumulate. Rows are `lda`, `ldb`, `ldc` elements apart.
  void (*multiply)(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k, bool accumulate);
  // The same with a as [k, m]: element (i, p) is a[p * lda + i].
  void (*multiply_ta)(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                      int64_t n, int64_t k, bool accumulate);
  // c[n] = sum over k of a[k] * b[n, k]: b by rows, for few rows of a.
  void (*dots)(const float* a, const float* b, int64_t ldb, float* c, int64_t n, int64_t k);
  // x = cap * tanh(x / cap)
  void (*softcap)(float* x, int64_t n, float cap);
  // Down the columns of s[n, m], m a multiple of 16: s becomes exp(s - top), where top takes in the column's largest
  // element first; sum becomes sum * factor + the column's new sum, with factor = exp(old top - top). -inf gives 0.
  // True when some factor is not 1.
  bool (*online_softmax_update)(float* s, int64_t n, int64_t m, float* top, float* sum, float* factor);
  // x = whole(x * inverse) * step, the whole number not beyond low and high.
  void (*round)(float* x, int64_t n, float inverse, float low, float high, float step);
  // Down the columns of s[n, m], m a multiple of 16: s = whole(s * factor), at most `most`; 0 where it is no number.
  void (*round_columns)(float* s, int64_t n, int64_t m, const float* factor, float most);
  // x += y; where y is -inf, x becomes it even if it is not a number.
  void (*add_masked)(float* x, const float* y, int64_t n);
};
const TileOps& tile_ops(Isa isa);

}  // namespace wootz::cpu
