// Names of steps: what reports, profilers, logs and rules about layers know them by.
#pragma once

#include "backend/program.h"
#include "ir/node_order.h"

namespace wootz {

// Sorts each step's provenance in the model's order and names the step after it: "conv1 + relu1",
// "fusedPointwiseNode(add1, relu1)". Names are unique.
void name_steps(const NodeOrder& order, Program* program);

}  // namespace wootz
