// y = a[c] * f(x) + b[c] folded into the weights and bias of a convolution or GEMM.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace wootz {

// Whether the node is a convolution or GEMM with constant weights (and constant or no bias), not fused, not
// quantized.
bool has_foldable_weights(const Node& node);
// Output channels of such a node, and the axis they lie on.
int64_t weight_channels(const Node& node);
int channel_axis(const Node& node);

// Multiplies output channel c by factor[c] and adds offset[c] (lists of 1 or `weight_channels` elements; an empty
// offset adds nothing). New constants replace the old ones.
Status scale_weights(Graph& graph, Node* node, const std::vector<double>& factor, const std::vector<double>& offset);

}  // namespace wootz
