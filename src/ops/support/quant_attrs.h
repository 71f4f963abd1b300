// The quantized form of Conv and MatMul: attributes that make the node compute
//   x_scale * w_scale[m] * sum((x - x_zero) * (w - w_zero[m])) + b   in f32, from 8-bit x and w; these may be floats of
//   8
// bits, whose zero points are 0.
#pragma once

#include <array>
#include <optional>

#include "base/fp8.h"
#include "ir/op_def.h"

namespace wootz {

struct QuantAttrs {
  double x_scale = 1, x_zero = 0;
  std::vector<double> w_scale, w_zero;  // one value, or one per output channel (column)
  double w_scale_at(int64_t channel) const { return w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
  double w_zero_at(int64_t channel) const {
    return w_zero.empty() ? 0 : w_zero[w_zero.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

inline constexpr std::array<AttrSpec, 4> kQuantAttrSpecs{{{"x_scale", AttrKind::kFloats},
                                                          {"x_zero", AttrKind::kFloats},
                                                          {"w_scale", AttrKind::kFloats},
                                                          {"w_zero", AttrKind::kFloats}}};

// What the two operands of the quantized form are: integers, or floats of 8 bits.
inline bool are_8_bits(DType x, DType w) { return (is_int8(x) && is_int8(w)) || (is_fp8(x) && is_fp8(w)); }

// Nothing when the node has no x_scale. Checks the counts, against `channels` when that is known (>= 0).
Result<std::optional<QuantAttrs>> read_quant_attrs(const Node& node, int64_t channels);

}  // namespace wootz
