// What machine code says of its kernels' use of memory.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/status.h"

namespace wootz::cuda {

// Bytes of stack that each function of a cubin keeps for every thread: local arrays, and registers that were spilled.
Result<std::map<std::string, uint32_t>> stack_of_functions(std::span<const char> cubin);

}  // namespace wootz::cuda
