// The provider that runs any op by its reference: the oracle, and the fallback of every backend.
#pragma once

#include "backend/kernel.h"

namespace wootz {

const Provider* reference_provider();

}  // namespace wootz
