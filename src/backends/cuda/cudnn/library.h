// cuDNN, opened at run time.
#pragma once

#include <mutex>

#include "backends/cuda/api/cudnn.h"
#include "base/status.h"

namespace wootz::cuda {

struct CudnnLibrary : cudnn::Functions {
  size_t version = 0;              // 91900
  cudnn::Handle handle = nullptr;  // of one GPU; null: only others can be built for
  mutable std::mutex mutex;        // the handle's stream is set and used under it
  // "CUDNN_STATUS_NOT_SUPPORTED: ..." with what the library says about the error just met.
  Status error(const char* what, cudnn::Code code) const;
};

class Gpu;

// The library with a handle of a GPU, or with null without one. Errors: no library, or one that is too old; no handle.
Result<const CudnnLibrary*> cudnn_library(const Gpu* gpu);

}  // namespace wootz::cuda
