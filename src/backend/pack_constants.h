// Constants in the form that the chosen kernels want them.
#pragma once

#include "backend/kernel_cache.h"
#include "backend/program.h"

namespace wootz {

// Packs constants as the chosen kernels want them and drops constants that nothing uses any more.
Status pack_constants(Program* program, KernelCache& kernels);

}  // namespace wootz
