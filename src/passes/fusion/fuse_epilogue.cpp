// A pointwise expression after a convolution, GEMM, normalization, reduction, pooling or softmax becomes its
// epilogue: the result is finished while it is still in registers or cache.
#include <tuple>

#include "base/fp8.h"
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/places.h"
#include "passes/support/rewrite.h"
#include "passes/support/simplify_expr.h"

namespace wootz {
namespace {

// By what a producer takes the expression before another: a convolution or product rather than what is cheap, and one
// that gives floats rather than one that has been rounded to bytes, whose result would be rounded and read back in the
// middle of its epilogue while the other one is written in full. Then the last one, for its other operands exist by
// then.
std::tuple<bool, bool, int> rank_of(const Node& producer, const Places& places) {
  return {multiplies(producer), !is_byte(producer.output()->dtype()), places.at(&producer)};
}

Node* producer_to_fuse(const Node& pointwise, const Places& places) {
  Node* best = nullptr;
  for (const Value* operand : pointwise.inputs()) {
    Node* producer = operand == nullptr ? nullptr : operand->producer();
    if (producer == nullptr || !carries_epilogue(*producer) || only_user(operand) != &pointwise) continue;
    if (!(operand->shape() == pointwise.output()->shape())) continue;
    if (best == nullptr || rank_of(*producer, places) > rank_of(*best, places)) best = producer;
  }
  return best;
}

// `second` computed on what `first` gives, which is its operand 0; the other operands have one numbering in both.
// substitute() would put the operands of `second` first.
PointwiseExpr compose(const PointwiseExpr& first, const PointwiseExpr& second) {
  PointwiseExpr merged;
  merged.num_inputs = second.num_inputs;
  merged.code = first.code;
  std::vector<uint16_t> map;
  for (const PwInstr& instruction : second.code) {
    PwInstr in = instruction;
    if (in.op == PwOp::kInput && in.a == 0) {
      map.push_back(first.outputs[0]);
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
  merged.outputs = {map[second.outputs[0]]};
  return merged;
}

struct Epilogue {
  PointwiseExpr expr;
  std::vector<Value*> inputs;  // of the main op, then those of the expression
  int main_inputs = 0;
};

// The epilogue of `main` with the expression of `pointwise` after it. Operand 0 of an epilogue is the main op's result,
// then come the operands that it has already, then the new ones.
Epilogue extended_epilogue(const Node& main, const Node& pointwise, const PointwiseExpr& expr) {
  const PointwiseExpr* old = main.attr_expr("epilogue");
  Epilogue made{.expr = expr, .inputs = main.inputs()};
  made.main_inputs =
      old != nullptr ? static_cast<int>(main.attr_int("main_inputs", main.num_inputs())) : main.num_inputs();
  auto next = static_cast<uint16_t>(1 + static_cast<int>(made.inputs.size()) - made.main_inputs);
  std::vector<uint16_t> number(expr.num_inputs, 0);  // of each operand; the main op's result is 0
  for (uint16_t k = 0; k < expr.num_inputs; ++k) {
    if (pointwise.input(k) == main.output()) continue;
    number[k] = next++;
    made.inputs.push_back(pointwise.input(k));
  }
  for (PwInstr& in : made.expr.code)
    if (in.op == PwOp::kInput) in.a = number[in.a];
  made.expr.num_inputs = next;
  if (old != nullptr) made.expr = compose(*old, made.expr);
  return made;
}

Result<bool> fuse(Graph& graph, Node* pointwise, Places* places) {
  const PointwiseExpr* expr = pointwise->attr_expr("expr");
  if (expr == nullptr || pointwise->num_outputs() != 1) return false;
  Node* main = producer_to_fuse(*pointwise, *places);
  if (main == nullptr) return false;
  Epilogue epilogue = extended_epilogue(*main, *pointwise, *expr);
  if (epilogue.expr.code.size() > 64) return false;
  AttrMap attrs = main->attrs();
  attrs["epilogue"] = simplify_expression(epilogue.expr);
  attrs["main_inputs"] = int64_t{epilogue.main_inputs};
  Node* made = graph.add_node(main->op(), graph.unique_name(main->name()), std::move(epilogue.inputs), std::move(attrs),
                              1, pointwise);
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
  Places places = places_of(graph);
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    if (!node->is("Pointwise")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse(graph, node, &places));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
