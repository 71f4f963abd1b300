#include "backends/cuda/support/epilogue_stages.h"

#include <algorithm>

namespace wootz::cuda {
namespace {

struct Operand {
  int number = -1;    // of the expression
  double factor = 0;  // see Stage
};

const PwInstr& before_casts(const PointwiseExpr& e, uint16_t at) {
  for (size_t steps = 0; steps < e.code.size() && e.code[at].op == PwOp::kCast; ++steps) at = e.code[at].a;
  return e.code[at];
}

// An operand as it is, or one in i8 times a constant.
Operand operand_of(const PointwiseExpr& e, uint16_t v) {
  const auto is_input = [](const PwInstr& in) { return in.op == PwOp::kInput && in.a > 0; };
  const PwInstr& in = before_casts(e, v);
  if (is_input(in) && in.type != DType::kI8) return {in.a, 0};
  if (in.op != PwOp::kMul) return {};
  for (const auto& [x, k] : {std::pair{in.a, in.b}, std::pair{in.b, in.a}}) {
    const PwInstr &moved = before_casts(e, x), &right = before_casts(e, k);
    if (moved.op == PwOp::kSub && (before_casts(e, moved.b).op != PwOp::kConst || before_casts(e, moved.b).imm0 != 0))
      continue;  // a zero point
    const PwInstr& left = moved.op == PwOp::kSub ? before_casts(e, moved.a) : moved;
    if (is_input(left) && left.type == DType::kI8 && right.op == PwOp::kConst && right.imm0 != 0)
      return {left.a, right.imm0};
  }
  return {};
}

// From value v, which leads to the result, back to the family's own.
std::optional<std::vector<Stage>> stages_to(const Problem& p, uint16_t v, bool bytes) {
  std::vector<Stage> stages;
  const PointwiseExpr& e = p.epilogue;
  // From the result back to the family's own value; every value may be read once, except by x * f(x) forms, which are
  // operations of their own.
  std::vector<int> uses(e.code.size(), 0);
  for (const PwInstr& in : e.code) {
    const int arity = pw_op_arity(in.op);
    if (arity > 0) ++uses[in.a];
    if (arity > 1) ++uses[in.b];
    if (arity > 2) ++uses[in.c];
  }
  for (size_t guard = 0; guard <= e.code.size(); ++guard) {
    const PwInstr& in = e.code[v];
    if (!is_model_float(in.type)) return std::nullopt;
    if (in.op == PwOp::kInput) {
      if (in.a != 0) return std::nullopt;
      std::reverse(stages.begin(), stages.end());
      return stages;
    }
    if (uses[v] > 1) return std::nullopt;
    const int arity = pw_op_arity(in.op);
    if (in.op == PwOp::kCast) {
      if (!is_model_float(e.code[in.a].type)) return std::nullopt;
      v = in.a;
      continue;
    }
    if (arity == 1) {
      stages.push_back({in.op, -1, in.imm0, in.imm1});
      v = in.a;
      continue;
    }
    if (in.op != PwOp::kAdd && in.op != PwOp::kMul) return std::nullopt;
    // One side leads to the family's value, the other is an operand.
    const Operand left = operand_of(e, in.a), right = operand_of(e, in.b);
    const Operand k = right.number >= 0 ? right : left;
    if (k.number < 0 || (k.factor != 0 && !bytes)) return std::nullopt;
    const int input = p.num_main + k.number - 1;
    if (input >= static_cast<int>(p.inputs.size())) return std::nullopt;
    const DType type = p.inputs[static_cast<size_t>(input)].dtype;
    if (k.factor == 0 ? !is_model_float(type) : type != DType::kI8) return std::nullopt;
    stages.push_back({in.op, input, 0, 0, k.factor});
    v = right.number >= 0 ? in.a : in.b;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Stage>> epilogue_stages(const Problem& p) {
  if (p.epilogue.empty()) return std::vector<Stage>();
  if (p.epilogue.outputs.size() != 1) return std::nullopt;
  return stages_to(p, p.epilogue.outputs[0], false);
}

std::optional<Int8Epilogue> int8_epilogue(const Problem& p) {
  const PointwiseExpr& e = p.epilogue;
  Int8Epilogue epilogue;
  if (e.empty()) return epilogue;
  if (e.outputs.size() != 1) return std::nullopt;
  uint16_t v = e.outputs[0];
  if (const PwInstr& last = e.code[v]; last.op == PwOp::kQuantize) {
    const PwInstr &step = before_casts(e, last.b), &zero = before_casts(e, last.c);
    if (last.type != DType::kI8 || step.op != PwOp::kConst || zero.op != PwOp::kConst || zero.imm0 != 0 ||
        !(step.imm0 > 0))
      return std::nullopt;
    epilogue.step = step.imm0;
    v = last.a;
  }
  std::optional<std::vector<Stage>> stages = stages_to(p, v, true);
  if (!stages) return std::nullopt;
  epilogue.stages = std::move(*stages);
  return epilogue;
}

}  // namespace wootz::cuda
