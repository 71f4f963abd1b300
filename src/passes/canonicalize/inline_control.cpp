// Control flow whose course is known or makes no difference: an If whose branches cannot fail becomes both of them and
// a Select between the results; a Loop or Scan of known, small length is unrolled. The runtime runs what is left.
#include <algorithm>

#include "passes/canonicalize/decide_branches.h"
#include "passes/pass.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kMostRounds = 256, kMostNodes = 4096;  // of a loop that is written out

bool is_control(const Node& n) { return n.is("If") || n.is("Loop") || n.is("Scan"); }

// Extents that mean the same outside: none over symbols of the body's own, or of data-dependent sizes.
bool same_outside(const Graph& graph, const Graph& body, const Shape& shape) {
  std::vector<SymbolId> used;
  for (const Dim& d : shape) d.collect_symbols(&used);
  if (used.empty()) return true;
  if (&graph.symbols() != &body.symbols()) return false;
  return std::all_of(used.begin(), used.end(), [&](SymbolId s) {
    return s >= 0 && static_cast<size_t>(s) < graph.symbols().size() &&
           graph.symbols()[static_cast<size_t>(s)].kind != SymbolKind::kDataDependent;
  });
}

// Computing it on operands that it was not meant for cannot fail, whatever they hold.
bool harmless(const Node& n) {
  const OpDef& op = n.op();
  if (op.traits.data_dependent) return false;
  if (op.lowering != Lowering::kView) return has_trait(op.lowering, kCannotFail) || op.traits.host_shape;
  const auto known = [](const Dim& d) { return d.is_const(); };
  const Shape &from = n.input(0)->shape(), &to = n.output()->shape();
  return n.is("Unsqueeze") || n.is("Identity") ||
         (std::all_of(from.begin(), from.end(), known) && std::all_of(to.begin(), to.end(), known));
}

// Extents that fit although the branch is not taken: those of each operand are found in the result or in another
// operand, and those of the result in an operand. Anything else may be what the condition asks for.
bool fits_always(const Node& n) {
  std::vector<const Shape*> in, out;
  for (const Value* v : n.inputs())
    if (v != nullptr) in.push_back(&v->shape());
  for (const Value* v : n.outputs()) out.push_back(&v->shape());
  const auto has = [](const std::vector<const Shape*>& shapes, const Dim& d, const Shape* except) {
    return std::any_of(shapes.begin(), shapes.end(),
                       [&](const Shape* s) { return s != except && std::find(s->begin(), s->end(), d) != s->end(); });
  };
  const Lowering kind = n.op().lowering;
  const bool one = kind == Lowering::kReduce || kind == Lowering::kSoftmax || kind == Lowering::kNorm;
  for (const Shape* s : in)
    for (const Dim& d : *s)
      if (!d.is_const() && !one && !has(in, d, s) && !has(out, d, nullptr)) return false;
  for (const Shape* s : out)
    for (const Dim& d : *s)
      if (!d.is_const() && !has(in, d, nullptr)) return false;
  return true;
}

bool can_be_both(const Node& node, const Graph& branch) {
  for (const Node* n = branch.first(); n != nullptr; n = n->next()) {
    if (!harmless(*n) || (!n->op().traits.host_shape && !fits_always(*n))) return false;
    for (const Value* v : n->outputs())
      if (v != nullptr && !same_outside(*node.graph(), branch, v->shape())) return false;
  }
  for (size_t o = 0; o < branch.outputs().size(); ++o)
    if (!(branch.outputs()[o]->shape() == node.output(static_cast<int>(o))->shape())) return false;
  return true;
}

