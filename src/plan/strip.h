// Plans without weights: a refit brings them.
#pragma once

#include "backend/program.h"

namespace wootz {

// The program without the bytes of its constants and of the weights that a refitter can set; what cannot be set stays
// in its recipe. Errors: kInvalidState where it has no recipe.
Result<Program> strip_weights(const Program& program);

// Zeros in the place of the constants that a stripped program lacks: what looks at them before the refit finds memory.
// They are shared and take no room. Error: kResourceExhausted.
Status give_zeros(Program* program);

}  // namespace wootz
