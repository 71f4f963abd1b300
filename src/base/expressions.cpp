#include "base/expressions.h"

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

}  // namespace wootz
