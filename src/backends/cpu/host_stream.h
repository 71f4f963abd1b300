// The queue of a host stream.
#pragma once

#include <memory>

#include "backend/device.h"

namespace wootz::cpu {

// One thread that runs work in order. After a failure, work queued until the next synchronize() is dropped and
// synchronize() tells why.
Result<std::unique_ptr<Stream>> make_host_stream();

}  // namespace wootz::cpu
