// What the tuner needs of a build to measure and check candidates: constants of the program, and the graph's nodes as
// the reference.
#pragma once

#include "base/function_ref.h"
#include "build/context.h"
#include "lower/lowered.h"
#include "tuner/measure/measure.h"

namespace wootz {

// Values of constant inputs, by step and input, from the program as it was lowered. Keeps a reference to it.
ConstantFunction constants_of(const Program& program);

// Runs the node that a step came from, where the step is that node and nothing else: one step, the same operands in the
// same order. Other steps cannot be asked. Keeps references to nodes and program.
ReferenceFunction reference_of(const Lowered& lowered);

// How thoroughly to sample, by optimization level 0 to 5 and the number of iterations asked for.
SamplingOptions sampling_for(int level, int iterations);

// Before the first measurement: waits until no other build measures on the target's device, with a line in the log.
// `go_on` is asked meanwhile. Errors: cancelled.
Status measure_alone(BuildContext& context, FunctionRef<bool()> go_on);

}  // namespace wootz
