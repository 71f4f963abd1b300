// Forms of windows that passes look for.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// Whether the windows of a convolution, transposed or not, which are of so many pixels, lie side by side: without a
// gap, an overlap, padding or groups.
inline bool windows_lie_side_by_side(const Node& conv, int64_t high, int64_t wide) {
  const auto all_are = [&](const char* name, int64_t wanted) {
    const std::vector<int64_t> values = conv.attr_ints(name);
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  return conv.attr_ints("strides") == std::vector{high, wide} && all_are("pads", 0) && all_are("dilations", 1) &&
         all_are("output_padding", 0) && conv.attr_int("groups", 1) == 1;
}

}  // namespace wootz
