// ImportContext over one node of the checked model.
#pragma once

#include <unordered_set>

#include "onnx/importer.h"

namespace wootz::importer {

class NodeContext final : public ImportContext {
 public:
  NodeContext(Importer& importer, const Place& place, Scope& scope, const Frame& frame,
              const std::vector<Slot>& inputs);

  const std::string& op_type() const override { return place_.node.op_type(); }
  const std::string& node_name() const override { return place_.name; }
  int opset() const override { return place_.opset; }
  Graph& graph() override { return *scope_.graph(); }

  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  Value* input(int i) const override;
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  bool wants_output(int i) const override;

  bool has_attr(std::string_view name) const override { return find(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t fallback) const override;
  double attr_float(std::string_view name, double fallback) const override;
  std::string attr_string(std::string_view name, std::string_view fallback) const override;
  std::vector<int64_t> attr_ints(std::string_view name, std::vector<int64_t> fallback) const override;
  std::vector<double> attr_floats(std::string_view name, std::vector<double> fallback) const override;
  std::vector<std::string> attr_strings(std::string_view name) const override;
  DType attr_dtype(std::string_view name, DType fallback) const override;
  Result<HostTensor> attr_tensor(std::string_view name) const override;
  using ImportContext::attr_graph;
  Result<std::shared_ptr<Graph>> attr_graph(std::string_view name, std::vector<Value*>* captured,
                                            const std::vector<TypeInfo>& input_types) override;

  Status fork(Value* condition, Branch then, Branch other) override;
  bool has_open_results(const Graph& branch) const override { return importer_.has_fork(branch); }

  Result<Node*> add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) override;
  Value* add_constant(HostTensor tensor) override;
  void set_output(int i, Value* value) override;

  // For the importer, after the import function has returned.
  const Status& attribute_error() const { return error_; }
  std::vector<Value*>& outputs() { return outputs_; }
  const std::vector<Node*>& added() const { return added_; }
  // Values that did not exist before: outputs of added nodes, and added constants.
  bool made(const Value* value) const { return made_.contains(value); }
  bool imported(const ::onnx::GraphProto& graph) const { return graphs_.contains(&graph); }
  bool forked() const { return fork_ != nullptr; }
  std::unique_ptr<Fork> take_fork() { return std::move(fork_); }
  // Folds the added nodes; outputs() then has the constants. Whether a node is left.
  bool fold(Folder& folder);

 private:
  using Attribute = ::onnx::AttributeProto;
  // The attribute, with a function's parameter replaced by what its caller gave. Null: absent.
  const Attribute* find(std::string_view name) const;
  // The same, of one type; a wrong one is remembered as the node's error and counts as absent.
  const Attribute* find(std::string_view name, int type) const;

  Importer& importer_;
  const Place& place_;
  Scope& scope_;
  const Frame& frame_;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Node*> added_;
  std::unordered_set<const Value*> made_;
  std::unordered_set<const ::onnx::GraphProto*> graphs_;
  mutable Status error_;
  std::unique_ptr<Fork> fork_;
};

}  // namespace wootz::importer
