// What kind of convolution a node is, as passes that put it together with others ask.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace wootz {

// Of an image, of one result, in floats (the parameters of 8 bits say more than a window) and without automatic
// padding.
bool is_plain_window(const Node& node, std::string_view op);
// A plain one by constant weights; these of one channel each, or of one pixel and all channels.
bool is_convolution(const Node& node);
bool is_depthwise_convolution(const Node& node);
bool is_pointwise_convolution(const Node& node);
// The latter two in floats or in 8 bits.
bool convolves_channels(const Node& node);
bool convolves_pixels(const Node& node);
// Whether all operands but the first are constants.
bool reads_one_value(const Node& node);

}  // namespace wootz
