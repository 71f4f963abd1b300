// A product or convolution whose result of 16 bits is widened to FP32 by a cast alone gives FP32 at once: its
// sums are FP32 anyway, and what is rounded, written and read back in between is not. Networks' outputs stand after
// such casts. Runs when nothing else changes any more, after what assigns types.
#include "ops/infer.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool is_narrow(DType type) { return type == DType::kF16 || type == DType::kBF16; }

// Whose expression, if it has one, reads nothing but the product.
bool is_product(const Node& node) {
  if ((!node.is("Conv") && !node.is("MatMul")) || node.num_outputs() != 1) return false;
  const DType type = node.output()->dtype();  // of 8 bits it is FP32 until the expression narrows it
  if (!is_narrow(type) || (node.input(0)->dtype() != type && !node.has_attr("x_scale"))) return false;
  const PointwiseExpr* const expr = node.attr_expr("epilogue");
  return expr == nullptr || (node.attr_int("main_inputs") == node.num_inputs() && expr->outputs.size() == 1);
}

// The expression, whose floats are FP32 in place of `type`.
PointwiseExpr widened(const PointwiseExpr* expr, DType type) {
  PointwiseExpr made;
  if (expr == nullptr) {
    made.num_inputs = 1;
    made.outputs = {made.input(0, DType::kF32)};
    return made;
  }
  made = *expr;
  for (PwInstr& in : made.code)
    if (in.type == type) in.type = DType::kF32;
  return made;
}

Result<bool> fuse(Graph& graph, Node* cast) {
  if (!cast->is("Cast") || cast->output()->dtype() != DType::kF32) return false;
  Value* const narrow = cast->input(0);
  Node* const main = narrow->producer();
  if (main == nullptr || !is_product(*main) || only_user(narrow) != cast) return false;
  AttrMap attrs = main->attrs();
  attrs["epilogue"] = widened(main->attr_expr("epilogue"), narrow->dtype());
  attrs["main_inputs"] = int64_t{main->num_inputs()};
  Node* const made =
      graph.add_node(main->op(), graph.unique_name(main->name()), main->inputs(), std::move(attrs), 1, cast);
  made->add_provenance(*main);
  made->add_provenance(*cast);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  take_place(graph, cast->output(), made->output());
  return true;
}

}  // namespace

Result<bool> fuse_casts(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, fuse(graph, node));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace wootz
