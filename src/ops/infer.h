// Types, symbolic shapes and tracked shape values of nodes.
#pragma once

#include "ir/op_def.h"

namespace wootz {

// Checks counts and attributes of the node against its OpDef and sets type, shape and shape values of its outputs.
// A node with an "epilogue" expression is inferred as its op over the first "main_inputs" inputs, then the expression.
Status infer_node(Node& node);
// The node's rule, its epilogue included, for operands of which this is known.
Result<std::vector<InferContext::Output>> infer_outputs(const Node& node, std::vector<TypeInfo> inputs, Graph* graph);
// All nodes in order; stops at the first failure.
Status infer_graph(Graph& graph);

// The op's rule for one concrete run: every shape a constant, every value known. Gives (dtype, dims) per output;
// nullopt dims where the shape is data-dependent.
struct ConcreteOutput {
  DType dtype = DType::kInvalid;
  std::optional<Dims> dims;
};
Result<std::vector<ConcreteOutput>> infer_concrete(const Node& node, const std::vector<const HostTensor*>& inputs);

// Shared rules for OpDef::infer.
Status infer_same_as_input(InferContext& ctx);  // output 0: dtype and shape of input 0
Status infer_from_expr(InferContext& ctx);      // pointwise ops: broadcast of inputs, dtype of the expression

}  // namespace wootz
