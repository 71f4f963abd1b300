// Problems that are the same work for other numbers.
#pragma once

#include "backend/problem.h"

namespace wootz {

// Equal for problems that differ only in the values of real parameters (scales, slopes, limits) and of the epilogue's
// constants: what computes one at a certain speed computes the others at the same. Signs, zeros and ones stay apart,
// since kernels and libraries treat them apart.
std::string class_key(const Problem& problem);

// The one that stands for its class: equal for all of it, and in no way special.
Problem class_of(const Problem& problem);

}  // namespace wootz
