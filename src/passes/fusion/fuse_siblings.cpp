// Pointwise steps over the same elements become one step with several results: each operand is read once. Both what
// reads a common operand side by side and what reads a result that others read too.
#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"
#include "passes/support/simplify_expr.h"

namespace wootz {
namespace {

constexpr size_t kMaxInstructions = 48;
constexpr size_t kMaxOperands = 12;
constexpr int kMaxResults = 4;
constexpr size_t kMaxReaders = 16;  // of a common operand that are looked at

bool is_candidate(const Node& node) {
  if (!node.is("Pointwise") || node.num_outputs() > kMaxResults || node.num_inputs() == 0) return false;
  return std::none_of(node.outputs().begin(), node.outputs().end(),
                      [](const Value* v) { return v->shape_values().has_value(); });
}

int place_of_first_reader(const Node& node, const Node& except, const Places& places) {
  int first = INT_MAX;
  for (const Value* out : node.outputs())
    for (const Use& use : out->uses())
      if (use.node != &except) first = std::min(first, places.at(use.node));
  return first;
}

int place_of_last_operand(const Node& node, const Node& except, const Places& places) {
  int last = -1;
  for (const Value* in : node.inputs())
    if (in->producer() != nullptr && in->producer() != &except) last = std::max(last, places.at(in->producer()));
  return last;
}

// Where the two can stand as one: in the place of the second, or of the first; null when something between needs one
// for the other.
Node* common_place(Node* first, Node* second, const Places& places) {
  if (place_of_first_reader(*first, *second, places) > places.at(second)) return second;
  return place_of_last_operand(*second, *first, places) < places.at(first) ? first : nullptr;
}

// Appends the expression of `node` to `out`; results of `before` that it reads are taken from there.
void append(const Node& node, const Node* before, const std::vector<uint16_t>& results, PointwiseExpr* out,
            std::vector<Value*>* operands) {
  const PointwiseExpr& expr = *node.attr_expr("expr");
  std::vector<uint16_t> map;
  for (const PwInstr& old : expr.code) {
    PwInstr in = old;
    if (in.op == PwOp::kInput) {
      Value* value = node.input(in.a);
      if (before != nullptr && value->producer() == before) {
        map.push_back(results[static_cast<size_t>(value->producer_index())]);
        continue;
      }
      const auto found = std::find(operands->begin(), operands->end(), value);
      in.a = static_cast<uint16_t>(found - operands->begin());
      if (found == operands->end()) operands->push_back(value);
    } else if (in.op != PwOp::kConst) {
      const int arity = pw_op_arity(in.op);
      if (arity > 0) in.a = map[in.a];
      if (arity > 1) in.b = map[in.b];
      if (arity > 2) in.c = map[in.c];
    }
    map.push_back(static_cast<uint16_t>(out->code.size()));
    out->code.push_back(in);
  }
  for (uint16_t o : expr.outputs) out->outputs.push_back(map[o]);
}

// One node for both; null when it would be too large.
Result<Node*> join(Graph& graph, Node* first, Node* second, Node* place) {
  PointwiseExpr expr;
  std::vector<Value*> operands;
  append(*first, nullptr, {}, &expr, &operands);
  append(*second, first, expr.outputs, &expr, &operands);
  std::vector<Value*> results = first->outputs();
  results.insert(results.end(), second->outputs().begin(), second->outputs().end());
  // What only the other one read is no result any more.
  std::vector<uint16_t> kept;
  std::vector<Value*> replaced;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool read = graph.is_output(results[i]) || std::any_of(results[i]->uses().begin(), results[i]->uses().end(),
                                                                 [&](const Use& use) { return use.node != second; });
    if (!read) continue;
    kept.push_back(expr.outputs[i]);
    replaced.push_back(results[i]);
  }
  expr.outputs = kept;
  expr.num_inputs = static_cast<uint16_t>(operands.size());
  expr = simplify_expression(expr);
  if (kept.empty() || static_cast<int>(kept.size()) > kMaxResults || operands.size() > kMaxOperands ||
      expr.code.size() > kMaxInstructions)
    return static_cast<Node*>(nullptr);
  Node* made = graph.add_node(op("Pointwise"), graph.unique_name(second->name()), operands, {{"expr", expr}},
                              static_cast<int>(kept.size()), place);
  made->add_provenance(*first);
  made->add_provenance(*second);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  for (size_t i = 0; i < replaced.size(); ++i) {
    Value* out = made->output(static_cast<int>(i));
    if (!(out->shape() == replaced[i]->shape()) || out->dtype() != replaced[i]->dtype()) {
      graph.erase(made);
      return static_cast<Node*>(nullptr);
    }
  }
  for (size_t i = 0; i < replaced.size(); ++i) {
    Value* out = made->output(static_cast<int>(i));
    std::string name = replaced[i]->name();
    replaced[i]->set_name(graph.unique_name(name));
    out->set_name(std::move(name));
    graph.replace_all_uses(replaced[i], out);
  }
  graph.erase(second);
  graph.erase(first);
  return made;
}

// Earlier pointwise nodes that `node` reads, or that read what it reads.
std::vector<Node*> partners(const Node& node, const Places& places) {
  std::vector<Node*> found;
  const Shape& shape = node.output()->shape();
  const auto consider = [&](Node* other) {
    if (other == nullptr || other == &node || !is_candidate(*other) || places.at(other) > places.at(&node)) return;
    if (!(other->output()->shape() == shape)) return;
    if (std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
  };
  for (const Value* in : node.inputs()) {
    if (!(in->shape() == shape) || in->is_constant()) continue;
    consider(in->producer());
    if (in->uses().size() > kMaxReaders) continue;
    for (const Use& use : in->uses()) consider(use.node);
  }
  return found;
}

}  // namespace

Result<bool> fuse_siblings(Graph& graph) {
  bool changed = false;
  Places places = places_of(graph);
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!is_candidate(*node)) continue;
    for (Node* other : partners(*node, places)) {
      Node* place = common_place(other, node, places);
      if (place == nullptr) continue;
      const int number = places.at(place);
      WOOTZ_ASSIGN_OR_RETURN(Node* const made, join(graph, other, node, place));
      if (made == nullptr) continue;
      places[made] = number;
      changed = true;
      next = made;  // it may have more partners
      break;
    }
  }
  return changed;
}

}  // namespace wootz
