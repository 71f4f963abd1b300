// A refittable plan with other weights: the build that it came from, run again without choosing anything.
#pragma once

#include <memory>

#include "backend/program_update.h"
#include "build/settings.h"

namespace wootz {

// `recipe` is that of `program` with new constants. Errors: kInvalidState where the program is not of the same form
// with these weights, because the build made use of the old ones' values; names the layer.
Result<ProgramUpdate> rebuild(const Program& program, std::shared_ptr<const RefitRecipe> recipe, int device_number,
                              const BuildServices& services = {});

}  // namespace wootz
