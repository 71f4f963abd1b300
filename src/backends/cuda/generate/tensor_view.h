// How the unit for tensors of a Hopper GPU copies an operand of floats of 16 or 8 bits to shared memory: lines of 128
// bytes, whose pieces of 16 bytes are exchanged (gemm/feed.cuh).
#pragma once

#include <array>

#include "backends/cuda/device/driver.h"
#include "base/dtype.h"

namespace wootz::cuda {

enum class Viewed {
  kWindows,  // of images
  kMatrix,
  kHeads,  // rows of one head of one image
};

struct TensorView {
  size_t pointer = 0;  // which of the launch's it is of
  Viewed viewed = Viewed::kWindows;
  DType type = DType::kF16;
  // Channels, pixels of a line, lines of an image, images. Of a matrix: what is neighbours in memory, and rows. Of
  // heads: elements of a row, rows, heads, images.
  std::array<int64_t, 4> extents{1, 1, 1, 1};
  int64_t lines = 64;  // that are copied at once
  // In elements: where the first row of a matrix or of heads is; from row to row, head to head, image to image.
  int64_t offset = 0;
  std::array<int64_t, 3> strides{};
  // Where windows begin, along a line of the image and across lines: from `lower` on, at such steps, so many of them.
  std::array<int64_t, 2> lower{0, 0}, steps{1, 1}, places{1, 1};
};

// Whether the unit copies it: counts and steps have their limits.
Status check_view(const TensorView& view);
// The map for the operand at this address. Errors: an address or extents that the driver refuses.
Result<CUtensorMap> tensor_map(const Driver& driver, const TensorView& view, const void* address);

}  // namespace wootz::cuda
