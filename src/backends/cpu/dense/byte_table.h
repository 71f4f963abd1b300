// What follows a rounding to 8 bits, where it gives 8 bits again and reads nothing else: a table of 256 results.
#pragma once

#include <array>
#include <optional>

#include "base/pointwise.h"

namespace wootz::cpu {

using ByteTable = std::array<uint8_t, 256>;

// An expression, of one output, as its part up to that rounding and the table after it.
struct TabledExpr {
  PointwiseExpr head;
  ByteTable table;  // by the head's result, as bits
};
std::optional<TabledExpr> split_at_bytes(const PointwiseExpr& expr);

}  // namespace wootz::cpu
