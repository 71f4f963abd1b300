// IDebugListener: values of marked tensors during inference.
#pragma once

#include "wootz/cuda_types.h"
#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/tensor_enums.h"
#include "wootz/versioned_interface.h"

namespace nvinfer1 {
namespace v_1_0 {

/// Implemented by the application, set on an execution context; called for every debug tensor whose state is on.
class IDebugListener : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IDebugListener", 1, 0}; }

  /// The tensor `name` has been computed in the order of `stream`. Its values are at `addr` (device or host, as
  /// `location` says), packed in row-major order, and stay there until the call returns: copy them out in `stream` and
  /// synchronize, or copy them now. False aborts the inference.
  virtual bool processDebugTensor(const void* addr, TensorLocation location, DataType type, const Dims& shape,
                                  const char* name, cudaStream_t stream) = 0;

  ~IDebugListener() noexcept override = default;
};

}  // namespace v_1_0

using IDebugListener = v_1_0::IDebugListener;

}  // namespace nvinfer1
