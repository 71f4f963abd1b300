// What random numbers are drawn from: an `op` step of op `RandomState` gives a key and how often was drawn from it
// before, and each context counts for itself. Steps that draw have it as an operand and follow from it.
#pragma once

#include "backend/problem.h"
#include "base/philox.h"

namespace wootz {

// Such a step. Its kernels keep state, so that no reference can stand in for them.
bool is_random_state(const Problem& problem);
// Of a new context. Errors: another step.
Result<RandomState> first_random_state(const Problem& problem);

}  // namespace wootz
