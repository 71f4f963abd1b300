// What follows the sums of a product or a convolution, read from the problem's epilogue.
#pragma once

#include <optional>
#include <vector>

#include "backend/problem.h"
#include "backends/cpu/dense/sums_end.h"

namespace wootz::cpu {

struct SumsFinish {
  // Applied to the sums first, with the columns' own scales and biases: factor * (scale * sum + bias) + shift.
  float factor = 1, shift = 0;
  std::vector<SumsEnd> ends;
  SumsEnd::Type type = SumsEnd::Type::kF32;
  int32_t zero = 0;
  bool may_be_nan = false;
};
// Null: the tile cannot do all of it.
std::optional<SumsFinish> read_sums_finish(const Problem& problem);

}  // namespace wootz::cpu
