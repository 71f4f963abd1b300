// What an expression can be when its symbols are in ranges: interval arithmetic.
#pragma once

#include <functional>
#include <optional>

#include "ir/dim.h"

namespace wootz {

struct DimRange {
  int64_t low = 0, high = 0;  // both included
  bool operator==(const DimRange&) const = default;
};

// Holds every value that the expression takes; may hold others. Nullopt: a symbol without a range, a divisor that may
// not be positive, or numbers that do not fit into 64 bits.
std::optional<DimRange> range_of(const Dim& dim, const std::function<std::optional<DimRange>(SymbolId)>& symbols);

}  // namespace wootz
