// Follows an operand of attention back (or its result on) through transposes, reshapes, slices and scalings, keeping
// account of where batch, heads, sequence and size lie in each tensor on the way. Exporters write those in many orders;
// what they mean is one strided view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/attention/heads_axes.h"

namespace wootz {

// An operand (query, key or value) as attention takes it.
struct HeadsOperand {
  Value* source = nullptr;
  std::vector<int64_t> view;  // HeadsView of source seen as three axes; empty: source is [batch, heads, sequence, size]
  bool reshape = false;       // source has other axes than that: reshape to `target` first
  std::vector<int64_t> target;
  bool transposed = false;  // source is [batch, heads, size, sequence]
  Dim batch = 1, heads = 1, sequence = 1, size = 1;
  double scale = 1;           // factors met on the way
  std::vector<Node*> passed;  // nodes that the operand no longer goes through
};

// `transposed`: the last two axes are size, sequence (the key before a GEMM). Rank 3 or 4; with rank 3 the
// first axis holds batch and heads, as far as the way back shows. The farthest source that a view reaches, if any.
// `scaled`: factors may be taken out.
std::optional<HeadsOperand> trace_operand(Value* operand, bool transposed, bool scaled);

// Where the result of attention ends up: the last value after `result` ([batch, heads, sequence, size], or of rank 3
// with batch * heads in front) that holds the same numbers in the order of `merged` (0, 1, 2).
struct HeadsResult {
  Value* value = nullptr;
  int64_t merged = 0;
  std::vector<Node*> passed;
};
HeadsResult trace_result(Value* result, const Dim& batch, const Dim& heads);

// The target list of a Reshape of a tensor of shape `from` to `to` (0: the extent at that place, at most one -1);
// nullopt where symbols make it impossible.
std::optional<std::vector<int64_t>> reshape_target(const Shape& from, const Shape& to);
Result<Value*> add_reshape(Graph& graph, Value* x, const std::vector<int64_t>& target, Node* before);

}  // namespace wootz
