// Builds models by hand for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "onnx/import.h"
#include "onnx/onnx.pb.h"

namespace wootz::importer {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

inline ModelProto model_for_test(int opset = 17) {
  ModelProto model;
  model.set_ir_version(8);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model.mutable_graph()->set_name("test");
  return model;
}

// Dimensions: a number, or a name; "" leaves the dimension open.
inline void set_type(::onnx::ValueInfoProto* value, const std::string& name, int type,
                     const std::vector<std::string>& dims) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape()->clear_dim();
  for (const std::string& dim : dims) {
    auto* proto = tensor->mutable_shape()->add_dim();
    if (!dim.empty() && (dim[0] == '-' || (dim[0] >= '0' && dim[0] <= '9')))
      proto->set_dim_value(std::stoll(dim));
    else if (!dim.empty())
      proto->set_dim_param(dim);
  }
}

inline void add_input(GraphProto* graph, const std::string& name, const std::vector<std::string>& dims,
                      int type = TensorProto::FLOAT) {
  set_type(graph->add_input(), name, type, dims);
}

inline void add_output(GraphProto* graph, const std::string& name) { graph->add_output()->set_name(name); }

inline NodeProto* add_node(google::protobuf::RepeatedPtrField<NodeProto>* nodes, const std::string& op,
                           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                           const std::string& name = "") {
  NodeProto* node = nodes->Add();
  node->set_op_type(op);
  node->set_name(name);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}
inline NodeProto* add_node(GraphProto* graph, const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& name = "") {
  return add_node(graph->mutable_node(), op, inputs, outputs, name);
}

inline AttributeProto* add_attribute(NodeProto* node, const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(type);
  return attribute;
}

template <typename T>
TensorProto raw_tensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                       const std::vector<T>& values) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t extent : dims) tensor.add_dims(extent);
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
  return tensor;
}

struct ImportedForTest {
  Status status;
  std::shared_ptr<Graph> graph;
  std::vector<ImportProblem> problems;
};

inline ImportedForTest import_for_test(const std::string& bytes, const ImportOptions& options = {}) {
  ImportedForTest out;
  Result<std::shared_ptr<Graph>> graph = import_model(std::as_bytes(std::span(bytes)), options, &out.problems);
  if (graph.ok())
    out.graph = *graph;
  else
    out.status = graph.status();
  return out;
}
inline ImportedForTest import_for_test(const ModelProto& model, const ImportOptions& options = {}) {
  return import_for_test(model.SerializeAsString(), options);
}

}  // namespace wootz::importer
