// Concatenations, splits and slices that need no copy, because the pieces lie one after the other in memory anyway, and
// transpositions that leave all elements where they are.
#pragma once

#include <string>
#include <vector>

#include "backend/program.h"

namespace wootz {

struct ElidedCopies {
  std::vector<std::string> steps;  // gone: by name, in their order
  size_t subviews = 0;             // results that are written to their place in a concatenation
  size_t copies = 0;  // operands of concatenations that are copied there, because they must be elsewhere too
  size_t ranges = 0;  // results of splits, slices and transpositions that are (ranges of) their operand
};

// Decides by layouts, so it comes after choose_tactics(). The axis must be the outermost in memory but for extents of
// 1, and the places must be known before the run. A concatenation goes when what must
// be copied all the same costs less. `parts`: pieces may begin at any element; otherwise only transpositions go, since
// kernels of a device with memory of its own read vectors, which begin at whole ones.
Result<ElidedCopies> elide_copies(Program* program, const std::vector<const Provider*>& providers, const Limits& limits,
                                  bool parts);

}  // namespace wootz
