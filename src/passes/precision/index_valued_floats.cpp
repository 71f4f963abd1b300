#include "passes/precision/index_valued_floats.h"

#include <algorithm>

#include "ir/op_def.h"

namespace wootz {
namespace {

using IndexValued = std::unordered_set<const Value*>;

bool is_index(DType type) { return is_integer(type) && dtype_bits(type) > 8; }

bool is_bounded(PwOp op) {
  constexpr PwOp kBounded[] = {PwOp::kSin,     PwOp::kCos,         PwOp::kTanh,     PwOp::kErf,
                               PwOp::kSigmoid, PwOp::kHardSigmoid, PwOp::kSoftsign, PwOp::kSign};
  return std::find(std::begin(kBounded), std::end(kBounded), op) != std::end(kBounded);
}

void mark_results(const Node& node, const PointwiseExpr& expr, IndexValued* found) {
  std::vector<uint8_t> indexed;
  for (const PwInstr& in : expr.code) {
    bool made = false;
    if (in.op == PwOp::kInput) {
      made = found->count(node.input(in.a)) != 0;
    } else if (is_float(in.type) && !is_bounded(in.op)) {
      const uint16_t operands[] = {in.a, in.b, in.c};
      for (int k = 0; k < pw_op_arity(in.op); ++k)
        made = made || indexed[operands[k]] != 0 || is_index(expr.code[operands[k]].type);
    }
    indexed.push_back(made);
  }
  for (size_t o = 0; o < expr.outputs.size() && o < node.outputs().size(); ++o)
    if (indexed[expr.outputs[o]] != 0) found->insert(node.output(static_cast<int>(o)));
}

bool is_outer_product(const Node& node) {
  const Value *a = node.input(0), *b = node.input(1);
  if (a == nullptr || b == nullptr || a->rank() < 2) return false;
  const Dim& depth = a->shape()[a->shape().size() - (node.attr_int("trans_a") != 0 ? 2 : 1)];
  return depth.is_const() && depth.value() == 1;
}

}  // namespace

IndexValued index_valued_floats(const Graph& graph) {
  IndexValued found;
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    const Lowering lowering = node->op().lowering;
    if (lowering == Lowering::kPointwise) {
      if (const PointwiseExpr* expr = node->attr_expr("expr")) {
        mark_results(*node, *expr, &found);
      } else if (node->op().pointwise != nullptr) {
        if (const Result<PointwiseExpr> own = node->op().pointwise(*node); own.ok()) mark_results(*node, *own, &found);
      }
      continue;
    }
    const bool moves = lowering == Lowering::kMove || lowering == Lowering::kView || lowering == Lowering::kGather;
    if (!moves && !(lowering == Lowering::kGemm && is_outer_product(*node))) continue;
    const bool any =
        std::any_of(node->inputs().begin(), node->inputs().end(), [&](const Value* v) { return found.count(v) != 0; });
    for (const Value* out : node->outputs())
      if (any && out != nullptr) found.insert(out);
  }
  return found;
}

}  // namespace wootz
