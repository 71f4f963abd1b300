// From new weights to an engine that has them.
#pragma once

#include <vector>

#include "runtime/engine_core.h"

namespace wootz {

// Makes the kernels that the update needs anew and applies it. Errors leave the engine as it was, those of the device
// excepted. `stream`: see EngineCore::update().
Status refit_engine(EngineCore& engine, ProgramUpdate update, std::vector<const Provider*> providers, Stream* stream);

}  // namespace wootz
