// Whether two programs of one network, with different weights, can take each other's place in a running engine.
#pragma once

#include "backend/program_update.h"

namespace wootz {

// Steps, tensors, shapes, inputs, outputs and bodies must be the same, constants in number and size. Gives the steps
// whose parameters or epilogues differ, in the bodies as well. Errors: what else differs, with the layer.
Status compare_forms(const Program& before, const Program& after, ProgramUpdate* update);

// Adds the constants whose bytes are others, in memory of their own; all of them where `before` has none.
Status add_changed_constants(const Program& before, const Program& after, ProgramUpdate* update);

}  // namespace wootz
