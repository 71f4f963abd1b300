// The values that a transformer adds its layers' results to.
#pragma once

#include <unordered_set>

#include "ir/graph.h"

namespace wootz {

struct ResidualStream {
  std::unordered_set<const Node*> sums;  // GEMMs and gathers that add to the stream, in their epilogues
  std::unordered_set<const Node*> kept;  // norms of the stream, pointwise nodes and rows of tables that begin it
};
// FP32 sums by GEMMs whose results are normalized. Each layer's rounding of the stream stays in it to the end, so
// that with 8 bits of mantissa the roundings of the stream alone are most of a network's error.
ResidualStream find_residual_stream(const Graph& graph);

}  // namespace wootz
