// The text of a program, read back.
#pragma once

#include <functional>
#include <string_view>

#include "backend/program.h"

namespace wootz {

// Puts the bytes of a constant where they belong, given what its type and extents are and what stands for the bytes in
// the text (empty: nothing does).
using FillConstant = std::function<Status(std::string_view digest, PlanConstant* constant)>;

// A program from what print_program() wrote. Machine code is not in the text: the program has none, and kernels are
// compiled again. `fill` may be null: the constants then have no bytes. Errors: what does not read, with its line; what
// it says is not verified (plan/verify.h does).
Result<Program> parse_program(std::string_view text, const FillConstant& fill = {});

}  // namespace wootz
