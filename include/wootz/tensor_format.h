// TensorFormat: memory layout of a tensor.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"

namespace nvinfer1 {

/// Memory layout. The letters name dimensions from outermost to innermost: N batch, D depth, H height, W width, C
/// channels. "In groups of k" means that the channel dimension is split, the outer part stays where C was and k
/// channels, padded with zeros, lie innermost. Extents in Dims are always the logical ones, in the order N, C, then
/// space.
enum class TensorFormat : int32_t {
  /// Row-major, as the extents are written. Any type, any rank.
  kLINEAR = 0,
  /// Channels in groups of 2.
  kCHW2 = 1,
  /// Channels innermost, rounded up to 8.
  kHWC8 = 2,
  /// Channels in groups of 4.
  kCHW4 = 3,
  /// Channels in groups of 16.
  kCHW16 = 4,
  /// Channels in groups of 32.
  kCHW32 = 5,
  /// Three space dimensions, channels innermost, rounded up to 8.
  kDHWC8 = 6,
  /// Three space dimensions, channels in groups of 32.
  kCDHW32 = 7,
  /// Channels innermost, not padded.
  kHWC = 8,
  /// DLA's planar layout.
  kDLA_LINEAR = 9,
  /// DLA's image layout.
  kDLA_HWC4 = 10,
  /// Channels innermost, rounded up to 16.
  kHWC16 = 11,
  /// Three space dimensions, channels innermost, not padded.
  kDHWC = 12,
};

template <>
struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

/// Bits 1U << TensorFormat.
using TensorFormats = uint32_t;

}  // namespace nvinfer1
