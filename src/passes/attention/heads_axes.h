// Where batch, heads, sequence and size of attention lie in the dimensions of one tensor, and what transposes, reshapes
// and slices make of that.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// A factor of a tensor's dimension.
struct Atom {
  enum class Role : uint8_t { kLead, kSequence, kSize, kFixed };
  Role role = Role::kLead;
  std::vector<int> path;  // kLead: order among the leading ones (batch before heads), by lexicographic comparison
  Dim full;               // extent in the tensor
  Dim used;               // what is used of it: less where a part is taken
  int64_t start = 0;      // first used index (kFixed: the only one)
  bool sliced = false;
};
using Axes = std::vector<std::vector<Atom>>;  // by dimension of the tensor, major to minor

// The atoms of a tensor of shape `from` regrouped to the dimensions of `to`, which has the same elements in the same
// order; nullopt where that is not known.
std::optional<Axes> regroup(const Axes& axes, const Shape& from, const Shape& to);

bool is_one(const Dim& dim);

// One step from a value to what it was made from, its axes with it. Atoms that were broadcast go to `dropped`, factors
// (only where `scaled`) into `scale`. Null: no further.
Value* step_back(const Value* value, bool scaled, Axes* axes, std::vector<Atom>* dropped, double* scale);

}  // namespace wootz
