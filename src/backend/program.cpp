#include "backend/program.h"

#include "backend/shape_step.h"
#include "base/mapped.h"

namespace wootz {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

bool fold(ShapeOp op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case ShapeOp::kAdd: return !__builtin_add_overflow(a, b, out);
    case ShapeOp::kMul: return !__builtin_mul_overflow(a, b, out);
    case ShapeOp::kMin: *out = a < b ? a : b; return true;
    case ShapeOp::kMax: *out = a > b ? a : b; return true;
    default: break;
  }
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  switch (op) {
    case ShapeOp::kFloorDiv: *out = floor_quotient(a, b); return true;
    case ShapeOp::kCeilDiv: *out = -floor_quotient(-a, b); return true;
    case ShapeOp::kMod: *out = a - floor_quotient(a, b) * b; return true;
    default: return false;
  }
}

}  // namespace

Result<bool> evaluate_shape(const Program& program, size_t i, std::span<const int64_t> symbol_values,
                            ShapeValues* out) {
  const ShapeExpr& e = program.exprs[i];
  if (e.op == ShapeOp::kConst) {
    out->values[i] = e.value;
  } else if (e.op == ShapeOp::kSymbol) {
    const auto s = static_cast<size_t>(e.value);
    if (s >= symbol_values.size() || symbol_values[s] < 0) return false;
    out->values[i] = symbol_values[s];
  } else {
    if (e.operands.empty()) return false;
    for (const int32_t operand : e.operands)
      if (!out->known[static_cast<size_t>(operand)]) return false;
    int64_t value = out->values[static_cast<size_t>(e.operands[0])];
    for (size_t k = 1; k < e.operands.size(); ++k)
      if (!fold(e.op, value, out->values[static_cast<size_t>(e.operands[k])], &value))
        return invalid_argument("shape expression {} overflows or divides by zero for the given input shapes", i);
    out->values[i] = value;
  }
  out->known[i] = 1;
  return true;
}

Status evaluate_shapes(const Program& program, std::span<const int64_t> symbol_values, ShapeValues* out) {
  out->values.assign(program.exprs.size(), 0);
  out->known.assign(program.exprs.size(), 0);
  for (size_t i = 0; i < program.exprs.size(); ++i)
    WOOTZ_RETURN_IF_ERROR(evaluate_shape(program, i, symbol_values, out).status());
  return Status();
}

Status check_shapes(const Program& program, const ShapeValues& shapes) {
  for (const ShapeCheck& check : program.checks) {
    const auto e = static_cast<size_t>(check.expr);
    if (shapes.known[e] && shapes.values[e] == 0) return invalid_argument("{}", check.message);
  }
  return Status();
}

std::optional<Dims> tensor_dims(const PlanTensor& tensor, const ShapeValues& shapes) {
  Dims dims;
  for (int32_t e : tensor.dims) {
    if (!shapes.known[static_cast<size_t>(e)]) return std::nullopt;
    dims.push_back(shapes.values[static_cast<size_t>(e)]);
  }
  return dims;
}

Result<std::span<const std::byte>> bytes_of(const PlanConstant& constant, RawBytes* scratch) {
  if (!constant.make) return std::span(static_cast<const std::byte*>(constant.data), constant.bytes);
  WOOTZ_ASSIGN_OR_RETURN(*scratch, make_bytes({constant.bytes, constant.make}, std::move(*scratch)));
  return std::span<const std::byte>(*scratch);
}

void release_pages(const PlanConstant& constant) {
  if (constant.data != nullptr) release_mapped({static_cast<const std::byte*>(constant.data), constant.bytes});
}

Status make_constants(Program* program) {
  for (PlanConstant& constant : program->constants) {
    if (!constant.make) continue;
    WOOTZ_ASSIGN_OR_RETURN(RawBytes made, make_bytes({constant.bytes, constant.make}));
    const auto keep = std::make_shared<const RawBytes>(std::move(made));
    constant.owner = keep;
    constant.data = keep->data();
    constant.make = nullptr;
  }
  for (Program& body : program->bodies) WOOTZ_RETURN_IF_ERROR(make_constants(&body));
  return Status();
}

}  // namespace wootz
