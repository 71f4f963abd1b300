// Rotary embeddings. What exporters write for "turn pairs of elements" - halves cut apart, one negated, put together
// the other way round - becomes one gather along the last axis times constant signs: x * cos + rotated(x) * sin is one
// gather with an epilogue. A transpose that splits heads in front of it moves after it, where attention takes it in.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool plain(const Node* node, std::string_view name) {
  return node != nullptr && node->is(name) && !node->has_attr("epilogue") && node->num_outputs() >= 1;
}
bool last_axis(const Node& node, int64_t axis) { return axis == -1 || axis == node.input(0)->rank() - 1; }

// [start, start + extent) of the last axis of `x`.
struct Part {
  Value* x = nullptr;
  int64_t start = 0, extent = 0;
};

std::optional<Part> part_of(const Value* value) {
  const Node* node = value->producer();
  if (node == nullptr || node->input(0) == nullptr) return std::nullopt;
  Value* x = node->input(0);
  if (x->rank() < 1 || !x->shape().back().is_const() || value->rank() != x->rank() || !value->shape().back().is_const())
    return std::nullopt;
  Part part{x, 0, value->shape().back().value()};
  if (node->is("Split")) {
    if (!last_axis(*node, node->attr_int("axis", 0))) return std::nullopt;
    for (int o = 0; o < value->producer_index(); ++o) {
      if (!node->output(o)->shape().back().is_const()) return std::nullopt;
      part.start += node->output(o)->shape().back().value();
    }
    return part;
  }
  if (!node->is("Slice")) return std::nullopt;
  const auto ints = [&](std::string_view attr, int input) -> std::optional<std::vector<int64_t>> {
    if (node->has_attr(attr)) return node->attr_ints(attr);
    const Value* v = node->input(input);
    if (v == nullptr) return std::vector<int64_t>{};
    if (!v->is_constant()) return std::nullopt;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < v->constant().volume(); ++i) values.push_back(v->constant().get_i64(i));
    return values;
  };
  const auto starts = ints("starts", 1), axes = ints("axes", 3), steps = ints("steps", 4);
  if (!starts || !axes || !steps || starts->size() != 1 || axes->size() != 1 || !last_axis(*node, (*axes)[0]))
    return std::nullopt;
  if (!steps->empty() && (*steps)[0] != 1) return std::nullopt;
  part.start = (*starts)[0] < 0 ? (*starts)[0] + x->shape().back().value() : (*starts)[0];
  return part;
}

// Both halves of one tensor: that tensor.
Value* halves(const Value* first, const Value* second) {
  const auto a = part_of(first), b = part_of(second);
  if (!a || !b || a->x != b->x || a->start != 0 || a->extent != b->start || b->extent != a->extent) return nullptr;
  return a->x->shape().back() == Dim(2 * a->extent) && is_float(a->x->dtype()) ? a->x : nullptr;
}

Result<Value*> add(Graph& graph, std::string_view name, std::vector<Value*> inputs, AttrMap attrs, Node* before) {
  Node* node = graph.add_node(op(name), graph.unique_name("rotary"), std::move(inputs), std::move(attrs), 1, before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return node->output();
}

// (-x2, x1) for x = (x1, x2), as the gather of the halves the other way round times signs.
Result<Value*> rotated(Graph& graph, Value* x, Node* before) {
  const int64_t size = x->shape().back().value();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < size; ++i) places.push_back((i + size / 2) % size);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor signs, HostTensor::allocate(x->dtype(), Dims{size}));
  for (int64_t i = 0; i < size; ++i) signs.set_f64(i, i < size / 2 ? -1 : 1);
  WOOTZ_ASSIGN_OR_RETURN(Value * swapped,
                         add(graph, "Gather", {x, add_ints(graph, "halves", places)}, {{"axis", int64_t{-1}}}, before));
  Value* sign = graph.add_constant(graph.unique_name("signs"), std::move(signs));
  return add(graph, "Mul", {swapped, sign}, {}, before);
}

