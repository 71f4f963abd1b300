// IHostMemory: bytes that the library hands out, a plan for instance.
#pragma once

#include <cstddef>

#include "wootz/dtype.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

class IHostMemory : public INoCopy {
 public:
  virtual void* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
  virtual DataType type() const noexcept = 0;
};

}  // namespace nvinfer1
