// Family squeeze_excite: a mean over images and the two products that read it, one after the other.
#pragma once

#include <optional>
#include <span>

#include "backend/problem.h"

namespace wootz {

// The three steps' problems as one; each reads the result of the one before as its first operand, which no other step
// does. Nullopt: they are something else, or an expression between them reads more than that.
std::optional<Problem> make_squeeze_excite(std::span<const Problem> steps);

}  // namespace wootz
