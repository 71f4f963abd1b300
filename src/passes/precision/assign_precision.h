// Which values of a network are kept in 16 bits.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"

namespace wootz {

// Keeps FP32 values in `type` (f16 or bf16) wherever that is safe for their range: operands and results of GEMMs,
// convolutions, normalizations, softmax, pooling, moves and pointwise expressions. Arithmetic stays in FP32 inside of
// each step; only what is stored between steps is rounded. Left in FP32: the network's inputs and outputs, sums and
// powers that may overflow, expressions and weights with constants that the type cannot hold, index-valued floats
// (index_valued_floats.h), in BF16 the residual stream of transformers (residual_stream.h), and everything an op's own
// type rule ties to FP32; and nodes that `kept` has an origin of. To be run on the finished graph, after the pipeline.
// Returns how many nodes changed.
using KeptOrigins = std::set<std::string, std::less<>>;
Result<int> assign_precision(Graph& graph, DType type, const KeptOrigins& kept = {});

}  // namespace wootz
