// Dims: extents of a tensor, and everything else that has one number per dimension.
#pragma once

#include <cstdint>

namespace nvinfer1 {

/// Up to eight extents, outermost first. nbDims 0 is a scalar; nbDims -1 says "unknown" or "error" where a method
/// returns Dims; an extent of -1 is one that is fixed only at run time. Entries past nbDims mean nothing.
class Dims64 {
 public:
  static constexpr int32_t MAX_DIMS{8};

  int32_t nbDims;
  int64_t d[MAX_DIMS];
};

using Dims = Dims64;

}  // namespace nvinfer1
