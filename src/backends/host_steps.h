// Steps that a device has no kernel for, computed by the host: operands are copied there and results back. Only where
// Limits::host_steps allows it, and for If, Loop, Scan and Assert, which go by values; otherwise such a step is
// refused, with its name, when the network is built. The build warns of each.
#pragma once

#include "backend/device.h"

namespace wootz {

const Provider& host_steps_provider();

}  // namespace wootz
