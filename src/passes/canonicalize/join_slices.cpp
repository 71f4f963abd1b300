// Slices that part a tensor along one axis without a gap become one Split, as other exporters write it.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr size_t kMaxParts = 64;

struct Part {
  Node* slice;
  int64_t axis, start, end;
};

// A number per axis from an attribute or a constant input.
std::vector<int64_t> list(const Node& node, const char* attr, int input) {
  if (node.has_attr(attr)) return node.attr_ints(attr);
  const Value* value = node.input(input);
  std::vector<int64_t> values;
  if (value == nullptr || !value->is_constant()) return values;
  for (int64_t i = 0; i < value->constant().volume(); ++i) values.push_back(value->constant().get_i64(i));
  return values;
}

// The slice as a range of one axis of known extent, with step 1.
std::optional<Part> as_part(Node* node, const Value& whole) {
  if (!node->is("Slice") || node->input(0) != &whole || node->has_attr("epilogue") || node->output()->shape_values())
    return std::nullopt;
  const std::vector<int64_t> starts = list(*node, "starts", 1), ends = list(*node, "ends", 2);
  std::vector<int64_t> axes = list(*node, "axes", 3);
  if (axes.empty() && !node->has_attr("axes") && node->input(3) == nullptr) axes = {0};
  const bool stepped = node->has_attr("steps") || node->input(4) != nullptr;
  if (starts.size() != 1 || ends.size() != 1 || axes.size() != 1) return std::nullopt;
  if (stepped && list(*node, "steps", 4) != std::vector<int64_t>{1}) return std::nullopt;
  const int64_t axis = axes[0] < 0 ? axes[0] + whole.rank() : axes[0];
  if (axis < 0 || axis >= whole.rank() || !whole.shape()[static_cast<size_t>(axis)].is_const()) return std::nullopt;
  const int64_t extent = whole.shape()[static_cast<size_t>(axis)].value();
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
  return Part{node, axis, inside(starts[0]), inside(ends[0])};
}

// The slices of `whole` in order, when along one axis each begins where the one before ended, from first to last.
std::vector<Part> parts_of(const Value& whole) {
  std::vector<Part> parts;
  if (whole.uses().size() < 2 || whole.uses().size() > kMaxParts) return parts;
  for (const Use& use : whole.uses())
    if (const std::optional<Part> part = as_part(use.node, whole)) parts.push_back(*part);
  if (parts.size() < 2) return {};
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.start < b.start; });
  int64_t at = 0;
  for (const Part& part : parts) {
    if (part.axis != parts[0].axis || part.start != at || part.end <= at) return {};
    at = part.end;
  }
  return Dim(at) == whole.shape()[static_cast<size_t>(parts[0].axis)] ? parts : std::vector<Part>{};
}

Result<bool> join(Graph& graph, Node* first, Value* whole) {
  const std::vector<Part> parts = parts_of(*whole);
  if (parts.empty()) return false;
  std::vector<int64_t> sizes;
  for (const Part& part : parts) sizes.push_back(part.end - part.start);
  AttrMap attrs{{"axis", parts[0].axis}, {"split", sizes}};
  // The first of them in the graph's order is visited first: all others, and their readers, come after it.
  Node* split = graph.add_node(op("Split"), graph.unique_name(first->name()), {whole}, std::move(attrs),
                               static_cast<int>(parts.size()), first);
  for (const Part& part : parts) split->add_provenance(*part.slice);
  WOOTZ_RETURN_IF_ERROR(infer_node(*split));
  for (size_t i = 0; i < parts.size(); ++i)
    if (!(split->output(static_cast<int>(i))->shape() == parts[i].slice->output()->shape()))
      return internal_error("node '{}': part {} is {}", first->name(), i,
                            shape_to_string(split->output(static_cast<int>(i))->shape()));
  for (size_t i = 0; i < parts.size(); ++i)
    take_place(graph, parts[i].slice->output(), split->output(static_cast<int>(i)));
  return true;
}

}  // namespace

Result<bool> join_slices(Graph& graph) {
  bool changed = false;
  for (Node* node = graph.first(); node != nullptr;) {
    Node* before = node->prev();
    const bool slice = node->is("Slice") && node->input(0) != nullptr;
    bool joined = false;
    if (slice) {
      WOOTZ_ASSIGN_OR_RETURN(joined, join(graph, node, node->input(0)));
    }
    changed = changed || joined;
    // The slices are gone: on with what follows the Split.
    node = !joined ? node->next() : before != nullptr ? before->next()->next() : graph.first()->next();
  }
  return changed;
}

}  // namespace wootz
