// Weight streaming: which weights stay in memory under a budget, and by which step the others must be there.
#pragma once

#include <vector>

#include "backend/program.h"

namespace wootz {

// A weight that is brought in for the one step that reads it.
struct StreamedWeight {
  ConstantIndex constant;
  StepIndex step;
  StepIndex after;    // begins to come once the steps before this one are done: the step of the weight before it
  size_t offset = 0;  // in the memory for weights on their way
};

// A pure function of the program and the budget.
struct WeightResidency {
  size_t budget = 0;
  size_t resident = 0;                        // bytes of streamable weights that stay
  std::vector<StreamedWeight> streamed;       // in the order of their steps
  IndexedVector<ConstantIndex, int32_t> way;  // number in `streamed`, -1: it stays
  size_t scratch = 0;                         // memory for weights on their way, of a device with memory of its own
};

// What streaming can move: weights of some size that one step of the program itself reads. Smaller ones, those that
// several steps share, and those of bodies stay.
size_t streamable_bytes(const Program& program);

WeightResidency plan_residency(const Program& program, size_t budget);

}  // namespace wootz
