// Sliding windows over one to three spatial axes, shared by convolution and pooling: attributes, shape rule, padding.
#pragma once

#include <array>

#include "ir/op_def.h"

namespace wootz {

enum class AutoPad : uint8_t { kExplicit, kSameUpper, kSameLower, kValid };

struct Window {
  int rank = 0;
  AutoPad auto_pad = AutoPad::kExplicit;
  bool ceil_mode = false;
  std::array<int64_t, 3> strides{1, 1, 1}, dilations{1, 1, 1}, begins{0, 0, 0}, ends{0, 0, 0};
};

// Reads strides, dilations, pads (begins then ends), auto_pad and ceil_mode; absent ones get their defaults. Refuses
// wrong counts and values outside [1, 2^31) (pads: [0, 2^31)).
Result<Window> read_window(const Node& node, int rank);

// Output extent of one axis: how many windows of `kernel` elements fit into `in`.
Dim window_output(const Window& window, int axis, const Dim& in, const Dim& kernel);

// Elements before the first input element on one axis, with automatic padding worked out.
int64_t window_begin(const Window& window, int axis, int64_t in, int64_t kernel);

// How much automatic padding there is on one axis in all; nullopt where that goes by an extent which is not known.
std::optional<int64_t> window_padding(const Window& window, int axis, const Dim& in, int64_t kernel);

// One run, in three spatial axes: unused leading axes have extent, kernel and stride 1.
struct WindowExtents {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, strides{1, 1, 1}, dilations{1, 1, 1},
      begins{0, 0, 0};
  int64_t in_volume() const { return in[0] * in[1] * in[2]; }
  int64_t out_volume() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_volume() const { return kernel[0] * kernel[1] * kernel[2]; }
};
// x and y are [N, C, spatial...]; kernel has window.rank extents.
WindowExtents window_extents(const Window& window, const Dims& x, const Dims& y, const Dims& kernel);

}  // namespace wootz
