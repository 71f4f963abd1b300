// cuDNN, opened at run time.
#pragma once

#include <memory>
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

// The library with a handle that no other thread has meanwhile, for building: a handle is for one thread at a time.
// What is built with it runs with any. The table itself stays for good.
class CudnnLease {
 public:
  static Result<CudnnLease> take(const Gpu* gpu);
  const CudnnLibrary& library() const { return *library_; }
  struct Handles;

 private:
  CudnnLease(const CudnnLibrary* library, std::shared_ptr<const CudnnLibrary> owner)
      : library_(library), owner_(std::move(owner)) {}
  const CudnnLibrary* library_;
  std::shared_ptr<const CudnnLibrary> owner_;  // gives it back
};

}  // namespace wootz::cuda
