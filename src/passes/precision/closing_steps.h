// The steps that lead from a network's last products to its results.
#pragma once

#include <unordered_set>

#include "ir/graph.h"

namespace wootz {

// Pointwise nodes, reductions, softmaxes, norms and moves that come after a product, and ahead of none: a box's
// coordinates, say. They take little time, and with 8 bits of mantissa each of their roundings is as large as all that
// went before. None where there is no reduction, softmax or norm among them: what is added or multiplied is a part of
// the products' steps.
std::unordered_set<const Node*> find_closing_steps(const Graph& graph);

}  // namespace wootz
