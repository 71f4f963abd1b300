// Concatenations and what stands between them and their parts, as one step of family concats.
#pragma once

#include <optional>
#include <span>

#include "backend/program.h"

namespace wootz {

// The steps as one that makes these tensors, without its name; nullopt: there are others than concatenations along the
// same axis, and transpositions and casts of their parts. Its operands are the parts, in order.
std::optional<Step> concats_as_one(std::span<const Step> steps, std::span<const TensorIndex> results);

}  // namespace wootz
