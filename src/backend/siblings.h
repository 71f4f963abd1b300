// The siblings family: convolutions alike of the same operands as one with the channels of all, and products alike of
// one tensor by packed weights as one with the columns of all. The results each are a tensor of its own.
#pragma once

#include <optional>
#include <span>

#include "backend/problem.h"
#include "base/status.h"

namespace wootz {

constexpr size_t kMostSiblings = 4;

// Of one sibling: its first operands are those of all; each of the others is a constant, and lies beside those of the
// others along an axis of its own. So do the results.
struct SiblingAxes {
  size_t shared = 0;
  std::vector<size_t> inputs;  // by operand from `shared` on
  size_t output = 0;
};

// Of a convolution, a chain that ends in one, or a product by packed weights, whose rows may be normalized. Null: there
// are no constant weights, or it is none of these.
std::optional<SiblingAxes> sibling_axes(const Problem& problem);

// The problems as one, whose constants are those of all. Null: they differ in more than their channels.
std::optional<Problem> make_siblings(std::span<const Problem> problems);

// The one problem, with the channels of all in its one result. Everything is checked: the problem may come from a
// plan file.
Result<Problem> joint_of(const Problem& siblings);

// The extents of results side by side.
Result<Dims> joint_extents(std::span<const Dims> results, size_t axis);

}  // namespace wootz
