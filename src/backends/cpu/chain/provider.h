#pragma once

#include "backend/kernel.h"

namespace wootz::cpu {

// The chain family, by the kernels that the other providers have for its parts.
const Provider& chain_provider();

}  // namespace wootz::cpu