// Concat(Neg(x2), x1)
Result<bool> rotate_half(Graph& graph, Node* node) {
  if (!plain(node, "Concat") || node->num_inputs() != 2 || !last_axis(*node, node->attr_int("axis", 0))) return false;
  const Node* negated = node->input(0)->producer();
  if (!plain(negated, "Neg")) return false;
  Value* x = halves(node->input(1), negated->input(0));
  if (x == nullptr) return false;
  WOOTZ_ASSIGN_OR_RETURN(Value * made, rotated(graph, x, node));
  made->producer()->add_provenance(*negated);
  made->producer()->add_provenance(*node);
  take_place(graph, node->output(), made);
  return true;
}

struct Product {
  Value *a = nullptr, *b = nullptr;
};
std::optional<Product> product(const Value* value, const Node* reader) {
  const Node* node = value->producer();
  if (!plain(node, "Mul") || only_user(value) != reader) return std::nullopt;
  return Product{node->input(0), node->input(1)};
}

// Concat(cos * x1 - sin * x2, sin * x1 + cos * x2), factors in any order.
Result<bool> halves_apart(Graph& graph, Node* node) {
  if (!plain(node, "Concat") || node->num_inputs() != 2 || !last_axis(*node, node->attr_int("axis", 0))) return false;
  Node *minus = node->input(0)->producer(), *plus = node->input(1)->producer();
  if (!plain(minus, "Sub") || !plain(plus, "Add") || only_user(minus->output()) != node ||
      only_user(plus->output()) != node)
    return false;
  const auto m0 = product(minus->input(0), minus), m1 = product(minus->input(1), minus);
  const auto p0 = product(plus->input(0), plus), p1 = product(plus->input(1), plus);
  if (!m0 || !m1 || !p0 || !p1) return false;
  for (int way = 0; way < 8; ++way) {
    const auto pick = [&](const Product& p, bool swap) { return swap ? Product{p.b, p.a} : p; };
    const Product cx1 = pick(*m0, way & 1), sx2 = pick(*m1, way & 2);  // (cos, x1), (sin, x2)
    Value *cosine = cx1.a, *sine = sx2.a, *x = halves(cx1.b, sx2.b);
    if (x == nullptr) continue;
    const auto is = [](const Product& p, const Value* f, const Value* g) {
      return (p.a == f && p.b == g) || (p.a == g && p.b == f);
    };
    const Product& first = way & 4 ? *p1 : *p0;
    const Product& second = way & 4 ? *p0 : *p1;
    if (!is(first, sine, cx1.b) || !is(second, cosine, sx2.b)) continue;
    const Dim half(x->shape().back().value() / 2);
    Value* wide[2];
    for (Value* v : {cosine, sine}) {
      const bool whole = v->rank() >= 1 && v->shape().back() == half;
      if (!whole && !(v->rank() == 0 || v->shape().back() == Dim(1))) return false;
      Value*& to = wide[v == cosine ? 0 : 1];
      to = v;
      if (!whole) continue;
      WOOTZ_ASSIGN_OR_RETURN(to, add(graph, "Concat", {v, v}, {{"axis", int64_t{v->rank() - 1}}}, minus));
    }
    if (cosine == sine) return false;
    WOOTZ_ASSIGN_OR_RETURN(Value * other, rotated(graph, x, node));
    WOOTZ_ASSIGN_OR_RETURN(Value * kept, add(graph, "Mul", {x, wide[0]}, {}, node));
    WOOTZ_ASSIGN_OR_RETURN(other, add(graph, "Mul", {other, wide[1]}, {}, node));
    WOOTZ_ASSIGN_OR_RETURN(Value * y, add(graph, "Add", {kept, other}, {}, node));
    if (!(y->shape() == node->output()->shape())) {
      erase_if_dead(graph, y->producer());
      return false;
    }
    for (const Node* n : {minus, plus, node}) y->producer()->add_provenance(*n);
    take_place(graph, node->output(), y);
    return true;
  }
  return false;
}

