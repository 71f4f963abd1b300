// An instrument for tests: a table of driver functions that keeps device memory in host memory and runs generated
// kernels on the processor, block after block, with the threads of a block as fibers where they meet at barriers.
// Kernels are compiled by the machine's C++ compiler, many at a time. Checks what a GPU would not: writes behind the
// end of an allocation; and fills fresh memory with NaN.
#pragma once

#include <string>

#include "base/status.h"

namespace wootz::cuda {

// Puts the stand-in in place of the driver, for the rest of the process. Errors: no compiler.
Status use_stand_in();
// Compiles what has been loaded since the last call and not yet been compiled; done by need otherwise.
Status compile_pending();
// What was found wrong since the last call: allocations written beyond their end. Empty: nothing.
std::string stand_in_faults();

}  // namespace wootz::cuda
