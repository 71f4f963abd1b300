// The provider "native": our kernels, from the modules' kernels.inc.
#pragma once

#include "backend/kernel.h"
#include "backends/cpu/kernel_entry.h"

namespace wootz::cpu {

const Provider& native_provider();

// Fills in the layouts of one scheme (kernel_entry.h). False: the scheme does not fit the problem's ranks.
bool apply_scheme(unsigned scheme, Problem* problem);

// Whether the processor and `options` have what a kernel needs beyond vectors. Errors: they do not.
Status check_needs(Needs needs, const KernelOptions& options);

}  // namespace wootz::cpu
