// One row times weights of 4 bits by VNNI: the row as integers of three digits, which the processor multiplies by four
// weights of a column at once. A value is right to 2^-24 of the largest of its block.
#pragma once

#include "backends/cpu/dense/weight_only_tile.h"

namespace wootz::cpu {

inline constexpr int64_t kDigitPlanes = 3;

struct RowDigits {
  int8_t* digits = nullptr;  // [group][plane][8], the highest plane first: elements 0, 2, 4, 6, then the odd ones
  float* unit = nullptr;     // of a block: what 1 is
  float* sum = nullptr;      // of a block: the row's values together
};

// From a row of f32, whose length is a multiple of a group. False: a block's values are too large, too small or no
// numbers. Needs avx512_vnni, as what follows does.
bool split_row(const float* x, int64_t depth, int64_t block, const RowDigits& to);
// As NarrowOps::rows of one row.
void narrow_row_by_digits(const NarrowRows& rows, const RowDigits& x, DType weights);

}  // namespace wootz::cpu
