// Embeddings: rows of tables by indices, added up and normalized, as one node, which a step may compute whole. Runs
// when nothing else changes any more, as fuse_chains does. Where no kernel takes it, it is lowered as what it is made
// of.
#include <algorithm>

#include "passes/pass.h"
#include "passes/support/chain_nodes.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr size_t kMostTables = 4;

// The gather of rows of a table that gives the value, which `reader` alone reads, once; null: none.
Node* rows_for(const Value* value, const Node& reader) {
  Node* const node = maker_for(value, reader);
  if (node == nullptr || !node->is("Gather") || node->num_outputs() != 1 || !is_float(value->dtype())) return nullptr;
  const Value* table = node->input(0);
  const int64_t axis = node->attr_int("axis", 0);
  return table->rank() == 2 && (axis == 0 || axis == -2) && table->dtype() == value->dtype() ? node : nullptr;
}

// A normalization of lines along the last axis.
bool is_norm_of_lines(const Node& node) {
  if (!node.is("LayerNorm") && !node.is("RMSNorm")) return false;
  const int64_t axis = node.attr_int("axis", -1);
  return node.num_outputs() == 1 && (axis == -1 || axis == node.input(0)->rank() - 1);
}

}  // namespace

Result<bool> fuse_embedding(Graph& graph) {
  bool changed = false;
  const Places places = places_of(graph);
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!is_norm_of_lines(*node)) continue;
    Node* const sum = rows_for(node->input(0), *node);
    if (sum == nullptr) continue;
    std::vector<Node*> all;
    if (sum->has_attr("epilogue"))
      for (int64_t i = sum->attr_int("main_inputs", 2); i < sum->num_inputs() && all.size() + 1 < kMostTables; ++i) {
        const Value* added = sum->input(static_cast<int>(i));
        Node* const rows = rows_for(added, *sum);
        if (rows != nullptr && !rows->has_attr("epilogue") && added->shape() == sum->output()->shape() &&
            rows->input(1)->shape() == sum->input(1)->shape())
          all.push_back(rows);
      }
    std::sort(all.begin(), all.end(), [&](const Node* a, const Node* b) { return places.at(a) < places.at(b); });
    all.push_back(sum);
    all.push_back(node);
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, chain_nodes(graph, all));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
