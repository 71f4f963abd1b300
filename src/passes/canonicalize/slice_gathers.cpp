// Gathers of constant positions that are neighbours in memory are slices, which need no step: one token, the last state
// of a recurrent layer, query, key and value of what was computed as one.
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

struct Range {
  int64_t first, count;
};

// The positions, when they count up by one within the extent.
std::optional<Range> neighbours(const HostTensor& positions, int64_t extent) {
  const int64_t count = positions.volume();
  if (count < 1 || count > extent) return std::nullopt;
  const auto at = [&](int64_t i) {
    const int64_t position = positions.get_i64(i);
    return position < 0 ? position + extent : position;
  };
  for (int64_t i = 0; i < count; ++i)
    if (at(i) != at(0) + i) return std::nullopt;
  if (at(0) < 0 || at(0) + count > extent) return std::nullopt;
  return Range{at(0), count};
}

Result<bool> slice_gather(Graph& graph, Node* node) {
  const Value *x = node->input(0), *positions = node->input(1), *y = node->output();
  if (node->has_attr("epilogue") || x->is_constant() || !positions->is_constant() || positions->rank() > 1 ||
      y->shape_values())
    return false;
  const int64_t given = node->attr_int("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + x->rank() : given);
  if (!x->shape()[axis].is_const()) return false;
  // Elsewhere the slice would be a copy as the gather is.
  for (size_t a = 0; a < axis; ++a)
    if (!(x->shape()[a] == Dim(1))) return false;
  const std::optional<Range> range = neighbours(positions->constant(), x->shape()[axis].value());
  if (!range) return false;
  Replacement made(graph, node);
  Value* part = made.slice(node->input(0), static_cast<int64_t>(axis), range->first, range->first + range->count);
  if (positions->rank() == 0) part = made.squeeze(part, {static_cast<int64_t>(axis)});
  WOOTZ_RETURN_IF_ERROR(made.finish({part}));
  return true;
}

}  // namespace

Result<bool> slice_gathers(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->is("Gather")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool sliced, slice_gather(graph, node));
    changed = changed || sliced;
  }
  return changed;
}

}  // namespace wootz
