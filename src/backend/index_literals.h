// Indices of programs that tests write by hand: 2_tensor.
#pragma once

#include "backend/indices.h"

namespace wootz {

constexpr TensorIndex operator""_tensor(unsigned long long number) { return TensorIndex(number); }
constexpr ConstantIndex operator""_constant(unsigned long long number) { return ConstantIndex(number); }
constexpr ExpressionIndex operator""_expr(unsigned long long number) { return ExpressionIndex(number); }
constexpr SymbolIndex operator""_symbol(unsigned long long number) { return SymbolIndex(number); }
constexpr StepIndex operator""_step(unsigned long long number) { return StepIndex(number); }

}  // namespace wootz
