// What takes long to make of kernels that are about to be measured or proven (a library's plans, machine code), made
// for all of them ahead of that and on all processors, so that the device does not wait for a compiler.
#pragma once

#include <vector>

#include "base/tasks.h"
#include "tuner/choice.h"

namespace wootz {

// PreparedKernel::prepare() at the problems' optima, once for equal ones, for those whose providers can be asked so.
// What fails fails again when the kernel is bound. `go_on` as of run_tasks(); false: it said no.
bool prepare_kernels(const std::vector<Wanted>& wanted, const std::vector<const Provider*>& providers,
                     const Limits& limits, int threads, GoOn go_on);

}  // namespace wootz
