// Products of floats of 8 bits that are computed in two steps.
#include "base/fp8.h"
#include "backend/quantized.h"
#include "lower/context.h"
#include "base/expressions.h"

namespace wootz {

// What the family's own step gives the one that has its epilogue. Where a product of floats of 8 bits is rounded to
// such in the end, that need not be wider than bf16: half the memory, and 32 times as fine as what comes out.
DType LowerContext::type_between(const Problem& p) {
  const bool rounded = has_scales(p) && is_fp8(p.inputs[0].dtype) && is_fp8(p.outputs[0].dtype);
  return rounded && p.acc_dtype == DType::kF32 ? DType::kBF16 : p.acc_dtype;
}

// The expressions on either side of it, where that is not the accumulator's type.
void LowerContext::narrow_between(Step* main, Step* tail) {
  PointwiseExpr stored, read;
  stored.outputs = {stored.push(PwOp::kCast, DType::kBF16, stored.input(0, DType::kF32))};
  main->problem.epilogue = std::move(stored);
  const PointwiseExpr& e = tail->problem.epilogue;
  const uint16_t product = read.push(PwOp::kCast, DType::kF32, read.input(0, DType::kBF16));
  read.outputs = append_expression(
      &read, e, [&](const PwInstr& load) { return load.a == 0 ? product : read.input(load.a, load.type); });
  read.num_inputs = e.num_inputs;
  tail->problem.epilogue = std::move(read);
}

}  // namespace wootz
