// Steps of op `Collective`, which several devices compute together. With more than one rank they run where a
// communicator can be lent to them (ContextServices::communicator), and nowhere else: no reference can stand in for
// them, and no build can measure them.
#pragma once

#include "backend/problem.h"
#include "base/collective.h"

namespace wootz {

bool is_collective(const Problem& problem);
// What the step computes. Errors: another step, settings or operands that make no sense: they may come from a plan.
Result<Collective> read_collective(const Problem& problem);
// More than one rank takes part, or the step does not say how many.
bool spans_devices(const Problem& problem);
// The refusal of who computes on one device alone.
Status on_one_device(const Problem& problem);
// The extents fit the operation. `inputs` and `outputs` are the run's.
Status check_collective_extents(const Collective& collective, const Dims& input, const Dims& output);

}  // namespace wootz
