// The driver's functions, opened at run time, and the one device that this process uses.
#pragma once

#include "backends/cuda/api/driver.h"
#include "base/status.h"

namespace wootz::cuda {

// The table; opened at the first call. Errors: no libcuda, or one that is too old, by name.
Result<const Driver*> driver();

// Puts another table in place of the driver's: tests run the backend on the processor. Null brings the real one back.
void set_driver_for_tests(const Driver* table);
bool driver_is_stand_in();

// Errors that the context does not survive are told in full once a process.
// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". Ok for CUDA_SUCCESS.
Status check(CUresult result, const char* call);
#define WOOTZ_CUDA_RETURN_IF_ERROR(table, call, ...) \
  WOOTZ_RETURN_IF_ERROR(::wootz::cuda::check((table).call(__VA_ARGS__), #call))

// The device that the process works on (WOOTZ_CUDA_DEVICE, default 0) with its primary context, which is shared with
// the application's own CUDA code.
struct Gpu {
  const Driver* api = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int major = 0, minor = 0, multiprocessors = 0;
  size_t memory = 0;
  std::string name;
  // Kernels of ours begin while the one before them ends (programmatic dependent launch), unless WOOTZ_CUDA_PDL=0.
  bool overlap = false;
  int arch() const { return major * 10 + minor; }
  // Makes the context current on this thread, when it is not.
  Status enter() const;
};
// Errors: no driver, no device, a device below compute capability 8.0.
Result<const Gpu*> gpu();

}  // namespace wootz::cuda
