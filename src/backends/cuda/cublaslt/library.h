// cuBLASLt, opened at run time.
#pragma once

#include "backends/cuda/api/cublaslt.h"
#include "base/status.h"

namespace wootz::cuda {

struct CublasLt : CublasLtFunctions {
  cublasLtHandle_t handle = nullptr;  // of one GPU; null: heuristics cannot be asked
};

class Gpu;

// The library with a handle of a GPU, or with null without one. Errors: no library.
Result<const CublasLt*> cublaslt(const Gpu* gpu);

}  // namespace wootz::cuda
