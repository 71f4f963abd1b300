// Where attention finds its heads, with the stride between the elements of a row: 1 but for transposed keys.
#pragma once

#include "backend/attention_heads.h"

namespace wootz::cuda {

struct Heads : HeadLines {  // dims are [B, H, S, D], whatever the operand's own shape
  int64_t column = 1;
};

// Keys of the form [B, H, D, T] (k_transposed) come out as [B, H, T, D] too.
Result<Heads> operand_heads(const Problem& problem, int input, const Dims& dims);
// The result's, for the extents [B, H, S, Dv].
Result<Heads> result_heads(const Problem& problem, const Dims& heads, const Dims& dims);

}  // namespace wootz::cuda
