#include <algorithm>
#include <functional>
#include <map>

#include "onnx/edit/convert.h"

namespace wootz::importer {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;

// Attributes that became inputs, in this order from this place on.
struct Moved {
  const char* op;
  int since;
  int place;
  std::vector<const char*> attributes;
};
const std::vector<Moved>& moved() {
  static const std::vector<Moved> kMoved = {{"Slice", 10, 1, {"starts", "ends", "axes"}},
                                            {"TopK", 10, 1, {"k"}},
                                            {"Clip", 11, 1, {"min", "max"}},
                                            {"Pad", 11, 1, {"pads", "value"}},
                                            {"Dropout", 12, 1, {"ratio"}},
                                            {"Squeeze", 13, 1, {"axes"}},
                                            {"Unsqueeze", 13, 1, {"axes"}},
                                            {"ReduceSum", 13, 1, {"axes"}},
                                            {"Split", 13, 1, {"split"}},
                                            {"ReduceMean", 18, 1, {"axes"}},
                                            {"ReduceMax", 18, 1, {"axes"}},
                                            {"ReduceMin", 18, 1, {"axes"}},
                                            {"ReduceProd", 18, 1, {"axes"}},
                                            {"ReduceL1", 18, 1, {"axes"}},
                                            {"ReduceL2", 18, 1, {"axes"}},
                                            {"ReduceLogSum", 18, 1, {"axes"}},
                                            {"ReduceLogSumExp", 18, 1, {"axes"}},
                                            {"ReduceSumSquare", 18, 1, {"axes"}}};
  return kMoved;
}

// Versions from which an operator means something else, or is gone, in a way that a rewrite here does not follow.
constexpr struct {
  const char* op;
  int since;
} kOther[] = {{"Upsample", 10},
              {"Resize", 11},
              {"Softmax", 13},
              {"LogSoftmax", 13},
              {"Hardmax", 13},
              {"Scatter", 11},
              {"RoiAlign", 16},
              {"BatchNormalization", 9},
              {"GridSample", 20},
              {"DFT", 20},
              {"GroupNormalization", 21},
              {"Scan", 9}};

HostTensor list_of(const AttributeProto& attribute) {
  if (attribute.type() == AttributeProto::FLOAT) return HostTensor::scalar<float>(attribute.f());
  if (attribute.type() == AttributeProto::INT) {
    const int64_t one[] = {attribute.i()};
    return HostTensor::from<int64_t>(one, Dims{1});
  }
  const std::vector<int64_t> values(attribute.ints().begin(), attribute.ints().end());
  return HostTensor::from<int64_t>(values, Dims{static_cast<int64_t>(values.size())});
}

void erase_attribute(NodeProto* node, std::string_view name) {
  auto& all = *node->mutable_attribute();
  all.erase(std::remove_if(all.begin(), all.end(), [&](const AttributeProto& a) { return a.name() == name; }),
            all.end());
}

void move_attributes(GraphEdit& edit, const Moved& row, NodeProto* node) {
  for (size_t i = 0; i < row.attributes.size(); ++i) {
    const AttributeProto* const found = attribute(*node, row.attributes[i]);
    if (found == nullptr) continue;
    const HostTensor value = list_of(*found);
    const int place = row.place + static_cast<int>(i);
    while (node->input_size() <= place) node->add_input("");
    node->set_input(place, edit.add_constant(node->output(0) + "_" + row.attributes[i], value));
    erase_attribute(node, row.attributes[i]);
  }
}

using Ranks = std::map<std::string, int, std::less<>>;

// Before 13 these flatten to a matrix at their axis, 1 where none is given; for the last one that is the same.
bool softmax_is_the_same(NodeProto* node, const Ranks& ranks) {
  const int64_t axis = int_attribute(*node, "axis", 1);
  const auto rank = ranks.find(node->input(0));
  if (axis != -1 && (rank == ranks.end() || axis != rank->second - 1)) return false;
  set_int(node, "axis", axis);
  return true;
}

Status raise_node(GraphEdit& edit, NodeProto* node, int from, int to, const Ranks& ranks) {
  for (const Moved& row : moved())
    if (node->op_type() == row.op && from < row.since && to >= row.since) move_attributes(edit, row, node);
  if (node->op_type() == "Split" && from < 18 && to >= 18 && node->input_size() < 2)
    set_int(node, "num_outputs", node->output_size());
  for (const auto& row : kOther) {
    if (node->op_type() != row.op || from >= row.since || to < row.since) continue;
    if (node->op_type().find("oftmax") != std::string::npos && softmax_is_the_same(node, ranks)) continue;
    return unsupported(
        "the format needs opset {}, the model has {}, and node '{}' ({}) means something else from {} on: convert the "
        "model first (onnx.version_converter)",
        to, from, layer_name(*node), node->op_type(), row.since);
  }
  return Status();
}

}  // namespace

Status raise_opset(GraphEdit& edit, int version, const std::map<std::string, int, std::less<>>& ranks) {
  const int from = edit.opset();
  if (from >= version) return Status();
  for (NodeProto& node : *edit.graph().mutable_node()) {
    if (!is_standard(node)) continue;
    for (const AttributeProto& each : node.attribute())
      if (each.has_g() || each.graphs_size() > 0)
        return unsupported(
            "the format needs opset {}, the model has {}, and node '{}' ({}) has graphs inside: convert the model "
            "first (onnx.version_converter)",
            version, from, layer_name(node), node.op_type());
    if (node.output_size() > 0) WOOTZ_RETURN_IF_ERROR(raise_node(edit, &node, from, version, ranks));
  }
  edit.set_opset(version);
  return Status();
}

}  // namespace wootz::importer
