// Constants in the form that the chosen kernels want them.
#pragma once

#include "backend/kernel_cache.h"
#include "backend/program.h"

namespace wootz {

// Packs constants as the chosen kernels want them and drops constants that nothing uses any more.
Status pack_constants(Program* program, KernelCache& kernels);

// Whether the constants of a step, which come from a plan, have the form that its kernel reads here. Errors:
// kUnsupported, with the constant and both forms: the plan is of a version of the library that packs differently.
Status check_forms(const Program& program, const Step& step, const Kernel& kernel);

}  // namespace wootz
