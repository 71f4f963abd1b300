#include "onnx/edit/graph_edit.h"

#include <algorithm>
#include <functional>

#include "base/limits.h"
#include "onnx/tensor_reader.h"

namespace wootz::importer {
namespace {

using ::onnx::AttributeProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr int64_t kIrVersions[][2] = {{13, 7},  {15, 8},  {19, 9},
                                      {21, 10}, {23, 11}, {24, 12}};  // of opsets, from these on

}  // namespace

GraphEdit::GraphEdit(::onnx::ModelProto& model, std::string folder) : model_(model), folder_(std::move(folder)) {
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") opset_ = static_cast<int>(import.version());
  for (const auto& input : graph().input()) names_.insert(input.name());
  for (const auto& output : graph().output()) outputs_.insert(output.name());
  for (const TensorProto& tensor : graph().initializer()) {
    constants_[tensor.name()] = &tensor;
    names_.insert(tensor.name());
  }
  // An input with a default is the application's to set.
  if (model.ir_version() >= 4)
    for (const auto& input : graph().input()) constants_.erase(input.name());
  for (const NodeProto& node : graph().node()) {
    names_.insert(node.name());
    for (const std::string& output : node.output()) {
      names_.insert(output);
      producers_[output] = &node;
    }
    for (const std::string& input : node.input()) users_[input].push_back(&node);
    const AttributeProto* const value = node.op_type() == "Constant" ? attribute(node, "value") : nullptr;
    if (value != nullptr && value->has_t() && node.output_size() == 1) constants_[node.output(0)] = &value->t();
    note_subgraphs(node, 0);
  }
}

void GraphEdit::note_subgraphs(const NodeProto& node, int depth) {
  if (depth > limits::kMaxSubgraphDepth) return;
  const auto note = [&](const ::onnx::GraphProto& body) {
    for (const NodeProto& inner : body.node()) {
      captured_.insert(inner.input().begin(), inner.input().end());
      names_.insert(inner.output().begin(), inner.output().end());
      note_subgraphs(inner, depth + 1);
    }
    for (const auto& output : body.output()) captured_.insert(output.name());
  };
  for (const AttributeProto& each : node.attribute()) {
    if (each.has_g()) note(each.g());
    for (const auto& body : each.graphs()) note(body);
  }
}

void GraphEdit::set_opset(int version) {
  opset_ = version;
  for (auto& import : *model_.mutable_opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") import.set_version(version);
  for (const auto& [since, ir] : kIrVersions)
    if (version >= since && model_.ir_version() < ir) model_.set_ir_version(ir);
}

const TensorProto* GraphEdit::constant(const std::string& name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

Result<HostTensor> GraphEdit::read(const TensorProto& tensor) const {
  TensorProto own = tensor;  // the reader takes the bytes out
  return TensorReader(ExternalFiles(folder_, false)).read(own);
}

const NodeProto* GraphEdit::producer(const std::string& name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

const std::vector<const NodeProto*>& GraphEdit::users(const std::string& name) const {
  static const std::vector<const NodeProto*> kNone;
  const auto found = users_.find(name);
  return found == users_.end() ? kNone : found->second;
}

std::string GraphEdit::unique(const std::string& name) {
  std::string made = name;
  for (int number = 1; !names_.insert(made).second; ++number) made = fmt::format("{}_{}", name, number);
  return made;
}

NodeProto* GraphEdit::add_after(const std::string& value, const std::string& op, const std::vector<std::string>& inputs,
                                const std::string& output) {
  auto node = std::make_unique<NodeProto>();
  node->set_op_type(op);
  node->set_name(unique(output + "_" + op));
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  NodeProto* const made = node.get();
  after_[producer(value)].push_back(std::move(node));
  return made;
}

std::string GraphEdit::add_constant(const std::string& name, const HostTensor& tensor) {
  TensorProto* const made = graph().add_initializer();
  made->set_name(unique(name));
  made->set_data_type(dtype_to_onnx(tensor.dtype()));
  for (const int64_t extent : tensor.dims()) made->add_dims(extent);
  made->set_raw_data(tensor.data(), tensor.bytes());
  constants_[made->name()] = made;
  return made->name();
}

void GraphEdit::finish() {
  google::protobuf::RepeatedPtrField<NodeProto> all;
  const auto take = [&](const NodeProto* place) {
    const auto found = after_.find(place);
    if (found == after_.end()) return;
    for (auto& node : found->second) all.AddAllocated(node.release());
  };
  take(nullptr);
  auto& nodes = *graph().mutable_node();
  for (int i = 0; i < nodes.size(); ++i) {
    const NodeProto* const place = &nodes.Get(i);
    all.Add()->Swap(nodes.Mutable(i));
    take(place);
  }
  nodes.Swap(&all);
  std::set<std::string, std::less<>> read(captured_.begin(), captured_.end());  // copies: messages move below
  read.insert(outputs_.begin(), outputs_.end());
  for (const NodeProto& node : nodes) read.insert(node.input().begin(), node.input().end());
  const auto needless = [&](const NodeProto& node) {
    return node.op_type() == "Constant" && node.output_size() == 1 && !read.contains(node.output(0));
  };
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), needless), nodes.end());
  auto& constants = *graph().mutable_initializer();
  std::set<std::string, std::less<>> inputs;
  for (const auto& input : graph().input()) inputs.insert(input.name());
  constants.erase(std::remove_if(constants.begin(), constants.end(),
                                 [&](const TensorProto& tensor) {
                                   return !read.contains(tensor.name()) && !inputs.contains(tensor.name());
                                 }),
                  constants.end());
}

const AttributeProto* attribute(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& each : node.attribute())
    if (each.name() == name) return &each;
  return nullptr;
}

int64_t int_attribute(const NodeProto& node, std::string_view name, int64_t otherwise) {
  const AttributeProto* const found = attribute(node, name);
  return found != nullptr && found->type() == AttributeProto::INT ? found->i() : otherwise;
}

void set_int(NodeProto* node, const std::string& name, int64_t value) {
  for (AttributeProto& each : *node->mutable_attribute())
    if (each.name() == name) return each.set_i(value);
  AttributeProto* const made = node->add_attribute();
  made->set_name(name);
  made->set_type(AttributeProto::INT);
  made->set_i(value);
}

bool is_standard(const NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

}  // namespace wootz::importer
