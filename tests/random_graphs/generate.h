// Valid graphs at random, of the shapes that rewriting meets: trees, shared values and constants, spelled-out forms,
// symbolic extents with arithmetic on them, several outputs, outputs in the middle.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace wootz::random_graphs {

struct Sample {
  std::shared_ptr<Graph> graph;    // inferred
  std::vector<HostTensor> inputs;  // in the order of graph inputs
  std::vector<int64_t> symbols;    // by SymbolId: what these inputs make of them
};

// The same seed gives the same sample. About `size` nodes. Every value was computed while generating: finite, of
// moderate size, and where a small difference would make a large one (comparisons, rounding, indices of the largest),
// from inputs that no kernel touches.
Sample generate(uint64_t seed, int size);

}  // namespace wootz::random_graphs
