// Device memory of the stand-in: memory of the host under addresses that only calls of the driver and kernels can use.
// A tag in an address's upper bits makes it one that no process has, so that the host faults where it takes it for its
// own.
#pragma once

#include <string>

#include "backends/cuda/api/driver.h"

namespace wootz::cuda {

bool is_device_address(const void* address);
// Where the bytes are; an address of the host's is given back.
void* host_address(const void* address);
inline void* host_address(CUdeviceptr address) { return host_address(reinterpret_cast<const void*>(address)); }

// Fresh memory is all NaN, with a fence behind it.
CUresult stand_in_allocate(CUdeviceptr* out, size_t bytes);
CUresult stand_in_free(CUdeviceptr address);
// Inside of what was allocated and not freed.
bool is_allocated(CUdeviceptr address);
// Allocations written beyond their end, one a line, since the last call.
std::string broken_fences();

}  // namespace wootz::cuda
