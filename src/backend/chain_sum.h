// Chains whose second problem does not read the first's result: two convolutions whose results are added up, as a block
// of an image network ends with where a convolution makes its shortcut. The expression is of the sum.
#pragma once

#include <optional>

#include "backend/chain.h"

namespace wootz {

// Of convolutions, the first one without an expression; operand `added` of the second one's is its result. Nullopt:
// they are others, or the second does otherwise with it than to add it to its own sums.
std::optional<Problem> make_sum(const Problem& first, const Problem& second, uint16_t added);

bool adds_results(const Problem& problem);

// The two again: the second one's last operand, which its expression adds, is the first one's result. Layouts and
// checks as of chain_parts().
Result<ChainParts> sum_parts(const Problem& sum);

}  // namespace wootz
