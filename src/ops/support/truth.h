// Truth values of extents, as dimensions that are 0 or 1: conditions over shapes are then part of the shape program.
#pragma once

#include <optional>

#include "ir/dim.h"

namespace wootz::ops {

// Nullopt where the expression would grow beyond all reason.
std::optional<Dim> truth_equal(const Dim& a, const Dim& b);
std::optional<Dim> truth_less(const Dim& a, const Dim& b);
std::optional<Dim> truth_not(const Dim& truth);
std::optional<Dim> truth_and(const Dim& a, const Dim& b);
std::optional<Dim> truth_or(const Dim& a, const Dim& b);
std::optional<Dim> truth_xor(const Dim& a, const Dim& b);
// Whether the number is not 0.
std::optional<Dim> truth_of(const Dim& number);
// `a` where the truth is 1, `b` where it is 0. Nullopt also where evaluating the one that is not chosen could fail:
// both are evaluated.
std::optional<Dim> truth_select(const Dim& truth, const Dim& a, const Dim& b);

}  // namespace wootz::ops
