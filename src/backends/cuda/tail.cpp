#include "backends/cuda/tail.h"

#include <algorithm>

namespace wootz::cuda {
namespace {

bool wide_enough(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16; }

}  // namespace

std::optional<std::vector<Stage>> chain_of(const Problem& p) {
  std::vector<Stage> stages;
  const PointwiseExpr& e = p.epilogue;
  if (e.empty()) return stages;
  if (e.outputs.size() != 1) return std::nullopt;
  // From the result back to the family's own value; every value may be read once, except by x * f(x) forms, which are
  // operations of their own.
  std::vector<int> uses(e.code.size(), 0);
  for (const PwInstr& in : e.code) {
    const int arity = pw_op_arity(in.op);
    if (arity > 0) ++uses[in.a];
    if (arity > 1) ++uses[in.b];
    if (arity > 2) ++uses[in.c];
  }
  uint16_t v = e.outputs[0];
  for (size_t guard = 0; guard <= e.code.size(); ++guard) {
    const PwInstr& in = e.code[v];
    if (!wide_enough(in.type)) return std::nullopt;
    if (in.op == PwOp::kInput) {
      if (in.a != 0) return std::nullopt;
      std::reverse(stages.begin(), stages.end());
      return stages;
    }
    if (uses[v] > 1) return std::nullopt;
    const int arity = pw_op_arity(in.op);
    if (in.op == PwOp::kCast) {
      if (!wide_enough(e.code[in.a].type)) return std::nullopt;
      v = in.a;
      continue;
    }
    if (arity == 1) {
      stages.push_back({in.op, -1, in.imm0, in.imm1});
      v = in.a;
      continue;
    }
    if (in.op != PwOp::kAdd && in.op != PwOp::kMul) return std::nullopt;
    // One side leads to the family's value, the other is an operand as it is.
    const auto operand = [&](uint16_t side) -> int {
      for (size_t steps = 0; steps < e.code.size() && e.code[side].op == PwOp::kCast; ++steps) side = e.code[side].a;
      return e.code[side].op == PwOp::kInput && e.code[side].a > 0 ? e.code[side].a : -1;
    };
    const int left = operand(in.a), right = operand(in.b);
    const int k = right >= 0 ? right : left;
    if (k < 0) return std::nullopt;
    const int input = p.num_main + k - 1;
    if (input >= static_cast<int>(p.inputs.size()) || !wide_enough(p.inputs[static_cast<size_t>(input)].dtype))
      return std::nullopt;
    stages.push_back({in.op, input, 0, 0});
    v = right >= 0 ? in.a : in.b;
  }
  return std::nullopt;
}

}  // namespace wootz::cuda
