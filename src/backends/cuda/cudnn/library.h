// cuDNN, opened at run time.
#pragma once

#include <mutex>

#include "backends/cuda/api/cudnn.h"
#include "base/status.h"

namespace wootz::cuda {

struct CudnnLibrary : cudnn::Functions {
  size_t version = 0;              // 91900
  cudnn::Handle handle = nullptr;  // null: no device
  std::mutex mutex;                // the handle's stream is set and used under it
  // "CUDNN_STATUS_NOT_SUPPORTED: ..." with what the library says about the error just met.
  Status error(const char* what, cudnn::Code code) const;
};

// Errors: no library, or one that is too old.
Result<CudnnLibrary*> cudnn_library();

}  // namespace wootz::cuda
