// Ifs whose condition is known while building.
#pragma once

#include <string>
#include <vector>

#include "ir/dim_range.h"
#include "ir/graph.h"

namespace wootz {

// The ranges of a graph's symbols in one optimization profile, by symbol; nullopt where it has none.
using ProfileRanges = std::vector<std::optional<DimRange>>;

// Puts the branch that is taken in the place of every If, in subgraphs too, whose condition is constant or comes out
// the same at all shapes of all profiles, or whose other branch is impossible with them, and drops each Require that
// always holds. What a decision owes to the values of an input stays as a Require: extents are held to their profile
// anyway. All types are worked out anew on the way. Returns how many Ifs are gone. No profiles: constants alone decide.
Result<int> decide_branches(Graph& graph, const std::vector<ProfileRanges>& profiles);

// Puts the one branch in the place of the If. `why` not empty: the error of a run that would take the other one.
Status take_branch(Graph& graph, Node* node, bool taken, std::string why = "");

}  // namespace wootz