Result<bool> compute_both(Graph& graph, Node* node) {
  const auto then = node->attr_graph("then_branch"), other = node->attr_graph("else_branch");
  if (then == nullptr || other == nullptr || !can_be_both(*node, *then) || !can_be_both(*node, *other)) return false;
  const std::vector<Value*>& inputs = node->inputs();
  if (inputs.size() != 1 + then->inputs().size() + other->inputs().size()) return false;
  const auto first = inputs.begin() + 1, middle = first + static_cast<ptrdiff_t>(then->inputs().size());
  const std::vector<Value*> for_then(first, middle), for_other(middle, inputs.end());
  Replacement replacement(graph, node);
  Value* condition = node->input(0);
  if (condition->rank() > 0) {
    std::vector<int64_t> axes;
    for (int a = 0; a < condition->rank(); ++a) axes.push_back(a);
    condition = replacement.squeeze(condition, std::move(axes));
  }
  const std::vector<Value*> a = replacement.inlined(*then, for_then), b = replacement.inlined(*other, for_other);
  if (replacement.failed()) return replacement.status();
  std::vector<Value*> results;
  for (size_t o = 0; o < a.size(); ++o) results.push_back(replacement.op("Where", {condition, a[o], b[o]}));
  WOOTZ_RETURN_IF_ERROR(replacement.finish(std::move(results)));
  return true;
}

// Whether the body can stand in the graph, so often, with extents that stay what they are.
bool can_be_written_out(const Node& node, const Graph& body, int64_t rounds) {
  if (rounds < 1 || rounds > kMostRounds || rounds * body.num_nodes() > kMostNodes) return false;
  for (const Node* n = body.first(); n != nullptr; n = n->next()) {
    if (n->op().traits.data_dependent && !is_control(*n)) return false;
    for (const Value* v : n->outputs())
      if (v != nullptr && !same_outside(*node.graph(), body, v->shape())) return false;
  }
  for (const Value* v : node.outputs())
    if (!same_outside(*node.graph(), *node.graph(), v->shape())) return false;
  return true;
}

bool is_true(const Value* v) {
  return v->is_constant() && v->constant().volume() == 1 && v->constant().get_i64(0) != 0;
}

// How often the body of a Loop runs, where its condition does not end it; -1: unknown.
int64_t known_rounds(const Node& loop, const Graph& body) {
  const Value *count = loop.input(0), *going = loop.input(1), *next = body.outputs()[0], *condition = body.inputs()[1];
  if (count == nullptr || !count->is_constant() || count->constant().volume() != 1) return -1;
  if (going != nullptr && !is_true(going)) return -1;
  const Node* producer = next->producer();
  const bool stays = next == condition || is_true(next) ||
                     (producer != nullptr && producer->is("Identity") && producer->input(0) == condition);
  return stays ? count->constant().get_i64(0) : -1;
}

// The elements of each round as one tensor.
Value* stack(GraphBuilder& builder, std::vector<Value*> elements, int64_t axis) {
  for (Value*& e : elements) e = builder.unsqueeze(e, {axis});
  return builder.concat(std::move(elements), axis);
}

Result<bool> write_out_loop(Graph& graph, Node* node) {
  const auto body = node->attr_graph("body");
  const auto states = static_cast<size_t>(node->attr_int("states"));
  if (body == nullptr || body->inputs().size() != node->inputs().size()) return false;
  const int64_t rounds = known_rounds(*node, *body);
  if (!can_be_written_out(*node, *body, rounds)) return false;
  for (size_t s = 0; s < states; ++s)  // each round is like the first
    if (!(body->inputs()[s + 2]->shape() == body->outputs()[s + 1]->shape()) ||
        !(body->inputs()[s + 2]->shape() == node->input(static_cast<int>(s) + 2)->shape()))
      return false;
  Replacement replacement(graph, node);
  std::vector<Value*> inputs = node->inputs();
  inputs[1] = replacement.constant(HostTensor::scalar<bool>(true));
  std::vector<std::vector<Value*>> scanned(static_cast<size_t>(node->num_outputs()) - states);
  for (int64_t round = 0; round < rounds; ++round) {
    inputs[0] = replacement.constant(HostTensor::scalar<int64_t>(round));
    const std::vector<Value*> results = replacement.inlined(*body, inputs);
    if (replacement.failed()) return replacement.status();
    for (size_t s = 0; s < states; ++s) inputs[s + 2] = results[s + 1];
    for (size_t o = 0; o < scanned.size(); ++o) scanned[o].push_back(results[o + 1 + states]);
  }
  std::vector<Value*> outputs;
  for (size_t o = 0; o < static_cast<size_t>(node->num_outputs()); ++o) {
    Value* result = o < states ? inputs[o + 2] : nullptr;
    if (o >= states) result = stack(replacement, std::move(scanned[o - states]), 0);
    outputs.push_back(result);
  }
  WOOTZ_RETURN_IF_ERROR(replacement.finish(std::move(outputs)));
  return true;
}

