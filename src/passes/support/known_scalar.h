// Single numbers that are known while building, and factors that are such.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace wootz {

// The one element of a tensor that is known while building: a constant, a known extent, or computed from such.
std::optional<double> known_scalar(const Value* value, int depth = 8);

// x * factor or x / (1 / factor) by a known scalar: x and the factor. Null: not that.
Value* scaled_value(const Node& node, double* factor);

}  // namespace wootz
