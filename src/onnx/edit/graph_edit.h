// Changes to a model's main graph, which are made all at once: nodes in new places, constants in and out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "onnx/onnx.pb.h"

namespace wootz::importer {

class GraphEdit {
 public:
  GraphEdit(::onnx::ModelProto& model, std::string folder);

  ::onnx::ModelProto& model() { return model_; }
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  int opset() const { return opset_; }
  void set_opset(int version);

  // Of an initializer or a Constant node; null: the name is of something else. Sparse ones are something else.
  const ::onnx::TensorProto* constant(const std::string& name) const;
  Result<HostTensor> read(const ::onnx::TensorProto& tensor) const;
  // Null: the name is an input's, or unknown.
  const ::onnx::NodeProto* producer(const std::string& name) const;
  const std::vector<const ::onnx::NodeProto*>& users(const std::string& name) const;
  bool is_output(const std::string& name) const { return outputs_.count(name) != 0; }
  // Whether a body inside of a node reads it.
  bool is_captured(const std::string& name) const { return captured_.count(name) != 0; }

  std::string unique(const std::string& name);
  // Nodes that come right after what makes a value (first of all where nothing does), in the order of the calls.
  ::onnx::NodeProto* add_after(const std::string& value, const std::string& op, const std::vector<std::string>& inputs,
                               const std::string& output);
  // The name that it got.
  std::string add_constant(const std::string& name, const HostTensor& tensor);

  // Puts the new nodes in, and takes out constants that nothing reads any more.
  void finish();

 private:
  void note_subgraphs(const ::onnx::NodeProto& node, int depth);
  ::onnx::ModelProto& model_;
  std::string folder_;
  int opset_ = 0;
  std::unordered_map<std::string, const ::onnx::TensorProto*> constants_;
  std::unordered_map<std::string, const ::onnx::NodeProto*> producers_;
  std::unordered_map<std::string, std::vector<const ::onnx::NodeProto*>> users_;
  std::set<std::string> outputs_, captured_, names_;
  std::map<const ::onnx::NodeProto*, std::vector<std::unique_ptr<::onnx::NodeProto>>> after_;  // null: at the start
};

const ::onnx::AttributeProto* attribute(const ::onnx::NodeProto& node, std::string_view name);
int64_t int_attribute(const ::onnx::NodeProto& node, std::string_view name, int64_t otherwise);
void set_int(::onnx::NodeProto* node, const std::string& name, int64_t value);
// "", "ai.onnx": the operators of ONNX itself.
bool is_standard(const ::onnx::NodeProto& node);

}  // namespace wootz::importer
