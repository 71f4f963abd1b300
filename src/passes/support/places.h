// Where nodes are in a graph's order, as numbers that compare.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace wootz {

// A pass gives a node that it makes the place of the one that it replaces.
using Places = std::unordered_map<const Node*, int>;

inline Places places_of(const Graph& graph) {
  Places places;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    places.emplace(node, static_cast<int>(places.size()));
  return places;
}

}  // namespace wootz
