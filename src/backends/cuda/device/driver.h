// The driver's functions, opened at run time.
#pragma once

#include "backends/cuda/api/driver.h"
#include "base/status.h"

namespace wootz::cuda {

// The table; opened at the first call. Errors: no libcuda, or one that is too old, by name.
Result<const Driver*> driver();
// The same where this process has loaded the driver's library already, by whatever code; otherwise null. Loads nothing.
const Driver* loaded_driver();

// Puts another table in place of the driver's. Null brings the real one back.
void set_driver(const Driver* table);

// Errors that the context does not survive are reported in full once a process.
// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)". Ok for CUDA_SUCCESS.
Status check(CUresult result, const char* call);
#define WOOTZ_CUDA_RETURN_IF_ERROR(table, call, ...) \
  WOOTZ_RETURN_IF_ERROR(::wootz::cuda::check((table).call(__VA_ARGS__), #call))

}  // namespace wootz::cuda
