// A part of the graph that may as well be computed with its rows in another order: row-wise ops between transpositions
// of the rows and attentions, which read and write rows of batch and sequence in either order.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/support/row_ops.h"

namespace wootz {

// What a node is to a region.
enum class RegionRole : uint8_t {
  kInside,     // row-wise
  kReshape,    // of what is in the rows, or from one form to the other
  kTranspose,  // reads rows of the region, or gives them: another permutation then, or none
  kAttention,  // likewise
};

struct RowRegion {
  RowAxes axes;
  std::unordered_map<const Value*, RowForm> rows;
  std::unordered_map<const Node*, RegionRole> nodes;
  std::unordered_map<const Node*, RowWise> reads;  // of nodes inside
  int vanishing = 0;                               // transpositions that are none any more
};

// The permutation of a transposition of which the result (`of_result`) or the operand has its first two axes exchanged.
std::vector<int64_t> exchanged(std::vector<int64_t> perm, bool of_result);

// The region around `seed`, whose first two axes the rows are. nullopt: some of it can only be as it is, or nothing
// would vanish.
std::optional<RowRegion> find_row_region(const Graph& graph, const Value* seed);

}  // namespace wootz
