// The body of an If, Loop or Scan as a graph of its own, which can be optimized and lowered like any other.
#pragma once

#include <functional>

#include "backend/program.h"
#include "ir/graph.h"

namespace wootz {

struct LoneBody {
  std::shared_ptr<Graph> graph;
  std::vector<int32_t> operands;    // by input of the graph: which of the node's inputs it is
  std::vector<SymbolRange> ranges;  // by symbol: for the choice of kernels. Nothing is refused outside of them
};

// `of`: what is known of an extent of an operand of the node, at the optimum or (`max`) the maximum.
using ExtentFunction = std::function<int64_t(const Dim& dim, bool max)>;

// Input i of the body is the node's input `first` + i. `optimize` is run on the graph; inputs that nothing reads any
// more are dropped.
Result<LoneBody> lone_body(const Graph& body, const Node& node, int first, const ExtentFunction& of,
                           const std::function<Status(Graph&)>& optimize);

}  // namespace wootz
