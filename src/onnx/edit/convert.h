// What EditableModel::convert() is made of.
#pragma once

#include <vector>

#include "onnx/edit/format_rules.h"
#include "onnx/edit/graph_edit.h"

namespace wootz::importer {

// The convolutions and products of the main graph, in the model's order; null: the node is none.
bool is_layer(const ::onnx::NodeProto& node);
std::string layer_name(const ::onnx::NodeProto& node);
EditedLayer layer_of(const ::onnx::NodeProto& node, NumberFormat format);

// Quantize and Dequantize around activations, and weights in few bits.
Status quantize_layers(GraphEdit& edit, const FormatRules& rules, std::vector<EditedLayer>* layers);
// Values and weights in 16 bits; inputs and outputs stay in FP32.
Status narrow_values(GraphEdit& edit, const FormatRules& rules, std::vector<EditedLayer>* layers);
// To a newer version of ONNX's operators. Errors: a node that means something else there and cannot be written anew.
// `ranks`: of values, as far as they are known.
Status raise_opset(GraphEdit& edit, int version, const std::map<std::string, int, std::less<>>& ranks);

}  // namespace wootz::importer
