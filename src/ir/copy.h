// Copies of graphs. Values and symbols keep their ids, constants share their memory, subgraphs are copied as well: a
// pass may do to the copy what it likes.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace wootz {

// The part that `roots` depend on, and all inputs; the caller marks the outputs. The nodes stand in depth-first order
// from the roots, so that the copy depends on what is computed and not on the order in which the graph was written.
std::shared_ptr<Graph> copy_part(const Graph& from, const std::vector<Value*>& roots);

// The value of the copy that stands for a value of the original; null when it was left out.
inline Value* copy_of(const Graph& copy, const Value* value) { return copy.value_by_id(value->id()); }

}  // namespace wootz
