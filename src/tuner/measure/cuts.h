// Parts of a step's result, and of its operands what they are made of: what a check computes of a large one.
#pragma once

#include <optional>
#include <vector>

#include "backend/problem.h"

namespace wootz {

struct TensorPart {
  Dims at, extents;
};

// What is cut out of each operand, which results of what the reference makes of that are right, and where they belong.
struct Cut {
  std::vector<TensorPart> inputs;  // by input that the main operation reads
  TensorPart made;                 // all results that the reference makes, in the whole result
  TensorPart right;                // those that do not see where operands were cut off, in the whole result
};

struct CutFamily {
  Family family;
  std::optional<Cut> (*cut)(const Problem& p, bool at_end, int64_t most);
  // Multiplications for the results of `most` points along every axis that is cut.
  double (*work)(const Problem& p, int64_t most);
};

// Of families that are cut; null: the problem is of another, or of no result.
const CutFamily* cut_family_of(const Problem& problem);

// Of an operand that broadcasts to the whole result: what goes with the part of it that the reference makes.
std::optional<TensorPart> broadcast_part(const Dims& dims, const Dims& whole, const TensorPart& made);

}  // namespace wootz
