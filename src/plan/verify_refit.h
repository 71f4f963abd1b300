// What must hold of the recipe for refits of a plan.
#pragma once

#include "backend/refit.h"
#include "base/status.h"

namespace wootz {

// Sizes, names and numbers. The texts are read, and checked by those who read them, when a refit is asked for.
// `stripped`: whether constants may be missing.
Status verify_refit(const RefitRecipe& recipe, bool stripped);

}  // namespace wootz
