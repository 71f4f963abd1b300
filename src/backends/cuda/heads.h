// Where attention finds its heads: operands are [B, H, S, D], or heads side by side in columns (backend/families.md:
// q_view, k_view, v_view, merged).
#pragma once

#include "backend/problem.h"
#include "base/status.h"

namespace wootz::cuda {

struct Heads {
  Dims dims;                                                     // [B, H, S, D], whatever the operand's own shape
  int64_t offset = 0, batch = 0, head = 0, row = 0, column = 1;  // strides in elements
};

// Keys of the form [B, H, D, T] (k_transposed) come out as [B, H, T, D] too.
Result<Heads> operand_heads(const Problem& problem, int input, const Dims& dims);
// The result's, for the extents [B, H, S, Dv].
Result<Heads> result_heads(const Problem& problem, const Dims& heads, const Dims& dims);

}  // namespace wootz::cuda
