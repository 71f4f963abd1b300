// A recurrent layer at concrete extents.
#pragma once

#include "backend/recurrence.h"
#include "backends/cpu/kernel_entry.h"

namespace wootz::cpu {

Result<std::unique_ptr<Call>> make_rnn_call(const Problem& problem, const KernelOptions& options,
                                            const Recurrence& recurrence, bool teams);

}  // namespace wootz::cpu
