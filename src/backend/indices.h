// What a program's parts are called by: indices into its lists (backend/program.h).
#pragma once

#include "base/index.h"

namespace wootz {

using TensorIndex = Index<struct TensorTag>;          // of Program::tensors
using ConstantIndex = Index<struct ConstantTag>;      // of Program::constants
using ExpressionIndex = Index<struct ExpressionTag>;  // of Program::exprs
using SymbolIndex = Index<struct SymbolTag>;          // of Program::symbols
using StepIndex = Index<struct StepTag>;              // of Program::steps

}  // namespace wootz
