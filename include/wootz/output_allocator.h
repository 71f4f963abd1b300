// IOutputAllocator: memory for outputs whose size is known only during inference.
#pragma once
#if defined(__GNUC__)
#pragma GCC system_header  // deprecated methods are called by their successors
#endif

#include <cstdint>

#include "wootz/cuda_types.h"
#include "wootz/dims.h"
#include "wootz/macros.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Implemented by the application, set per output tensor on an execution context, which calls it from the enqueueing
/// thread or, on a CPU engine, from the stream's thread.
class IOutputAllocator : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IOutputAllocator", 1, 0}; }

  /// Memory of at least `size` bytes, aligned to `alignment`, for the named output; `currentMemory` is what
  /// setTensorAddress or the previous call gave, and may be returned again. Null fails the inference. A non-null
  /// pointer is expected even for size 0.
  TRT_DEPRECATED virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/, uint64_t /*size*/,
                                                uint64_t /*alignment*/) noexcept {
    return nullptr;
  }

  /// The same in order with `stream`. This is what the library calls.
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size, uint64_t alignment,
                                      cudaStream_t /*stream*/) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }

  /// The output's shape is known. Comes after the memory was asked for or before, at the latest when the stream reaches
  /// the end of the inference.
  virtual void notifyShape(const char* tensorName, const Dims& dims) noexcept = 0;
};

}  // namespace v_1_0

using IOutputAllocator = v_1_0::IOutputAllocator;

}  // namespace nvinfer1
