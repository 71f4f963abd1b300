// What an epilogue does, where it is a plain chain: what libraries can fuse.
#pragma once

#include <optional>
#include <vector>

#include "backend/problem.h"

namespace wootz::cuda {

struct Stage {
  PwOp op = PwOp::kAdd;  // kAdd, kMul: with an operand; otherwise a function of one value
  int input = -1;        // the problem's input, for kAdd and kMul
  double imm0 = 0, imm1 = 0;
};

// The stages in order; nullopt when the expression is anything else. Casts between floats do not count: libraries
// compute in f32 and round where they store.
std::optional<std::vector<Stage>> chain_of(const Problem& problem);

}  // namespace wootz::cuda
