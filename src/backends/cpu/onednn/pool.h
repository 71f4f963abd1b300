// The pool family by oneDNN's pooling: max and average over windows. A NaN is not sure to win a maximum there.
#pragma once

#include <memory>

#include "backend/kernel.h"

namespace wootz::cpu::dnn {

Result<Candidate> offer_pool(const Problem& problem, const Limits& limits);
Result<std::unique_ptr<Kernel>> create_pool(const Problem& problem, const std::string& config);
std::vector<std::pair<Layout, Layout>> pool_layouts(const Problem& problem);

}  // namespace wootz::cpu::dnn
