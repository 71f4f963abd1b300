// Blocks that take one tile after the other: a kernel is launched with as many as the GPU has room for.
#pragma once

#include <cstdint>

namespace wootz::cuda {

// Multiprocessors that there are such blocks for: those of an H200, or what was set before any kernel was generated.
int64_t walked_multiprocessors();
// For the emulator's search for races: with few, blocks take several tiles of small problems, too.
void set_walked_multiprocessors(int64_t count);

}  // namespace wootz::cuda
