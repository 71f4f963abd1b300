// The text of a problem, read back.
#pragma once

#include <string_view>

#include "backend/problem.h"

namespace wootz {

// A problem from its key(), which may come from anywhere. Errors: what is not as key() writes it, by place; parameters
// out of range, by family and name.
Result<Problem> parse_problem(std::string_view key);

}  // namespace wootz
