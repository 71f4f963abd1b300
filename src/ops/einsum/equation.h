// The equation of an Einsum over operands of known ranks.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"

namespace wootz::ops {

// Labels are numbers from 0: one per letter, and one per axis that an ellipsis stands for (aligned to the right).
struct Equation {
  std::vector<std::vector<int>> terms;  // the label of every axis of every operand
  std::vector<int> output;
  int num_labels = 0;
};

Result<Equation> parse_equation(std::string_view text, const std::vector<int>& ranks);

}  // namespace wootz::ops
