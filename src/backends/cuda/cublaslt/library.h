// cuBLASLt, opened at run time.
#pragma once

#include "backends/cuda/api/cublaslt.h"
#include "base/status.h"

namespace wootz::cuda {

struct CublasLt : CublasLtFunctions {
  cublasLtHandle_t handle = nullptr;  // null: no device at hand, heuristics cannot be asked
};

// Errors: no library.
Result<const CublasLt*> cublaslt();

}  // namespace wootz::cuda
