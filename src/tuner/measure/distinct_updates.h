// Operands of scatters that have one right result.
#pragma once

#include <vector>

#include "backend/problem.h"
#include "base/tensor.h"

namespace wootz {

// Where updates of a scatter that does not combine them meet in one element, the last one stays, and kernels take them
// in any order. Gives such a problem indices that do not meet; where there are more updates than elements, or the
// indices are constants that meet, all updates get one value. Other problems are left as they are.
Status make_updates_distinct(const Problem& problem, std::vector<HostTensor>* inputs);

}  // namespace wootz
