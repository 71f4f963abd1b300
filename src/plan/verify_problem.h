// The part of verify_program that looks at one step's problem.
#pragma once

#include <span>
#include <string>

#include "backend/program.h"

namespace wootz {

// Names in messages come from the file: shortened, control characters replaced.
std::string shown(std::string_view name);
Status check_name(std::string_view what, std::string_view text, size_t limit);

// `shapes` are the values known without any input. Operand indices were checked; the step itself is sound otherwise.
Status verify_problem(const Program& program, const Step& step, const ShapeValues& shapes);

}  // namespace wootz
