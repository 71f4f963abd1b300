// From a verified program to an engine: the kernels of its steps, and the engines of the bodies that its control steps
// run.
#pragma once

#include <memory>
#include <vector>

#include "backend/kernel_cache.h"
#include "runtime/engine_core.h"

namespace wootz {

// `program` has passed verify_program. Errors: a tactic whose provider is unknown or whose kernel cannot be created
// here (another ISA, another library version), or reads weights in another form, with the step's name. `kernels`: where
// a build has them already.
Result<std::shared_ptr<EngineCore>> create_engine(std::shared_ptr<const Program> program,
                                                  std::shared_ptr<Device> device,
                                                  std::vector<const Provider*> providers, const EngineOptions& options,
                                                  KernelCache* kernels = nullptr);

}  // namespace wootz
