#include "backends/cpu/pointwise/grid.h"

#include <cmath>

#include "backends/cpu/pointwise/ops.h"

namespace wootz::cpu {
namespace {

// What a value is known to be: an f32, or a whole number that bytes may have.
std::optional<float> number(const PointwiseExpr& expr, uint16_t value) {
  const PwInstr* in = &expr.code[value];
  if (in->op == PwOp::kCast && in->type == DType::kF32 && !is_float(expr.code[in->a].type)) in = &expr.code[in->a];
  if (in->op != PwOp::kConst) return std::nullopt;
  if (in->type == DType::kF32) return static_cast<float>(in->imm0);
  double low = -128, high = 255;
  if (in->type == DType::kI8)
    high = 127;
  else if (in->type == DType::kU8)
    low = 0;
  else if (in->type != DType::kI32)
    return std::nullopt;
  if (std::trunc(in->imm0) != in->imm0 || !(in->imm0 >= low && in->imm0 <= high)) return std::nullopt;
  return static_cast<float>(in->imm0);
}

}  // namespace

std::optional<PwGrid> grid_of(const PointwiseExpr& expr, const PwInstr& in) {
  if (in.op != PwOp::kQuantize || (in.type != DType::kI8 && in.type != DType::kU8)) return std::nullopt;
  if (register_type(expr.code[in.a].type) != DType::kF32) return std::nullopt;
  const std::optional<float> scale = number(expr, in.b), zero = number(expr, in.c);
  if (!scale || !zero || std::trunc(*zero) != *zero || !(std::fabs(*zero) <= 255)) return std::nullopt;
  return PwGrid{*scale, *zero};
}

}  // namespace wootz::cpu
