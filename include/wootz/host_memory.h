// IHostMemory: bytes that the library hands out, a plan for instance.
#pragma once

#include <cstddef>

#include "wootz/dtype.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

/// A block of host memory, owned by whoever received it and freed with it. Reading is safe from any thread.
class IHostMemory : public INoCopy {
 public:
  /// Start of the bytes.
  virtual void* data() const noexcept = 0;

  /// Size in bytes, whatever type() is.
  virtual std::size_t size() const noexcept = 0;

  /// Type of the elements; kINT8 where the bytes are just bytes, a plan for instance.
  virtual DataType type() const noexcept = 0;
};

}  // namespace nvinfer1
