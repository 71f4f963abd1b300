// A network in float becomes one with Quantize and Dequantize in front of its convolutions and products, by the scales
// of its values: the passes for quantized models then do the rest.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quant/range.h"

namespace wootz {

// The values of the network whose scales a calibration finds: everything in f32 that is computed or handed in.
std::vector<Value*> values_to_observe(const Graph& graph);

// Whether the network quantizes by itself.
bool has_quantization(const Graph& graph);

// Whether it is a convolution, transposed convolution or product.
bool is_product(const Node& node);

struct InsertedQdq {
  std::set<const Node*> products;     // that read 8 bits now
  std::vector<std::string> unscaled;  // names of values that have no scale: their readers stay in float
};

// Convolutions, transposed convolutions and products of an activation and constant weights: the activation by its own
// scale, symmetrically in i8, the weights by a scale for each output channel. An operand of an addition that such a
// product's result is the other operand of is quantized where it is read in 8 bits anyway. Products of two activations
// stay in float, in which attention is fused, and so does what `stays_float` says.
Result<InsertedQdq> insert_qdq(Graph& graph, const TensorScales& scales,
                               const std::function<bool(const Node&)>& stays_float);

}  // namespace wootz
