// A convolution by single pixels that is added to another one's sums, as part of that one's step.
#pragma once

#include <span>

#include "lower/context.h"

namespace wootz {

// The last three steps, made of a node: a convolution by single pixels, another convolution, and one by single pixels
// of what this one makes, to whose sums the first's result is added. That is one convolution over the channels of both
// images, after the one in the middle. As one step where a provider offers it; false: it is not offered.
Result<bool> join_shortcut(LowerContext& ctx, const Node& node, std::span<const Step> steps);

}  // namespace wootz
