// Pointwise: a fused node. Attribute "expr" is the whole meaning: operand k is input k, one output per stored value.
// Inference and reference follow from it. Chain is in chain.cpp.
#include "ops/fused/chain.h"
#include "ops/module_table.h"

namespace wootz::ops {
namespace {

Result<PointwiseExpr> fused_expression(const Node& node) {
  return at_node(node, invalid_argument("attribute 'expr' is missing"));
}

const OpDef kPointwise{.name = "Pointwise",
                       .min_inputs = 0,
                       .max_inputs = -1,
                       .max_outputs = -1,
                       .attributes = {{"expr", AttrKind::kExpr, true}},
                       .lowering = Lowering::kPointwise,
                       .pointwise = fused_expression,
                       .traits = {}};

}  // namespace

std::span<const OpDef* const> fused_ops() {
  static const OpDef* const kFusedDefs[] = {&kPointwise, &chain_op()};
  return kFusedDefs;
}

}  // namespace wootz::ops
