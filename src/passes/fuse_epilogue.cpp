// A pointwise expression behind a convolution, product, normalization, reduction, pooling or softmax becomes its
// epilogue: the result is finished while it is still in registers or cache.
#include <unordered_map>

#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "passes/simplify_expr.h"

namespace wootz {
namespace {

// Places in the graph's order: of several producers the last one takes the expression, for its other operands exist by
// then. What a fusion makes has the place of what it replaces.
using Places = std::unordered_map<const Node*, int>;

bool is_heavy(const Node& node) {
  return node.op().lowering == Lowering::kConv || node.op().lowering == Lowering::kGemm;
}

Node* producer_to_fuse(const Node& pointwise, const Places& places) {
  Node* best = nullptr;
  for (const Value* operand : pointwise.inputs()) {
    Node* producer = operand == nullptr ? nullptr : operand->producer();
    if (producer == nullptr || !carries_epilogue(*producer) || only_user(operand) != &pointwise) continue;
    if (!(operand->shape() == pointwise.output()->shape())) continue;
    const bool heavy = is_heavy(*producer), best_heavy = best != nullptr && is_heavy(*best);
    if (best == nullptr || (heavy && !best_heavy) || (heavy == best_heavy && places.at(producer) > places.at(best)))
      best = producer;
  }
  return best;
}

Result<bool> fuse(Graph& graph, Node* pointwise, Places* places) {
  const PointwiseExpr* expr = pointwise->attr_expr("expr");
  if (expr == nullptr || pointwise->num_outputs() != 1) return false;
  Node* main = producer_to_fuse(*pointwise, *places);
  if (main == nullptr) return false;
  Value* result = main->output();
  // Operand 0 of an epilogue is the result itself, then what it already carried, then the new operands.
  const PointwiseExpr* old = main->attr_expr("epilogue");
  const int main_inputs =
      old != nullptr ? static_cast<int>(main->attr_int("main_inputs", main->num_inputs())) : main->num_inputs();
  std::vector<Value*> inputs = main->inputs();
  PointwiseExpr combined = *expr;
  std::vector<uint16_t> number(expr->num_inputs, 0);
  const auto extra = static_cast<uint16_t>(static_cast<int>(inputs.size()) - main_inputs);
  uint16_t next = static_cast<uint16_t>(1 + extra);
  uint16_t result_operand = 0;
  for (uint16_t k = 0; k < expr->num_inputs; ++k) {
    if (pointwise->input(k) == result) {
      result_operand = k;
      continue;
    }
    number[k] = next++;
    inputs.push_back(pointwise->input(k));
  }
  for (PwInstr& in : combined.code)
    if (in.op == PwOp::kInput && in.a != result_operand)
      in.a = number[in.a];
    else if (in.op == PwOp::kInput)
      in.a = 0;
  combined.num_inputs = next;
  if (old != nullptr) {
    // substitute() puts the outer operands first: bring the old epilogue's operands to their numbers by hand.
    PointwiseExpr merged;
    merged.num_inputs = next;
    merged.code = old->code;
    std::vector<uint16_t> map;
    for (const PwInstr& instruction : combined.code) {
      PwInstr in = instruction;
      if (in.op == PwOp::kInput && in.a == 0) {
        map.push_back(old->outputs[0]);
        continue;
      }
      if (in.op != PwOp::kInput && in.op != PwOp::kConst) {
        const int arity = pw_op_arity(in.op);
        if (arity > 0) in.a = map[in.a];
        if (arity > 1) in.b = map[in.b];
        if (arity > 2) in.c = map[in.c];
      }
      map.push_back(static_cast<uint16_t>(merged.code.size()));
      merged.code.push_back(in);
    }
    merged.outputs = {map[combined.outputs[0]]};
    combined = std::move(merged);
  }
  if (combined.code.size() > 64) return false;
  combined = simplify_expression(combined);
  AttrMap attrs = main->attrs();
  attrs["epilogue"] = std::move(combined);
  attrs["main_inputs"] = int64_t{main_inputs};
  Node* made =
      graph.add_node(main->op(), graph.unique_name(main->name()), std::move(inputs), std::move(attrs), 1, pointwise);
  made->add_provenance(*main);
  made->add_provenance(*pointwise);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  if (!(made->output()->shape() == pointwise->output()->shape())) {
    graph.erase(made);
    return false;
  }
  (*places)[made] = places->at(pointwise);
  take_place(graph, pointwise->output(), made->output());
  return true;
}

}  // namespace

Result<bool> fuse_epilogue(Graph& graph) {
  bool changed = false;
  Places places;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    places.emplace(node, static_cast<int>(places.size()));
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->is("Pointwise")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse(graph, node, &places));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
