#include "base/expressions.h"

#include <algorithm>

namespace wootz {

std::vector<uint16_t> append_expression(PointwiseExpr* to, const PointwiseExpr& e,
                                        const std::function<uint16_t(const PwInstr& load)>& operand) {
  std::vector<uint16_t> map, results;
  for (PwInstr in : e.code) {
    if (in.op == PwOp::kInput) {
      map.push_back(operand(in));
      continue;
    }
    const int arity = pw_op_arity(in.op);
    if (arity > 0) in.a = map[in.a];
    if (arity > 1) in.b = map[in.b];
    if (arity > 2) in.c = map[in.c];
    map.push_back(static_cast<uint16_t>(to->code.size()));
    to->code.push_back(in);
  }
  for (const uint16_t v : e.outputs) results.push_back(map[v]);
  return results;
}

std::optional<PointwiseExpr> without_addend(const PointwiseExpr& e, uint16_t added) {
  const auto loads = [&](uint16_t value, uint16_t operand) {
    return e.code[value].op == PwOp::kInput && e.code[value].a == operand;
  };
  const auto uses = [&](uint16_t operand) {
    int count = 0;
    for (const PwInstr& in : e.code) {
      if (in.op == PwOp::kInput || in.op == PwOp::kConst) continue;
      const uint16_t values[] = {in.a, in.b, in.c};
      for (int i = 0; i < pw_op_arity(in.op); ++i) count += loads(values[i], operand);
    }
    for (const uint16_t o : e.outputs) count += loads(o, operand);
    return count;
  };
  const auto sum = std::find_if(e.code.begin(), e.code.end(), [&](const PwInstr& in) {
    return in.op == PwOp::kAdd && ((loads(in.a, 0) && loads(in.b, added)) || (loads(in.a, added) && loads(in.b, 0)));
  });
  if (sum == e.code.end() || uses(0) != 1 || uses(added) != 1 || e.input_type(added) != sum->type) return std::nullopt;
  // The sum as operand 0 of what comes after it: in its place the load of that.
  PointwiseExpr rest = e;
  rest.code[static_cast<size_t>(sum - e.code.begin())] = {PwOp::kInput, sum->type, 0};
  PointwiseExpr made;
  made.outputs = append_expression(&made, rest, [&](const PwInstr& load) {
    return made.input(static_cast<uint16_t>(load.a > added ? load.a - 1 : load.a == added ? 0 : load.a), load.type);
  });
  made.num_inputs = static_cast<uint16_t>(e.num_inputs - 1);
  return made;
}

PointwiseExpr with_addend(const PointwiseExpr& e, DType type, uint16_t operands) {
  PointwiseExpr made;
  const uint16_t sum = made.push(PwOp::kAdd, type, made.input(0, type), made.input(operands, type));
  made.outputs = append_expression(
      &made, e, [&](const PwInstr& load) { return load.a == 0 ? sum : made.input(load.a, load.type); });
  if (e.empty()) made.outputs = {sum};
  made.num_inputs = static_cast<uint16_t>(operands + 1);
  return made;
}

}  // namespace wootz
