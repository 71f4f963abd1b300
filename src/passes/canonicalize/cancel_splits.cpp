// A Split of what was concatenated at the same places gives back the pieces: no copy in, no copy out. The places are
// also found after reshapes and concatenations that leave the axis alone, as in detection heads, which join boxes and
// classes of every scale only to part them again.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int kMaxDepth = 8;

int axis_of(const Node& node) {
  const int64_t axis = node.attr_int("axis", 0);
  return static_cast<int>(axis < 0 ? axis + node.output()->rank() : axis);
}

// How many inputs of the Concat make up each piece; empty when the places differ.
std::vector<size_t> pieces(const Node& concat, int axis, const std::vector<Dim>& sizes) {
  std::vector<size_t> counts;
  size_t at = 0;
  const auto inputs = static_cast<size_t>(concat.num_inputs());
  for (const Dim& size : sizes) {
    Dim sum(0);
    size_t count = 0;
    while (at < inputs && (count == 0 || !(sum == size)))
      sum = sum + concat.inputs()[at++]->shape()[static_cast<size_t>(axis)], ++count;
    if (!(sum == size) || count == 0) return {};
    counts.push_back(count);
  }
  return at == inputs ? counts : std::vector<size_t>{};
}

// Axes up to and including `axis` are the same in both.
bool keeps_axis(const Node& view, int axis) {
  const Shape &from = view.input(0)->shape(), &to = view.output()->shape();
  const auto end = static_cast<size_t>(axis) + 1;
  if (from.size() < end || to.size() < end || view.input(0)->dtype() != view.output()->dtype()) return false;
  if (!std::equal(from.begin(), from.begin() + static_cast<ptrdiff_t>(end), to.begin())) return false;
  return std::count_if(to.begin() + static_cast<ptrdiff_t>(end), to.end(),
                       [](const Dim& d) { return !d.is_const(); }) <= 1;
}

bool can_part(const Value* value, int axis, const std::vector<Dim>& sizes, int depth) {
  const Node* node = value->producer();
  if (node == nullptr || node->has_attr("epilogue") || depth > kMaxDepth) return false;
  if (node->is("Concat") && axis_of(*node) == axis) {
    // Others may go on reading the whole, unless a piece would have to be concatenated beside it.
    const std::vector<size_t> counts = pieces(*node, axis, sizes);
    const bool single = std::all_of(counts.begin(), counts.end(), [](size_t n) { return n == 1; });
    return !counts.empty() && (single || only_user(value) != nullptr);
  }
  if (only_user(value) == nullptr) return false;
  if (node->is("Concat")) {
    return std::all_of(node->inputs().begin(), node->inputs().end(),
                       [&](const Value* in) { return can_part(in, axis, sizes, depth + 1); });
  }
  if (node->op().lowering != Lowering::kView || node->num_outputs() != 1) return false;
  return keeps_axis(*node, axis) && can_part(node->input(0), axis, sizes, depth + 1);
}

Result<Value*> add(Graph& graph, const Node& like, Node* before, std::string_view op_name, std::vector<Value*> inputs,
                   AttrMap attrs) {
  Node* made =
      graph.add_node(op(op_name), graph.unique_name(like.name()), std::move(inputs), std::move(attrs), 1, before);
  made->add_provenance(like);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made->output();
}

// The pieces of a value that can_part().
Result<std::vector<Value*>> part(Graph& graph, Node* before, const Value* value, int axis,
                                 const std::vector<Dim>& sizes) {
  const Node& node = *value->producer();
  std::vector<Value*> result;
  if (node.is("Concat") && axis_of(node) == axis) {
    size_t at = 0;
    for (const size_t count : pieces(node, axis, sizes)) {
      const auto first = node.inputs().begin() + static_cast<ptrdiff_t>(at);
      at += count;
      if (count == 1) {
        result.push_back(*first);
        continue;
      }
      std::vector<Value*> group(first, first + static_cast<ptrdiff_t>(count));
      WOOTZ_ASSIGN_OR_RETURN(Value * joined, add(graph, node, before, "Concat", std::move(group), node.attrs()));
      result.push_back(joined);
    }
    return result;
  }
  if (node.is("Concat")) {
    std::vector<std::vector<Value*>> columns(sizes.size());
    for (const Value* in : node.inputs()) {
      WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> parts, part(graph, before, in, axis, sizes));
      for (size_t i = 0; i < parts.size(); ++i) columns[i].push_back(parts[i]);
    }
    for (std::vector<Value*>& column : columns) {
      WOOTZ_ASSIGN_OR_RETURN(Value * joined, add(graph, node, before, "Concat", std::move(column), node.attrs()));
      result.push_back(joined);
    }
    return result;
  }
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> parts, part(graph, before, node.input(0), axis, sizes));
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<int64_t> target;
    for (size_t a = 0; a < value->shape().size(); ++a) {
      const Dim& d = static_cast<int>(a) == axis ? sizes[i] : value->shape()[a];
      target.push_back(static_cast<int>(a) <= axis && !d.is_const() ? 0 : d.is_const() ? d.value() : -1);
    }
    Value* shape = add_ints(graph, node.name() + "_shape", target);
    WOOTZ_ASSIGN_OR_RETURN(Value * viewed, add(graph, node, before, "Reshape", {parts[i], shape}, {}));
    result.push_back(viewed);
  }
  return result;
}

Result<bool> cancel(Graph& graph, Node* split) {
  const Value* whole = split->input(0);
  std::vector<Dim> sizes;
  const int axis = axis_of(*split);
  for (const Value* out : split->outputs()) {
    sizes.push_back(out->shape()[static_cast<size_t>(axis)]);
    if (sizes.back() == Dim(0) || graph.is_output(out)) return false;
  }
  // Extents that a 0 in a reshape would mean to keep must not be zero themselves.
  for (const Dim& d : whole->shape())
    if (d == Dim(0)) return false;
  if (!can_part(whole, axis, sizes, 0)) return false;
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> parts, part(graph, split, whole, axis, sizes));
  for (size_t i = 0; i < parts.size(); ++i)
    if (!(parts[i]->shape() == split->output(static_cast<int>(i))->shape()))
      return internal_error("node '{}': piece {} is {} instead of {}", split->name(), i,
                            shape_to_string(parts[i]->shape()),
                            shape_to_string(split->output(static_cast<int>(i))->shape()));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (Node* producer = parts[i]->producer()) producer->add_provenance(*split);
    graph.replace_all_uses(split->output(static_cast<int>(i)), parts[i]);
  }
  erase_if_dead(graph, split);
  return true;
}

}  // namespace

Result<bool> cancel_splits(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->is("Split")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool cancelled, cancel(graph, node));
    changed = changed || cancelled;
  }
  return changed;
}

}  // namespace wootz
