// Quantize and Dequantize between the products of an attention, which round its scores and its weights to a grid.
#pragma once

#include <vector>

#include "base/fp8.h"
#include "ir/graph.h"

namespace wootz {

struct ScoreRounding {
  double scale = 0, zero = 0;
  DType type = DType::kInvalid;
  bool given() const { return scale != 0; }
  // As attributes s_scale, s_zero, s_type of Attention, or p_scale and p_type.
  void set(const char* letter, AttrMap* attrs) const;
};

// Which types of 8 bits are taken; null: nothing is rounded.
using RoundingTypes = bool (*)(DType);

// Dequantize(Quantize(x)) on one constant grid, where nothing else reads what is between: x. Both nodes are added to
// `nodes`, the Quantize last. Null: it is something else.
Value* rounded_value(Node* dequantize, RoundingTypes types, ScoreRounding* rounding, std::vector<Node*>* nodes);

// Whether the value is dequantized from such a type, by one constant scale.
bool is_rounded(const Value* value, RoundingTypes types);

// As fuse_attention, of dequantized operands where what the second GEMM multiplies is rounded to such a type.
Result<bool> fuse_rounded_attention(Graph& graph, RoundingTypes types);

}  // namespace wootz
