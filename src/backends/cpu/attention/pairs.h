// Small products of BF16 by AVX512-BF16: an instruction adds up two neighbouring products, in f32. Operands are pairs
// of neighbours along the sum, 32 bits each; distances are in elements of 16 bits.
#pragma once

#include <cstdint>

namespace wootz::cpu {

struct PairOps {
  // c[m, n] = a[m, 2 * pairs] * b, or c += with accumulate. b: pair p of column j is at b + p * ldb + 2 * j.
  void (*multiply)(const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                   int64_t n, int64_t pairs, bool accumulate);
  // The same with pair p of row i of a at a + p * lda + 2 * i.
  void (*multiply_ta)(const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb, float* c, int64_t ldc, int64_t m,
                      int64_t n, int64_t pairs, bool accumulate);
  // Rows 2 p and 2 p + 1 of from[n, m] side by side as pair p of [(n + 1) / 2, m]; what is missing of the last is zero.
  void (*join)(const uint16_t* from, int64_t stride, int64_t n, int64_t m, uint16_t* to);
  // The same of f32, rounded to the nearest.
  void (*join_rounded)(const float* from, int64_t stride, int64_t n, int64_t m, uint16_t* to);
};
extern const PairOps kPairOps;  // to be used only where the processor has AVX512-BF16

}  // namespace wootz::cpu
