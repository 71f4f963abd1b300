// cuBLASLt, opened at run time.
#pragma once

#include <cublasLt.h>

#include "base/status.h"

namespace wootz::cuda {

#define WOOTZ_CUBLASLT_FUNCTIONS(FN)                                                                          \
  FN(cublasLtCreate)                                                                                          \
  FN(cublasLtGetVersion) FN(cublasLtMatmul) FN(cublasLtMatmulAlgoGetHeuristic) FN(cublasLtMatmulAlgoCheck)    \
      FN(cublasLtMatmulDescCreate) FN(cublasLtMatmulDescDestroy) FN(cublasLtMatmulDescSetAttribute)           \
          FN(cublasLtMatrixLayoutCreate) FN(cublasLtMatrixLayoutDestroy) FN(cublasLtMatrixLayoutSetAttribute) \
              FN(cublasLtMatmulPreferenceCreate) FN(cublasLtMatmulPreferenceDestroy)                          \
                  FN(cublasLtMatmulPreferenceSetAttribute)

struct CublasLt {
#define FN(name) decltype(&::name) name = nullptr;
  WOOTZ_CUBLASLT_FUNCTIONS(FN)
#undef FN
  cublasLtHandle_t handle = nullptr;  // null: no device at hand, heuristics cannot be asked
};

// Errors: no library.
Result<const CublasLt*> cublaslt();

}  // namespace wootz::cuda
