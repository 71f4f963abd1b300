// The provider that runs any op by its reference: the oracle, and the fallback of every backend.
#pragma once

#include "backend/device.h"

namespace wootz {

const Provider* reference_provider();
// The backend "reference": host memory, this provider only. Defined for backends.def.
const Backend& reference_backend();

}  // namespace wootz
