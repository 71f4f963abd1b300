// The concats family: several concatenations as one step, whose parts it reads as they lie before they are transposed
// and cast.
#pragma once

#include <span>
#include <vector>

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

// A part of a result: where it begins along the axis, and the axis of the operand that each of its axes is.
struct ConcatPart {
  size_t input = 0, output = 0;
  int64_t at = 0;
  Ints perm;
};

// Of operands of these extents, by operand. Everything is checked: the problem may come from a plan file.
Result<std::vector<ConcatPart>> concat_parts(const Problem& concats, std::span<const Dims> inputs,
                                             std::span<const Dims> outputs);

// Extents of the results over operands of these extents.
Result<std::vector<Dims>> concat_extents(const ConcatsParams& params, std::span<const Dims> inputs);

}  // namespace wootz
