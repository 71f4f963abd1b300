// What the source of kernels begins with in the emulator: what a GPU's compiler knows by itself, and instructions of
// kernels/ that are other ones there.
#pragma once

#include <string>

namespace wootz::cuda {

// `races`: each access and each barrier is reported to the search for races.
std::string kernel_head(bool races);

}  // namespace wootz::cuda
