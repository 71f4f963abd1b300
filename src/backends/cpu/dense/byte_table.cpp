#include "backends/cpu/dense/byte_table.h"

#include <algorithm>
#include <vector>

#include "backends/cpu/onednn/post_ops.h"

namespace wootz::cpu {
namespace {

// Whether the value that became operand 0 is all that is read.
bool reads_one_value(const PointwiseExpr& rest) {
  return std::count_if(rest.code.begin(), rest.code.end(), [](const PwInstr& i) { return i.op == PwOp::kInput; }) == 1;
}

ByteTable table_of(const PointwiseExpr& rest, DType type) {
  ByteTable table;
  std::vector<PwScalar> inputs(std::max<size_t>(1, rest.num_inputs));
  for (size_t bits = 0; bits < table.size(); ++bits) {
    const auto value = static_cast<int64_t>(bits);
    inputs[0].f = static_cast<double>(type == DType::kI8 && value > 127 ? value - 256 : value);
    PwScalar result;
    evaluate(rest, inputs, {&result, 1});
    table[bits] = static_cast<uint8_t>(result.i);
  }
  return table;
}

}  // namespace

std::optional<TabledExpr> split_at_bytes(const PointwiseExpr& expr) {
  if (expr.outputs.size() != 1 || !is_int8(expr.output_type())) return std::nullopt;
  for (uint16_t i = 0; i < expr.outputs[0]; ++i) {
    if (expr.code[i].op != PwOp::kQuantize || !is_int8(expr.code[i].type)) continue;
    const PointwiseExpr rest = dnn::remainder_after(expr, i);
    if (!reads_one_value(rest)) continue;
    TabledExpr found{expr, table_of(rest, expr.code[i].type)};
    found.head.outputs = {i};
    found.head.code.resize(i + 1u);
    return found;
  }
  return std::nullopt;
}

}  // namespace wootz::cpu
