// Steps that run bodies: If, Loop and Scan as the runtime's own loop over executors of the bodies.
#pragma once

#include <memory>
#include <vector>

#include "backend/control.h"
#include "backend/device.h"

namespace wootz {

class EngineCore;

// The kernel of a control step. `bodies`: the engines of the step's bodies, in the order of ControlForm::bodies. A run
// has executors and buffers of its own, which are kept for the next; as many as run at a time are made.
Result<std::unique_ptr<Kernel>> make_control_kernel(const Problem& problem,
                                                    std::vector<std::shared_ptr<const EngineCore>> bodies,
                                                    std::shared_ptr<Device> device);

}  // namespace wootz
