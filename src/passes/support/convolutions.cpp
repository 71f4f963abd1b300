#include "passes/support/convolutions.h"

#include <algorithm>

namespace wootz {
namespace {

bool is_constant(const Value* v) { return v != nullptr && v->is_constant(); }

// In floats or in 8 bits.
bool is_window(const Node& node, std::string_view op) {
  return node.is(op) && node.num_outputs() == 1 && !node.has_attr("auto_pad") && node.input(0)->rank() == 4;
}

}  // namespace

bool is_plain_window(const Node& node, std::string_view op) { return is_window(node, op) && !node.has_attr("x_scale"); }

bool is_convolution(const Node& node) { return is_plain_window(node, "Conv") && is_constant(node.input(1)); }

bool is_depthwise_convolution(const Node& node) { return convolves_channels(node) && is_convolution(node); }

bool convolves_channels(const Node& node) {
  if (!is_window(node, "Conv") || !is_constant(node.input(1))) return false;
  const Dims& w = node.input(1)->constant().dims();
  return w[0] > 1 && w[1] == 1 && node.attr_int("groups", 1) == w[0];
}

bool is_pointwise_convolution(const Node& node) { return convolves_pixels(node) && is_convolution(node); }

bool convolves_pixels(const Node& node) {
  if (!is_window(node, "Conv") || !is_constant(node.input(1)) || node.attr_int("groups", 1) != 1) return false;
  const Dims& w = node.input(1)->constant().dims();
  const std::vector<int64_t> pads = node.attr_ints("pads");
  return w[2] == 1 && w[3] == 1 && std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
}

bool reads_one_value(const Node& node) {
  return std::all_of(node.inputs().begin() + 1, node.inputs().end(), is_constant);
}

}  // namespace wootz
