// Convolutions by single pixels of what a gate multiplies, as a squeeze-and-excitation has them: family chain.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace wootz::cuda {

// A product whose first operand is multiplied, channel by channel, while it is read. A product that nothing multiplies
// is one, too.
struct GatedProduct {
  Problem problem;         // the product alone, whose operand 0 has the gate's multiplication behind it
  int x = 0, gate = -1;    // operands of the step: what is multiplied, and the gate; -1: there is none
  int w = 1;               // the product's operand 1; what follows on it does so in the step
  std::vector<Dims> dims;  // of the product's operands, where extents of the step's were given
};

// The product that a step's problem is, at the extents `inputs` of its operands. Errors: chains of something else,
// operands of other types than x, several images.
Result<GatedProduct> gated_product(const Problem& problem, std::span<const Dims> inputs);

}  // namespace wootz::cuda
