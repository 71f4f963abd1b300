// Graph to Program: every node becomes steps of kernel families, a view, or nothing (shape values). The one bridge from
// ops to kernels.
#pragma once

#include "lower/lowered.h"

namespace wootz {

// `graph` is inferred and verified. Problems' extents are the first profile's optimum and the largest of any
// profile that is served.
// Steps have no tactics yet.
Result<Lowered> lower_graph(const Graph& graph, const LowerOptions& options);

}  // namespace wootz
