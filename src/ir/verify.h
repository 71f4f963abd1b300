// Whether a graph holds together: what every pass may rely on, and must establish.
#pragma once

#include "ir/graph.h"

namespace wootz {

// Checks, for the graph and (to limits::kMaxSubgraphDepth) the graphs in its attributes:
// - order: every input of a node is a graph input, a constant, or an output of an earlier node of the same graph;
// - use lists and producer links agree with the nodes' inputs and outputs;
// - input, output and attribute counts, names and kinds agree with the OpDef ("epilogue" with "main_inputs" and
//   "acc_dtype", and "x_scale", "x_zero", "w_scale", "w_zero" are allowed on every op); expressions pass
//   PointwiseExpr::verify();
// - every value that is used has an element type and at most limits::kMaxRank dimensions over known symbols, and
//   constants have the type and shape of their tensor;
// - names of the inputs and outputs of the outermost graph are given and distinct.
// The first violation is refused by the names of its graph, node and value. Needs no types to have been inferred
// correctly: infer_graph() (ops/infer.h) says whether they are.
Status verify_graph(const Graph& graph);

}  // namespace wootz
