// Interpolation along one axis: where each output element reads, and with what weights.
#pragma once

#include <vector>

#include "ir/op_def.h"

namespace wootz::ops {

struct ResizeMode {
  std::string mode, coordinate, nearest;
  double cubic_a = -0.75, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
};
ResizeMode read_resize_mode(const Node& node);

struct ResizeAxis {
  int64_t in = 0, out = 0;
  double scale = 1;
  double exact_out = 0;  // in * scale before it was rounded down to `out`
  double roi_begin = 0, roi_end = 1;
};

struct ResizeTaps {
  std::vector<int64_t> indices;  // within [0, in)
  std::vector<double> weights;
  bool outside = false;  // of the region to crop: gets extrapolation_value
};
Result<std::vector<ResizeTaps>> resize_taps(const ResizeMode& mode, const ResizeAxis& axis);

// floor(in * scale), with the scale taken as the simple fraction that rounds to the same f32, where there is one.
Dim scaled_extent(const Dim& in, double scale);

}  // namespace wootz::ops
