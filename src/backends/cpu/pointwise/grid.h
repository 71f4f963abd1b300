// Quantizations of f32 to bytes whose scale and zero point an expression has as numbers.
#pragma once

#include <optional>

#include "base/pointwise.h"

namespace wootz::cpu {

struct PwGrid {
  float scale = 1, zero = 0;  // `zero` is whole
};
// Of an instruction that is such a quantization: it needs no registers for them.
std::optional<PwGrid> grid_of(const PointwiseExpr& expr, const PwInstr& instr);

}  // namespace wootz::cpu
