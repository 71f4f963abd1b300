// What the families' lowering files share: values to plan tensors, dimensions to shape expressions, nodes to steps.
#pragma once

#include <string>
#include <unordered_map>

#include "backend/control.h"
#include "ir/op_def.h"
#include "lower/lowered.h"

namespace wootz {

class LowerContext {
 public:
  LowerContext(const Graph& graph, const LowerOptions& options);

  const Graph& graph() const { return graph_; }
  const LowerOptions& options() const { return options_; }
  Program& program() { return lowered_.program; }
  Lowered take() { return std::move(lowered_); }

  // The plan tensor of a value; made at first use. None for null.
  Result<TensorIndex> tensor(const Value* value);
  // A constant made by lowering (a transformed weight, say).
  TensorIndex add_constant(const std::string& name, const HostTensor& data);
  TensorIndex add_intermediate(const std::string& name, DType dtype, const Shape& shape, Status* status);
  // Makes the tensor of `value` a view of the tensor of `source`.
  Status make_view(const Value* value, const Value* source);
  // Another graph's value that is `value` there.
  Status stand_for(const Value* inner, const Value* value);
  Result<ExpressionIndex> expression(const Dim& dim);

  // A step for the node over its inputs [0, num_inputs), with the epilogue's operands after and all its outputs.
  // num_main and the epilogue are taken from the node.
  Result<Step> start_step(const Node& node, Family family, int num_inputs);
  // Appends the step; its TensorDescs are filled in from its tensors.
  Status finish_step(const Node* node, Step step);
  // The node as an `op` step.
  Status reference_step(const Node& node);
  Status lower(const Node& node);  // by its family, or the reference
  // The body whose first input is the node's input `first`, as one more of the program's bodies.
  Status lower_body(const Node& node, const Graph& graph, int first, ControlBody* body);
  Status lower_require(const Node& node);
  Status lower_assert(const Node& node);
  // One step in the place of the last `count`. What only they wrote is a tensor that no step uses any more.
  void replace_last(size_t count, const Node& node, Step step);
  // A plain copy between two tensors of one type and shape.
  Status copy_step(const std::string& name, TensorIndex from, TensorIndex to);
  bool offered(const Step& step);  // asked once for each distinct problem
  // A quantized convolution or product that no kernel computes in 8 bits, in float: its operands are dequantized,
  // constants here and the others by a step of their own.
  Status float_form(const Node* node, Step step);
  // The same of an attention.
  Status float_attention(const Node* node, Step step);
  // A product of packed weights that no kernel reads, by plain ones.
  Status wide_form(const Node* node, Step step);

  // Whether a pointwise step that rounds a normalization's result to 8 bits became a result of that step.
  bool joins_norm(const Step& rounding);
  // Whether one that rounds an attention's result, which no other step reads, became part of that step. `node`: it.
  bool joins_attention(const Node& node, const Step& rounding);
  // Whether a rounding of rows (op QuantizeRows, `node`) became part of the step that makes them.
  bool joins_rows(const Node& node, const Step& rounding);

  // Main inputs of a node: all, or those before its epilogue's operands.
  static int main_inputs(const Node& node);
  // Extents at the first profile's optimum, or with every symbol at its largest in any profile that is served.
  // Unknown sizes count as their upper bound, as those of the input that they replace, or as a guess.
  Dims extents(const Shape& shape, bool max) const;
  // Extents of a tensor with every symbol at its least in any profile that is served; of data-dependent ones, 0.
  Ints least_extents(TensorIndex tensor) const;

 private:
  Result<TensorIndex> wide_weights(const Step& step);
  Result<TensorIndex> dequantized(TensorIndex tensor, double scale, double zero);
  Result<TensorIndex> dequantized_heads(const Step& step, int operand, DType type);
  std::optional<std::vector<double>> scalars_after_first(const Step& step) const;
  std::optional<std::vector<double>> constants_of_rounding(const Step& rounding) const;
  bool take_in(const Step& rounding, const std::vector<double>& constants, bool keeps, Step* step);
  static DType type_between(const Problem& problem);
  static void narrow_between(Step* main, Step* tail);
  TensorDesc describe(TensorIndex tensor) const;
  void describe_operands(Step* step) const;
  void describe_channels(Step* step) const;
  void mark_sparse(Step* step) const;
  bool found_by_running(TensorIndex tensor) const;
  bool found_by_running(const Shape& shape) const;
  Status append(const Node* node, Step step);
  int64_t extent(const Dim& dim, bool max) const;
  std::span<const std::vector<SymbolRange>> served_profiles() const;
  void guess_sizes();
  Result<SymbolIndex> symbol(SymbolId id);
  Result<TensorIndex> make_tensor(const Value* value);

  const Graph& graph_;
  const LowerOptions& options_;
  Lowered lowered_;
  std::unordered_map<std::string, ExpressionIndex> expressions_;
  std::unordered_map<SymbolId, SymbolIndex> symbols_;
  std::unordered_map<std::string, bool> offered_;             // by Problem::key()
  std::unordered_map<TensorIndex, Shape> shapes_;             // by plan tensor
  std::unordered_map<std::string, TensorIndex> dequantized_;  // by tensor and grid
  IndexedVector<SymbolIndex, SymbolId> graph_symbols_;
  std::vector<int64_t> guesses_[2];  // by symbol of the graph; at the optimum, at most
  friend Result<Lowered> lower_graph(const Graph& graph, const LowerOptions& options);
};

// Data-dependent sizes of its own: the kernel families take their extents from outside.
bool has_own_sizes(const Node& node);
// Of a node whose bodies the reference is to run, which runs no plugins.
Status refuse_inner_plugins(const Node& node);

// true: lowered. false: this family does not cover the node as it stands; the reference will run it.
using LowerFunction = Result<bool> (*)(LowerContext& ctx, const Node& node);

#define LOWERING(Name, function, traits) Result<bool> lower_##function(LowerContext& ctx, const Node& node);
#include "ir/lowerings.def"
#undef LOWERING

}  // namespace wootz
