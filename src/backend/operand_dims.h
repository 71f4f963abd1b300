// The extents of a step's operands.
#pragma once

#include <vector>

#include "backend/problem.h"

namespace wootz {

inline std::vector<Dims> operand_dims(const std::vector<TensorDesc>& operands) {
  std::vector<Dims> dims;
  dims.reserve(operands.size());
  for (const TensorDesc& t : operands) dims.push_back(t.dims);
  return dims;
}

}  // namespace wootz
