// Whether addresses that the application gave are memory that a device, or the host, can use.
#pragma once

#include "backend/device.h"

namespace wootz {

// Whether the device, or the host, may read and write there: not memory of another kind, and not what is obviously
// nothing. The error says what is there. Null is no error.
Status check_address(const Device& device, const void* address);
Status check_host_address(const void* address);

}  // namespace wootz
