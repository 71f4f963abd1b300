// The chain family: two problems as one, the second reading the first's result. Where other steps read that too, it is
// the chain's second result.
#pragma once

#include <span>

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

struct ChainParts {
  Problem first, second;  // second.inputs[0] is first.outputs[0]
};

// `first` and `second` stand one after the other; input 0 of the second is what the first makes.
Problem make_chain(const Problem& first, const Problem& second);

// The two again. Layouts are those of the chain's operands; what is in between is row-major until it is decided.
// Everything is checked: the problem may come from a plan file. Errors: also results that are added up (chain_sum.h).
Result<ChainParts> chain_parts(const Problem& chain);

// Windows along one spatial axis of a convolution or pooling, axis 2 being the first.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  int64_t span() const { return (kernel - 1) * dilation + 1; }
};
// Of a pointwise problem: each row by itself. Errors: another family than these, a transposed convolution, parameters
// that do not fit the rank.
Result<WindowAxis> window_axis(const Problem& problem, int axis);

// Whether it puts images together, one's channels after the other's.
bool concatenates_channels(const Problem& problem);

// Extents of the result of `first`, a convolution, pointwise, a normalization, a concatenation of channels or a chain,
// over operands of these extents (more may follow, but of a concatenation).
Result<Dims> chain_middle(const Problem& first, std::span<const Dims> inputs);

}  // namespace wootz
