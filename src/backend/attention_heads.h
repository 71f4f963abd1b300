// Where the heads of an attention operand lie: [batch, heads, sequence, size], or side by side in the last of three
// axes (backend/families.md: q_view, k_view, v_view, merged).
#pragma once

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

struct HeadLines {
  Dims dims;  // [batch, heads, sequence, size]; a transposed key: [batch, heads, size, sequence]
  int64_t offset = 0, batch = 0, head = 0, row = 0;  // in elements; the elements of a row lie side by side
  int64_t at(int64_t b, int64_t h, int64_t s) const { return offset + b * batch + h * head + s * row; }
  bool dense() const { return row == dims[3]; }
};

// Of operand 0 to 2: q, k, v.
const Ints& head_view(const Problem& problem, int operand);

// Everything is checked: parameters and extents may come from a plan file.
Result<HeadLines> operand_lines(const Problem& problem, int operand, const Dims& dims);
// The scales of operand 0 to 2; none: it is not of 8 bits.
const Floats& head_scales(const Problem& problem, int operand);
double head_zero(const Problem& problem, int operand);
// Of element d of head h, among so many of the operand.
double head_scale(const Floats& scales, int64_t heads, int64_t size, int64_t h, int64_t d);
// Whether types and scales of the operands go together, for heads of the extents that the operands have: what of 8 bits
// has them, and nothing else.
Status check_head_scales(const Problem& problem, const Dims& k, const Dims& v);

// Of the result of logical shape `dims`; fails unless `have` are its extents.
Result<HeadLines> result_lines(const Problem& problem, const Dims& dims, const Dims& have);

}  // namespace wootz
