// Weights: constant values on the host.
#pragma once

#include <cstdint>

#include "wootz/dtype.h"

namespace nvinfer1 {

/// A view of `count` values of `type` in host memory, packed and in row-major order; types under a byte hold two values
/// a byte, the first in the low half. Memory stays the caller's, and must stay unchanged until the network is built (or
/// the refit done). Null values with count 0 mean "none".
class Weights {
 public:
  DataType type;
  const void* values;
  int64_t count;
};

}  // namespace nvinfer1
