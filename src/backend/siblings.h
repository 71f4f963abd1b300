// The siblings family: convolutions alike of the same operands as one with the channels of all, whose results each are
// a tensor of its own.
#pragma once

#include <optional>
#include <span>

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

constexpr size_t kMostSiblings = 4;

// Which operand of a convolution, or of a chain that ends in one, are its weights; its bias follows. Null: there are no
// constant weights, or no such convolution.
std::optional<size_t> sibling_weights(const Problem& problem);

// The problems as one, whose weights and bias have the channels of all. Null: they differ in more than their channels.
std::optional<Problem> make_siblings(std::span<const Problem> problems);

// The one convolution, with the channels of all in its one result. Everything is checked: the problem may come from a
// plan file.
Result<Problem> joint_of(const Problem& siblings);

// The extents of that result.
Result<Dims> joint_extents(std::span<const Dims> results);

}  // namespace wootz
