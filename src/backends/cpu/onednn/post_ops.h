// Epilogues as oneDNN knows them: a chain of post-ops from the accumulator on. The longest prefix of an expression that
// is such a chain goes to oneDNN; the rest stays an expression for the pointwise engine.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstdint>
#include <vector>

#include "base/pointwise.h"

namespace wootz::cpu::dnn {

struct ChainOp {
  enum class Kind : uint8_t {
    kEltwise,   // algorithm, alpha, beta
    kBinary,    // algorithm with operand `operand` as second source
    kAdd,       // plus alpha * operand + beta: a residual, perhaps quantized
    kPRelu,     // slopes from `operand`
    kQuantize,  // to `type`: divide by alpha, add the integer beta; the last of its chain
    kConvert,   // to the float type `type`; changes the result only as the last of its chain
  };
  Kind kind = Kind::kEltwise;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  uint16_t operand = 0;  // number of the expression's operand
  DType type = DType::kF32;
  int value = -1;  // the value of the expression that holds after this op; -1: in the middle of an instruction
};

// The ops from operand 0 on. complete: the last one's value is the expression's one output.
struct Chain {
  std::vector<ChainOp> ops;
  int start = -1;  // the value that loads operand 0; -1: it is not read, or read in a way that has no prefix at all
  bool complete = false;
};

// `expr` was verified and has one output.
Chain linear_chain(const PointwiseExpr& expr);

// What is left of `expr` once value `value` is known: it becomes operand 0, of type f32. Operand numbers stay.
PointwiseExpr remainder_after(const PointwiseExpr& expr, int value);

}  // namespace wootz::cpu::dnn
