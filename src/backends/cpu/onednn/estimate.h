// A rough cost of a dense problem, to order offers without timing.
#pragma once

#include <string_view>

#include "backend/problem.h"

namespace wootz::cpu::dnn {

double estimate_us(const Problem& problem, double flops, std::string_view implementation, int threads);

}  // namespace wootz::cpu::dnn
