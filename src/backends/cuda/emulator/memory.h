// Device memory of the emulator: memory of the host under addresses that only calls of the driver and kernels can use.
// A tag in an address's upper bits makes it one that no process has, so that the host faults where it takes it for its
// own.
#pragma once

#include <string>

#include "backends/cuda/emulator/contexts.h"

namespace wootz::cuda {

bool is_device_address(const void* address);
// Where the bytes are; an address of the host's is given back.
void* host_address(const void* address);
inline void* host_address(CUdeviceptr address) { return host_address(reinterpret_cast<const void*>(address)); }

// Fresh memory is all NaN, with a fence after it.
CUresult emulator_allocate(CUdeviceptr* out, size_t bytes, int device);
CUresult emulator_free(CUdeviceptr address);
// The device of an address inside of what was allocated and not freed; kNoDevice: it is not.
int device_of_memory(CUdeviceptr address);
// Whether the bytes at an address of the host's are of such memory.
bool is_device_memory(const void* host);
// Allocated and not freed.
size_t allocated_bytes(int device);
// Allocations written beyond their end, one a line, since the last call.
std::string broken_fences();

}  // namespace wootz::cuda
