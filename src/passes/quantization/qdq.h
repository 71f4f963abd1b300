// Quantize and Dequantize as the passes see them.
#pragma once

#include "ir/graph.h"
#include "ops/support/quant_attrs.h"

namespace wootz {

// Between f32 and an 8-bit type, by a constant scale (one, positive; or several that broadcast to the data, not
// negative) and a constant zero point.
struct QuantGrid {
  DType type = DType::kInvalid;  // the 8-bit one
  const Value* scale = nullptr;
  const Value* zero = nullptr;  // null: 0
  bool per_tensor = false;
  double s = 1, z = 0;  // of the first element; with per_tensor: of all
};

// Of a Quantize or Dequantize node. nullopt with `why` (a clause that goes on "it stays because ...", may be null)
// where it is another kind of quantization.
std::optional<QuantGrid> read_grid(const Node& node, std::string* why = nullptr);
inline bool is_qdq(const Node& node) { return node.is("Quantize") || node.is("Dequantize"); }

// The same of a float of 8 bits: its scale is a constant and its zero point 0, and the other side is any model's float.
std::optional<QuantGrid> read_fp8_grid(const Node& node);

// Dequantize moves forward and Quantize backward (propagate_qdq.cpp), of the grids that `read` finds.
using ReadGrid = std::optional<QuantGrid> (*)(const Node& node);
Result<bool> propagate(Graph& graph, ReadGrid read);
// An average of data of such a grid, or a mean over all spatial axes, reads the 8 bits (fuse_qdq_pool.cpp).
Result<bool> fuse_average(Graph& graph, Node* node, ReadGrid read);

// Per tensor, and every number equal.
bool same_grid(const QuantGrid& a, const QuantGrid& b);

// Ok for a convolution or GEMM that reads int8, or would once fuse_qdq comes to it; else why it stays in float.
Status computes_in_8_bits(const Node& node);

// A constant of nothing but zeros.
bool all_zeros(const Value& zero);
// A Quantize to, or a Dequantize from, a float of 8 bits.
bool is_fp8_qdq(const Node& node);
// Ok for a convolution or GEMM that reads floats of 8 bits, or would if fuse_fp8 came to it; else why it stays in wider
// floats.
Status computes_in_fp8(const Node& node);

// A node like `node` on another x, inserted before `before`; its result has no name of the model's.
Result<Node*> clone_on(Graph& graph, const Node& node, std::vector<Value*> inputs, Node* before);

}  // namespace wootz
