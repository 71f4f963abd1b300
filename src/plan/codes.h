// Numbers that stand in plan files for good. Changing one needs a new format version.
#pragma once

#include "backend/program.h"

namespace wootz::plan_codes {

static_assert(static_cast<int>(ShapeOp::kConst) == 0 && static_cast<int>(ShapeOp::kSymbol) == 1 &&
              static_cast<int>(ShapeOp::kAdd) == 2 && static_cast<int>(ShapeOp::kMul) == 3 &&
              static_cast<int>(ShapeOp::kFloorDiv) == 4 && static_cast<int>(ShapeOp::kCeilDiv) == 5 &&
              static_cast<int>(ShapeOp::kMod) == 6 && static_cast<int>(ShapeOp::kMin) == 7 &&
              static_cast<int>(ShapeOp::kMax) == 8);
static_assert(static_cast<int>(SymbolSource::kInputDim) == 0 && static_cast<int>(SymbolSource::kInputValue) == 1 &&
              static_cast<int>(SymbolSource::kDataDependent) == 2);
static_assert(static_cast<int>(TensorKind::kInput) == 0 && static_cast<int>(TensorKind::kOutput) == 1 &&
              static_cast<int>(TensorKind::kConstant) == 2 && static_cast<int>(TensorKind::kIntermediate) == 3 &&
              static_cast<int>(TensorKind::kView) == 4 && static_cast<int>(TensorKind::kShape) == 5 &&
              static_cast<int>(TensorKind::kSubview) == 6);

inline constexpr int kPwOpCount = 0
#define PW(enumerator, text, arity) +1
#include "base/pointwise.def"
#undef PW
    ;

}  // namespace wootz::plan_codes