// Entry i of an attribute with an axis or a direction for each sequence; 0 where the list is shorter.
int64_t listed(const Node& node, const char* attr, size_t i) {
  const std::vector<int64_t> list = node.attr_ints(attr);
  return i < list.size() ? list[i] : 0;
}

using Ints = std::vector<int64_t>;

Result<bool> write_out_scan(Graph& graph, Node* node) {
  const auto body = node->attr_graph("body");
  const auto states = static_cast<size_t>(node->attr_int("states")),
             scans = static_cast<size_t>(node->attr_int("scans"));
  if (body == nullptr || node->attr_int("batched") != 0 || scans < 1 || body->inputs().size() != node->inputs().size())
    return false;
  std::vector<int64_t> axes;
  int64_t rounds = -1;
  for (size_t k = 0; k < scans; ++k) {
    const Value* x = node->input(static_cast<int>(states + k));
    const Result<int> axis = normalize_axis(listed(*node, "input_axes", k), x->rank());
    if (!axis.ok()) return false;
    const Dim& extent = x->shape()[static_cast<size_t>(*axis)];
    if (!extent.is_const() || (rounds >= 0 && extent.value() != rounds)) return false;
    rounds = extent.value();
    axes.push_back(*axis);
  }
  if (!can_be_written_out(*node, *body, rounds)) return false;
  for (size_t s = 0; s < states; ++s)
    if (!(body->inputs()[s]->shape() == body->outputs()[s]->shape()) ||
        !(body->inputs()[s]->shape() == node->input(static_cast<int>(s))->shape()))
      return false;
  Replacement replacement(graph, node);
  const std::vector<Value*> given = node->inputs();
  std::vector<Value*> inputs = given;
  std::vector<std::vector<Value*>> scanned(static_cast<size_t>(node->num_outputs()) - states);
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < scans; ++k) {
      const int64_t at = listed(*node, "input_directions", k) != 0 ? rounds - 1 - round : round;
      const Ints axis{axes[k]};
      Value* element =
          replacement.op("Slice", {given[states + k]}, {{"starts", Ints{at}}, {"ends", Ints{at + 1}}, {"axes", axis}});
      inputs[states + k] = replacement.squeeze(element, axis);
    }
    const std::vector<Value*> results = replacement.inlined(*body, inputs);
    if (replacement.failed()) return replacement.status();
    for (size_t s = 0; s < states; ++s) inputs[s] = results[s];
    for (size_t o = 0; o < scanned.size(); ++o) scanned[o].push_back(results[o + states]);
  }
  std::vector<Value*> outputs;
  for (size_t o = 0; o < static_cast<size_t>(node->num_outputs()); ++o) {
    Value* result = o < states ? inputs[o] : nullptr;
    if (o >= states) {
      std::vector<Value*>& elements = scanned[o - states];
      if (listed(*node, "output_directions", o - states) != 0) std::reverse(elements.begin(), elements.end());
      int64_t axis = listed(*node, "output_axes", o - states);
      if (axis < 0) axis += node->output(static_cast<int>(o))->rank();
      result = stack(replacement, std::move(elements), axis);
    }
    outputs.push_back(result);
  }
  WOOTZ_RETURN_IF_ERROR(replacement.finish(std::move(outputs)));
  return true;
}

}  // namespace

Result<bool> inline_control(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    if (!is_control(*node)) continue;
    if (const Value* c = node->input(0); node->is("If") && c->is_constant() && c->constant().volume() == 1) {
      WOOTZ_RETURN_IF_ERROR(take_branch(graph, node, c->constant().get_i64(0) != 0));
      changed = true;
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(const bool done, node->is("If")     ? compute_both(graph, node)
                                            : node->is("Loop") ? write_out_loop(graph, node)
                                                               : write_out_scan(graph, node));
    changed = changed || done;
  }
  return changed;
}

}  // namespace wootz
