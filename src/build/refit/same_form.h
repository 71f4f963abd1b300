// Whether two programs of one network, with different weights, can take each other's place in a running engine.
#pragma once

#include <utility>
#include <vector>

#include "backend/program.h"

namespace wootz {

// Steps, tensors, shapes, inputs, outputs and bodies must be the same, constants in number and size. Gives the steps
// whose parameters or epilogues differ. Errors: what else differs, with the layer.
Status compare_forms(const Program& before, const Program& after, std::vector<std::pair<size_t, Problem>>* steps);

// Constants whose bytes are others, in memory of their own.
Result<std::vector<std::pair<ConstantIndex, PlanConstant>>> changed_constants(const Program& before,
                                                                              const Program& after);

}  // namespace wootz
