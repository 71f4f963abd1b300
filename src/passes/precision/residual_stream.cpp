#include "passes/precision/residual_stream.h"

#include <algorithm>

#include "ops/registry.h"

namespace wootz {
namespace {

// The operand of the result's shape that the epilogue adds at last; null: it does not end so.
const Value* residual_of(const Node& node) {
  const PointwiseExpr* expr = node.attr_expr("epilogue");
  if (expr == nullptr || expr->outputs.size() != 1 || node.output()->dtype() != DType::kF32) return nullptr;
  const PwInstr& last = expr->code[expr->outputs[0]];
  if (last.op != PwOp::kAdd) return nullptr;
  const int64_t main = node.attr_int("main_inputs", node.num_inputs());
  if (main < 2 || main > 3) return nullptr;
  for (const uint16_t operand : {last.a, last.b}) {
    const PwInstr& in = expr->code[operand];
    if (in.op != PwOp::kInput || in.a == 0) continue;
    const Value* value = node.input(static_cast<int>(main + in.a - 1));
    if (value != nullptr && !value->is_constant() && value->dtype() == DType::kF32 &&
        value->shape() == node.output()->shape())
      return value;
  }
  return nullptr;
}

bool is_norm(const Node* node) { return node != nullptr && node->op().lowering == Lowering::kNorm; }

// Rows of tables that are added up begin the stream: of the table that the sum is a node of only the values are
// rounded, those of the others not at all.
void add_embedding(const Node& sum, ResidualStream* stream) {
  if (sum.attr_expr("epilogue") == nullptr || sum.output()->dtype() != DType::kF32) return;
  stream->sums.insert(&sum);
  for (auto i = static_cast<int>(sum.attr_int("main_inputs", sum.num_inputs())); i < sum.num_inputs(); ++i)
    if (const Value* added = sum.input(i);
        added != nullptr && added->producer() != nullptr && added->producer()->op().lowering == Lowering::kGather)
      stream->kept.insert(added->producer());
}

}  // namespace

ResidualStream find_residual_stream(const Graph& graph) {
  ResidualStream stream;
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    if (node->op().lowering != Lowering::kGemm || node->has_attr("x_scale")) continue;
    const Value* residual = residual_of(*node);
    if (residual == nullptr) continue;
    const std::vector<Use>& uses = node->output()->uses();
    if (std::none_of(uses.begin(), uses.end(), [](const Use& use) { return is_norm(use.node) && use.index == 0; }))
      continue;
    stream.sums.insert(node);
    for (const Use& use : uses)
      if (is_norm(use.node)) stream.kept.insert(use.node);
    const Node* maker = residual->producer();
    if (is_norm(maker)) {
      stream.kept.insert(maker);
      maker = maker->input(0) == nullptr ? nullptr : maker->input(0)->producer();
    }
    if (maker == nullptr) continue;
    if (maker->op().lowering == Lowering::kPointwise) stream.kept.insert(maker);
    if (maker->op().lowering == Lowering::kGather) add_embedding(*maker, &stream);
  }
  return stream;
}

}  // namespace wootz
