// Steps that give what random numbers are drawn from (backend/random_state.h), where the device's memory is the host's.
#pragma once

#include "backend/kernel.h"

namespace wootz {

const Provider& random_steps_provider();

}  // namespace wootz
