// Moving elements between tensors of one type, whatever its width, for reference paths of data movement.
#pragma once

#include <vector>

#include "base/tensor.h"

namespace wootz::ops {

// `count` consecutive elements. Both tensors have the same dtype; the ranges are inside and do not overlap.
void copy_elements(const HostTensor& from, int64_t from_index, HostTensor& to, int64_t to_index, int64_t count);
// The element at from_index, `count` times.
void fill_elements(const HostTensor& from, int64_t from_index, HostTensor& to, int64_t to_index, int64_t count);

// A walk over `extents` (any number of axes); strides may be negative or zero. Every position must be inside.
struct StridedCopy {
  std::vector<int64_t> extents, from_strides, to_strides;
  int64_t from_offset = 0, to_offset = 0;

  void axis(int64_t extent, int64_t from_stride, int64_t to_stride) {
    extents.push_back(extent);
    from_strides.push_back(from_stride);
    to_strides.push_back(to_stride);
  }
};
void strided_copy(const HostTensor& from, HostTensor& to, const StridedCopy& walk);

// The bytes of `from` under the shape of `to`: for ops that only change the shape.
void share_elements(const HostTensor& from, HostTensor& to);

// Product of dims[first, last).
int64_t span_volume(const Dims& dims, int first, int last);

}  // namespace wootz::ops
