// What an epilogue does, where it is a plain sequence of stages: what libraries can fuse.
#pragma once

#include <optional>
#include <vector>

#include "backend/problem.h"

namespace wootz::cuda {

struct Stage {
  PwOp op = PwOp::kAdd;  // kAdd, kMul: with an operand; otherwise a function of one value
  int input = -1;        // the problem's input, for kAdd and kMul
  double imm0 = 0, imm1 = 0;
  double factor = 0;  // of an operand in i8 that is multiplied by this first; 0: it is a float
};

// The stages in order; nullopt when the expression is anything else. Casts between floats do not count: libraries
// compute in f32 and round where they store.
std::optional<std::vector<Stage>> epilogue_stages(const Problem& problem);

// The same where operands may be dequantized values and the result may be quantized, both in i8 with zero point 0.
struct Int8Epilogue {
  std::vector<Stage> stages;
  double step = 0;  // of the result; 0: it is a float
};
std::optional<Int8Epilogue> int8_epilogue(const Problem& problem);

}  // namespace wootz::cuda