// The angle's table for [B,S,H,D] instead of [B,H,S,D]; null where it varies with the head.
Result<Value*> beside_heads(Graph& graph, Value* table, Node* before) {
  const Shape& s = table->shape();
  const auto one = [](const Dim& d) { return d.is_const() && d.value() == 1; };
  const auto unsqueezed = [&](Value* v, int64_t axis) {
    return add(graph, "Unsqueeze", {v}, {{"axes", std::vector<int64_t>{axis}}}, before);
  };
  if (s.size() < 2) return table;
  if (s.size() == 2) return unsqueezed(table, 1);
  if (s.size() == 3 && one(s[0])) return unsqueezed(table, 2);
  if (s.size() != 4 || !one(s[1])) return static_cast<Value*>(nullptr);
  WOOTZ_ASSIGN_OR_RETURN(Value * flat, add(graph, "Squeeze", {table}, {{"axes", std::vector<int64_t>{1}}}, before));
  return unsqueezed(flat, 2);
}

// Add(Mul(x, cos), Mul(Mul(Gather(x, places), signs), sin)) of x = Transpose(z): the same of z, then the transpose.
Result<bool> after_transpose(Graph& graph, Node* node) {
  if (!plain(node, "Add")) return false;
  for (int side : {0, 1}) {
    const auto kept = product(node->input(side), node), other = product(node->input(1 - side), node);
    if (!kept || !other) continue;
    for (int way = 0; way < 4; ++way) {
      Value *x = way & 1 ? kept->b : kept->a, *cosine = way & 1 ? kept->a : kept->b;
      Value *signed_x = way & 2 ? other->b : other->a, *sine = way & 2 ? other->a : other->b;
      const auto inner = product(signed_x, node->input(1 - side)->producer());
      Node* transpose = x->producer();
      if (!inner || !plain(transpose, "Transpose") || permutation(*transpose) != std::vector<int64_t>{0, 2, 1, 3})
        continue;
      Node* gather = inner->a->producer();
      Value* signs = inner->b;
      if (!plain(gather, "Gather") || gather->input(0) != x || !last_axis(*gather, gather->attr_int("axis", 0)) ||
          only_user(inner->a) != signed_x->producer() || signs->rank() != 1 || graph.is_output(x))
        continue;
      const std::vector<Use>& uses = x->uses();
      if (std::any_of(uses.begin(), uses.end(),
                      [&](const Use& u) { return u.node != gather && u.node != node->input(side)->producer(); }))
        continue;
      WOOTZ_ASSIGN_OR_RETURN(Value * c, beside_heads(graph, cosine, node));
      WOOTZ_ASSIGN_OR_RETURN(Value * s, beside_heads(graph, sine, node));
      if (c == nullptr || s == nullptr) return false;
      Value* z = transpose->input(0);
      WOOTZ_ASSIGN_OR_RETURN(Value * swapped, add(graph, "Gather", {z, gather->input(1)}, gather->attrs(), node));
      WOOTZ_ASSIGN_OR_RETURN(Value * rotated_z, add(graph, "Mul", {swapped, signs}, {}, node));
      WOOTZ_ASSIGN_OR_RETURN(Value * a, add(graph, "Mul", {z, c}, {}, node));
      WOOTZ_ASSIGN_OR_RETURN(Value * b, add(graph, "Mul", {rotated_z, s}, {}, node));
      WOOTZ_ASSIGN_OR_RETURN(Value * sum, add(graph, "Add", {a, b}, {}, node));
      WOOTZ_ASSIGN_OR_RETURN(Value * y, add(graph, "Transpose", {sum}, transpose->attrs(), node));
      if (!(y->shape() == node->output()->shape())) {
        erase_if_dead(graph, y->producer());
        return false;
      }
      sum->producer()->add_provenance(*gather);
      sum->producer()->add_provenance(*node);
      y->producer()->add_provenance(*transpose);
      take_place(graph, node->output(), y);
      return true;
    }
  }
  return false;
}

}  // namespace

Result<bool> fuse_rotary(Graph& graph) {
  bool changed = false;
  for (const auto rule : {rotate_half, halves_apart, after_transpose}) {
    std::vector<int> ids;  // a rule erases nodes
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      if (node->is("Concat") || node->is("Add")) ids.push_back(node->output()->id());
    for (const int id : ids) {
      const Value* value = graph.value_by_id(id);
      if (value == nullptr || value->producer() == nullptr) continue;
      WOOTZ_ASSIGN_OR_RETURN(const bool done, rule(graph, value->producer()));
      changed = changed || done;
    }
  }
  return changed;
}

}  // namespace wootz
