// What an instruction of an expression costs, as a multiple of an addition: for the division among threads.
#pragma once

#include "base/pointwise.h"

namespace wootz::cpu {

inline double weight_of(PwOp op) {
  if (op == PwOp::kPow || op == PwOp::kMod || op == PwOp::kFmod || (op >= PwOp::kSin && op <= PwOp::kAtanh)) return 60;
  switch (op) {
    case PwOp::kExp:
    case PwOp::kLog:
    case PwOp::kErf:
    case PwOp::kSigmoid:
    case PwOp::kTanh:
    case PwOp::kGeluErf:
    case PwOp::kGeluTanh:
    case PwOp::kSilu:
    case PwOp::kMish:
    case PwOp::kSoftplus:
    case PwOp::kElu:
    case PwOp::kCelu:
    case PwOp::kSelu: return 6;
    default: return 1;
  }
}

}  // namespace wootz::cpu
