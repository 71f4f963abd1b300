// A convolution by single pixels that is added to another one's sums, as part of that one's step.
#pragma once

#include <span>

#include "lower/context.h"

namespace wootz {

// Whether these are three convolutions, the last one of what the second makes, which adds what the first makes.
bool adds_shortcut(std::span<const Step> steps);

// The last three steps, of which that holds, as one of the node, where a provider offers it: the first and the last by
// single pixels, whose results are added up, are one convolution over the channels of both images. False: they are as
// they were.
Result<bool> join_shortcut(LowerContext& ctx, const Node& node, std::span<const Step> steps);

}  // namespace wootz
