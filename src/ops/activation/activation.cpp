// Activation functions: each is one operation of the expression language, so that libraries' fused forms can be found.
#include <array>
#include <string_view>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

struct Activation {
  const char* name;
  PwOp op;
  Accept accept = Accept::kFloat;
  // Float attributes, in the order of the operation's immediates.
  const char* attr0 = nullptr;
  double default0 = 0;
  const char* attr1 = nullptr;
  double default1 = 0;
};

constexpr Activation kActivations[] = {
    {"Celu", PwOp::kCelu, Accept::kFloat, "alpha", 1},
    {"Elu", PwOp::kElu, Accept::kFloat, "alpha", 1},
    {"Gelu", PwOp::kGeluErf},  // attribute "approximate": none or tanh
    {"HardSigmoid", PwOp::kHardSigmoid, Accept::kFloat, "alpha", 0.2f, "beta", 0.5},
    {"HardSwish", PwOp::kHardSwish},
    {"LeakyRelu", PwOp::kLeakyRelu, Accept::kFloat, "alpha", 0.01f},
    {"Mish", PwOp::kMish},
    {"Relu", PwOp::kRelu, Accept::kNumeric},
    {"Selu", PwOp::kSelu, Accept::kFloat, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
    {"Shrink", PwOp::kShrink, Accept::kNumeric, "lambd", 0.5, "bias", 0},
    {"Sigmoid", PwOp::kSigmoid},
    {"Softplus", PwOp::kSoftplus},
    {"Softsign", PwOp::kSoftsign},
    {"Swish", PwOp::kSilu, Accept::kFloat, "alpha", 1},
    {"Tanh", PwOp::kTanh},
    {"ThresholdedRelu", PwOp::kThresholdedRelu, Accept::kFloat, "alpha", 1},
};

Result<PointwiseExpr> activation_expression(const Node& node) {
  for (const Activation& entry : kActivations) {
    if (std::string_view(entry.name) != node.op().name) continue;
    WOOTZ_RETURN_IF_ERROR(check_operand(node, 0, entry.accept));
    const DType type = node.input(0)->dtype();
    PwOp op = entry.op;
    if (op == PwOp::kGeluErf) {
      const std::string approximate = node.attr_string("approximate", "none");
      if (approximate != "none" && approximate != "tanh")
        return refuse(node, fmt::format("approximate is '{}', it must be none or tanh", approximate));
      if (approximate == "tanh") op = PwOp::kGeluTanh;
    }
    const double imm0 = entry.attr0 != nullptr ? node.attr_float(entry.attr0, entry.default0) : 0;
    const double imm1 = entry.attr1 != nullptr ? node.attr_float(entry.attr1, entry.default1) : 0;
    PointwiseExpr expr;
    expr.num_inputs = 1;
    uint16_t x = expr.input(0, type);
    const bool widen = op == PwOp::kShrink && !is_float(type);  // the immediates may be fractions
    if (widen) x = expr.push(PwOp::kCast, DType::kF64, x);
    uint16_t y = expr.push(op, expr.code[x].type, x, 0, 0, imm0, imm1);
    if (widen) y = expr.push(PwOp::kCast, type, y);
    expr.outputs = {y};
    return expr;
  }
  return at_node(node, internal_error("this is no activation"));
}

}  // namespace

std::span<const OpDef* const> activation_ops() {
  static const std::vector<OpDef> kDefs = [] {
    std::vector<OpDef> defs;
    for (const Activation& entry : kActivations) {
      OpDef def{.name = entry.name,
                .attributes = {},
                .lowering = Lowering::kPointwise,
                .pointwise = activation_expression,
                .traits = {}};
      if (entry.attr0 != nullptr) def.attributes.push_back({entry.attr0, AttrKind::kFloat});
      if (entry.attr1 != nullptr) def.attributes.push_back({entry.attr1, AttrKind::kFloat});
      if (entry.op == PwOp::kGeluErf) def.attributes.push_back({"approximate", AttrKind::kString});
      defs.push_back(std::move(def));
    }
    return defs;
  }();
  static const std::vector<const OpDef*> kActivationDefs = op_pointers(kDefs);
  return kActivationDefs;
}

}  // namespace wootz::ops
