// Indices of programs that tests write by hand: 2_tensor.
#pragma once

#include "backend/indices.h"

namespace wootz {

constexpr TensorIndex operator""_tensor(unsigned long long number) { return TensorIndex(number); }
constexpr ConstantIndex operator""_constant(unsigned long long number) { return ConstantIndex(number); }

}  // namespace wootz
