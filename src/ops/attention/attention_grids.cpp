#include "ops/attention/attention_grids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fp8.h"
#include "base/half.h"

namespace wootz::ops {
namespace {

bool positive(double s) { return std::isfinite(s) && s >= 0; }

bool whole(double z, DType type) {
  const double low = type == DType::kI8 ? -128 : 0, high = type == DType::kI8 ? 127 : is_int8(type) ? 255 : 0;
  return z == std::floor(z) && z >= low && z <= high;
}

std::string read_rounding(const Node& node, const char* scale, const char* zero, const char* type,
                          AttentionGrids::Rounding* r) {
  *r = {node.attr_float(scale), node.attr_float(zero), node.attr_dtype(type)};
  if (r->scale == 0 && r->type == DType::kInvalid) return "";
  if (is_byte(r->type) && positive(r->scale) && r->scale > 0 && whole(r->zero, r->type)) return "";
  return fmt::format("{} = {} with zero point {} and type {}", scale, r->scale, r->zero, dtype_name(r->type));
}

}  // namespace

const char* scale_attr(int operand) {
  static constexpr const char* kNames[] = {"q_scale", "k_scale", "v_scale"};
  return kNames[operand];
}

const char* zero_attr(int operand) {
  static constexpr const char* kNames[] = {"q_zero", "k_zero", "v_zero"};
  return kNames[operand];
}

std::string AttentionGrids::read(const Node& node, const DType (&types)[3], int64_t heads, const int64_t (&sizes)[3],
                                 AttentionGrids* out) {
  *out = {};
  for (int i = 0; i < 3; ++i) {
    Operand& o = out->operands[i];
    o = {node.attr_floats(scale_attr(i)), node.attr_float(zero_attr(i))};
    if (is_byte(types[i]) == o.scale.empty())
      return fmt::format("an operand of type {} with {} scales", dtype_name(types[i]), o.scale.size());
    if (!std::all_of(o.scale.begin(), o.scale.end(), positive)) return "a scale that is no positive number";
    if (o.zero != 0 && !whole(o.zero, types[i]))
      return fmt::format("zero point {} of {}", o.zero, dtype_name(types[i]));
    const auto count = static_cast<int64_t>(o.scale.size());
    const bool known = heads >= 0 && sizes[i] >= 0;
    const bool fits = count <= 1 || (i > 0 && (!known || count == heads || count == heads * sizes[i]));
    if (!fits) return fmt::format("'{}' has {} numbers for {} heads of {}", scale_attr(i), count, heads, sizes[i]);
  }
  const std::string wrong = read_rounding(node, "s_scale", "s_zero", "s_type", &out->scores);
  return !wrong.empty() ? wrong : read_rounding(node, "p_scale", "p_zero", "p_type", &out->weights);
}

double AttentionGrids::value(int operand, double x, int64_t h, int64_t d, int64_t heads, int64_t size) const {
  const Operand& o = operands[operand];
  if (o.scale.empty()) return x;
  const auto count = static_cast<int64_t>(o.scale.size());
  return (x - o.zero) * o.scale[static_cast<size_t>(count == 1 ? 0 : count == heads * size ? h * size + d : h)];
}

double AttentionGrids::Rounding::of(double x) const {
  if (scale == 0) return x;
  const float steps = static_cast<float>(x) / static_cast<float>(scale);
  if (is_fp8(type)) return scale * small_float_to_f32(type, f32_to_small_float(type, steps, true));
  const double low = type == DType::kI8 ? -128 : 0, high = type == DType::kI8 ? 127 : 255;
  return std::isnan(steps) ? 0 : scale * (std::clamp(std::nearbyint(steps) + zero, low, high) - zero);
}

DType attention_type(const Node& node, const DType (&types)[3]) {
  DType found = DType::kInvalid;
  for (const DType type : types) {
    if (is_byte(type)) continue;
    if (!is_float(type) || (found != DType::kInvalid && found != type)) return DType::kInvalid;
    found = type;
  }
  return found == DType::kInvalid ? node.attr_dtype("to", DType::kF32) : found;
}

}  // namespace wootz::ops
