// A pointwise expression after a concatenation or a view moves in front of it when everything there can take it up: an
// activation after Concat or Reshape then is an epilogue like any other.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool is_view(const Node& node) {
  return node.op().lowering == Lowering::kView && node.num_outputs() == 1 && !node.output()->shape_values() &&
         node.input(0)->dtype() == node.output()->dtype();
}

// Whether the value's producer can take an expression that reads it alone, directly or in front of a view.
bool takes_expression(const Value& value, int depth = 0) {
  const Node* node = value.producer();
  if (node == nullptr || only_user(&value) == nullptr || node->num_outputs() != 1) return false;
  if (carries_epilogue(*node) || node->is("Pointwise")) return true;
  if (depth > 4) return false;
  if (is_view(*node)) return takes_expression(*node->input(0), depth + 1);
  if (!node->is("Concat")) return false;
  return std::all_of(node->inputs().begin(), node->inputs().end(),
                     [&](const Value* in) { return takes_expression(*in, depth + 1); });
}

// Whether the operand has one element along the axis (counted from the end of the result).
bool constant_along(const Value& operand, int axis, int rank) {
  const int own = axis - (rank - operand.rank());
  return own < 0 || operand.shape()[static_cast<size_t>(own)] == Dim(1);
}

Result<Value*> apply(Graph& graph, const Node& pointwise, Node* before, const Value* main, Value* piece) {
  std::vector<Value*> inputs = pointwise.inputs();
  std::replace(inputs.begin(), inputs.end(), const_cast<Value*>(main), piece);
  Node* made = graph.add_node(op("Pointwise"), graph.unique_name(pointwise.name()), std::move(inputs),
                              pointwise.attrs(), 1, before);
  made->add_provenance(pointwise);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  return made->output();
}

// The concatenation or view whose result the expression reads beside operands that go along; null when there is none.
Node* hoisted_over(const Node& pointwise) {
  if (!pointwise.is("Pointwise") || pointwise.num_outputs() != 1) return nullptr;
  const Value* out = pointwise.output();
  for (const Value* in : pointwise.inputs()) {
    Node* node = in->producer();
    if (node == nullptr || only_user(in) != &pointwise || !(in->shape() == out->shape()) || node->has_attr("epilogue"))
      continue;
    if (is_view(*node) && pointwise.num_inputs() == 1 && takes_expression(*node->input(0))) return node;
    if (!node->is("Concat") || node->num_inputs() < 2) continue;
    const int64_t attr = node->attr_int("axis", 0);
    const int axis = static_cast<int>(attr < 0 ? attr + out->rank() : attr);
    const bool others = std::all_of(pointwise.inputs().begin(), pointwise.inputs().end(), [&](const Value* other) {
      return other == in || constant_along(*other, axis, out->rank());
    });
    const bool pieces = std::all_of(node->inputs().begin(), node->inputs().end(), [&](const Value* piece) {
      return takes_expression(*piece) && std::count(node->inputs().begin(), node->inputs().end(), piece) == 1;
    });
    if (others && pieces) return node;
  }
  return nullptr;
}

Result<bool> hoist(Graph& graph, Node* pointwise) {
  Node* over = hoisted_over(*pointwise);
  if (over == nullptr) return false;
  // The other operands exist where the expression stands, so the moved op is made again there.
  std::vector<Value*> inputs = over->inputs();
  const size_t count = over->is("Concat") ? inputs.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(inputs[i], apply(graph, *pointwise, pointwise, over->output(), inputs[i]));
  }
  Node* made =
      graph.add_node(over->op(), graph.unique_name(over->name()), std::move(inputs), over->attrs(), 1, pointwise);
  made->add_provenance(*over);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  if (!(made->output()->shape() == pointwise->output()->shape()))
    return internal_error("node '{}': {} became {}", pointwise->name(), shape_to_string(pointwise->output()->shape()),
                          shape_to_string(made->output()->shape()));
  take_place(graph, pointwise->output(), made->output());
  return true;
}

}  // namespace

Result<bool> hoist_pointwise(Graph& graph) {
  bool changed = false;
  // From the back: what a step makes stands before the place of the expression and is looked at next.
  for (Node* node = graph.last(); node != nullptr;) {
    Node* next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool hoisted, hoist(graph, node));
    changed = changed || hoisted;
    node = !hoisted ? node->prev() : next != nullptr ? next->prev() : graph.last();
  }
  return changed;
}

}  // namespace wootz
