// Optimization profiles as plain data, and what they say of a graph's symbols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/program.h"
#include "ir/graph.h"

namespace wootz {

struct DimsRange {
  Dims min, opt, max;
};
struct ValuesRange {
  std::vector<int64_t> min, opt, max;
};
// Ranges by input name. Inputs without open extents need no entry.
struct BuildProfile {
  std::map<std::string, DimsRange, std::less<>> dims;
  std::map<std::string, ValuesRange, std::less<>> values;  // of inputs whose values decide shapes
};

// Infers types; inputs with values in every profile get them tracked as symbols where shapes depend on them.
Status infer_with_profiles(Graph& graph, const std::vector<BuildProfile>& profiles);

// Ranges of the graph's symbols for each profile. At least one profile comes back. Errors: an input with open extents
// that a profile leaves out or contradicts, inputs that share a dimension but no extent.
Result<std::vector<std::vector<SymbolRange>>> symbol_ranges(const Graph& graph,
                                                            const std::vector<BuildProfile>& profiles);

}  // namespace wootz
