// A pointwise expression after a concatenation or a view moves in front of it when everything there can take it up: an
// activation after Concat or Reshape then is an epilogue like any other.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

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

bool is_static(const Value& v) {
  return std::all_of(v.shape().begin(), v.shape().end(), [](const Dim& d) { return d.is_const(); });
}

// A product with nothing but views after it.
bool is_product(const Value& value) {
  const Node* node = value.producer();
  while (node != nullptr && is_view(*node)) node = node->input(0)->producer();
  return node != nullptr && node->is("MatMul");
}

// Of a product's view: whether the expression's other operands, as a residual, are views of the same kind, or go along
// the last axis, which both have.
bool others_follow(const Node& pointwise, const Value& in, const Node& view) {
  const Value &from = *view.input(0), &out = *pointwise.output();
  if (pointwise.num_inputs() == 1) return true;
  if (!is_product(from) || !is_static(from) || !is_static(out) || from.rank() == 0 || out.rank() == 0) return false;
  const bool keeps_last = from.shape().back() == out.shape().back();
  return std::all_of(pointwise.inputs().begin(), pointwise.inputs().end(), [&](const Value* other) {
    return other == &in || other->shape() == out.shape() || (keeps_last && other->rank() == 1);
  });
}

Result<Value*> apply(Graph& graph, const Node& pointwise, Node* before, const Value* main, Value* piece) {
  std::vector<Value*> inputs = pointwise.inputs();
  // Beside a view's source stand views of the other operands.
  for (Value*& other : inputs) {
    if (other == main || main->producer()->is("Concat") || !(other->shape() == main->shape())) continue;
    std::vector<int64_t> extents;
    for (const Dim& d : piece->shape()) extents.push_back(d.value());
    Node* const view = graph.add_node(op("Reshape"), graph.unique_name(pointwise.name()),
                                      {other, add_ints(graph, pointwise.name(), extents)}, {}, 1, before);
    view->add_provenance(pointwise);
    WOOTZ_RETURN_IF_ERROR(infer_node(*view));
    other = view->output();
  }
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
    if (is_view(*node) && takes_expression(*node->input(0)) && others_follow(pointwise, *in, *node)) return node;
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
