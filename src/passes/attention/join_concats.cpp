// The keys and values that an attention reads, where both are concatenations along one axis: what came before and a
// token's own, as in a decoder with caches. With the transpositions and casts of their parts that no other node reads,
// they are one node with a result each, which a step may make at once. Runs when nothing else changes any more, as
// fuse_chains does. Where no kernel takes it, it is lowered as they are.
#include <algorithm>

#include "ir/op_def.h"
#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

int64_t axis_of(const Node& concat) {
  const int64_t axis = concat.attr_int("axis"), rank = concat.output()->rank();
  return axis < 0 ? axis + rank : axis;
}

// Which the planner of memory cannot do without: with nothing in front of the axis, parts are places in the result.
bool is_copied(const Node& concat) {
  const Shape& shape = concat.output()->shape();
  for (int64_t a = 0; a < axis_of(concat); ++a)
    if (!(shape[static_cast<size_t>(a)] == Dim(1))) return true;
  return false;
}

struct Joined {
  std::vector<Node*> nodes;
  std::vector<Value*> parts, results;
};

// The way back from a part, by what it alone reads: one cast at most, and transpositions that keep the last axis, so
// that both sides go by neighbours.
Value* source_of(Value* part, const Node* reader, std::vector<Node*>* passed) {
  for (bool cast = false;;) {
    Node* const node = maker_for(part, *reader);
    if (node == nullptr) return part;
    if (node->is("Cast")) {
      if (cast || !is_model_float(node->input(0)->dtype())) return part;
      cast = true;
    } else if (!node->is("Transpose") || permutation(*node).back() != part->rank() - 1) {
      return part;
    }
    passed->insert(passed->begin(), node);
    reader = node;
    part = node->input(0);
  }
}

void add(Node* concat, Joined* joined) {
  for (Value* part : concat->inputs()) {
    std::vector<Node*> passed;
    joined->parts.push_back(source_of(part, concat, &passed));
    joined->nodes.insert(joined->nodes.end(), passed.begin(), passed.end());
  }
  joined->nodes.push_back(concat);
  joined->results.push_back(concat->output());
}

// Whether all nodes that read the results stand after the place at which these are made.
bool read_later(const Joined& joined, const Places& places) {
  const auto made = places.find(joined.results.back()->producer());
  if (made == places.end()) return false;
  for (const Value* result : joined.results)
    for (const Use& use : result->uses()) {
      const auto at = places.find(use.node);
      if (at == places.end() || at->second <= made->second) return false;
    }
  return true;
}

// The concatenations among keys and values, in the order of the graph.
std::vector<Node*> concats_of(const Node& attention, const Places& places) {
  std::vector<Node*> found;
  for (const int i : {1, 2}) {
    Node* const node =
        attention.num_inputs() > i && attention.input(i) != nullptr ? attention.input(i)->producer() : nullptr;
    const bool fits = node != nullptr && node->is("Concat") && is_model_float(node->output()->dtype()) &&
                      places.find(node) != places.end() && is_copied(*node) && !node->output()->shape_values() &&
                      (found.empty() || (found[0] != node && axis_of(*found[0]) == axis_of(*node)));
    if (fits) found.push_back(node);
  }
  if (found.size() == 2 && places.at(found[0]) > places.at(found[1])) std::swap(found[0], found[1]);
  return found;
}

}  // namespace

Result<bool> join_concats(Graph& graph) {
  const Places places = places_of(graph);
  std::vector<Node*> readers;  // none of which is erased
  for (Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("Attention")) readers.push_back(node);
  bool changed = false;
  for (const Node* attention : readers) {
    Joined joined;
    for (Node* concat : concats_of(*attention, places)) add(concat, &joined);
    const auto is_given = [](const Value* v) { return v != nullptr && !v->is_constant(); };
    if (joined.nodes.size() < 2 || !std::all_of(joined.parts.begin(), joined.parts.end(), is_given) ||
        !read_later(joined, places))
      continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool enclosed, enclose_nodes(graph, joined.nodes, joined.parts, joined.results));
    changed = changed || enclosed;
  }
  return changed;
}

}  // namespace wootz
