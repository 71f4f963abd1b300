// A portable plan on the processor at hand.
#pragma once

#include <memory>
#include <vector>

#include "backend/kernel_cache.h"
#include "backend/program.h"

namespace wootz {

// The program of a portable plan as it runs here: its constants packed, and kernels in place of those that this
// processor, or this version of a library, does not have.
struct Adapted {
  std::shared_ptr<Program> program;
  size_t steps = 0, chosen_anew = 0;  // those of bodies included
};

// The kernel that a provider estimates to be the fastest of those with the layouts that the plan has chosen. Errors: a
// step without one, with the reasons. `program` has passed verify_program.
Result<Adapted> adapt_to_device(const Program& program, const std::shared_ptr<Device>& device,
                                const std::vector<const Provider*>& providers, int threads);

}  // namespace wootz
