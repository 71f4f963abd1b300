// Small dense products on f32 that stay in the first two caches, for one instruction set.
#pragma once

#include <cstdint>

#include "base/cpu_info.h"

namespace wootz::cpu {

struct TileOps {
  // c[m, n] = a[m, k] * b[k, n], or c += with accumulate. Rows are `lda`, `ldb`, `ldc` elements apart.
  void (*multiply)(const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t k, bool accumulate);
  // c[n] = sum over k of a[k] * b[n, k]: b by rows, for few rows of a.
  void (*dots)(const float* a, const float* b, int64_t ldb, float* c, int64_t n, int64_t k);
  // x = cap * tanh(x / cap)
  void (*softcap)(float* x, int64_t n, float cap);
};
const TileOps& tile_ops(Isa isa);

}  // namespace wootz::cpu
