// Floats whose values are indices, positions or sizes rather than signals.
#pragma once

#include <unordered_set>

#include "ir/graph.h"

namespace wootz {

// FP32 values that come from integers of more than 8 bits (positions, labels, sizes) by casts, pointwise arithmetic,
// moves and outer products: 16 bits have neither the range for them nor the precision. What is bounded again (sines,
// sigmoids) is none, and neither is what GEMMs, convolutions, norms and the like make of them.
std::unordered_set<const Value*> index_valued_floats(const Graph& graph);

}  // namespace wootz
