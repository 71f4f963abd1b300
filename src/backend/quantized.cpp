#include "backend/quantized.h"

#include <cmath>

namespace wootz {
namespace {

bool whole(double z, double low, double high) { return z == std::floor(z) && z >= low && z <= high; }

}  // namespace

bool has_scales(const Problem& p) { return p.params.count("x_scale") != 0 || p.params.count("a_scale") != 0; }

Result<ProductScales> read_product_scales(const Problem& p, int64_t columns) {
  const bool product = p.family == Family::kGemm;
  const std::string x = product ? "a" : "x", w = product ? "b" : "w";
  const std::vector<double> x_scale = p.get_floats(x + "_scale"), x_zero = p.get_floats(x + "_zero"),
                            w_zero = p.get_floats(w + "_zero");
  if (x_scale.size() > 1 || x_zero.size() > 1)
    return unsupported("{} scales and {} zero points of the data: one each", x_scale.size(), x_zero.size());
  ProductScales s;
  s.given = !x_scale.empty();
  if (s.given) s.x = x_scale[0];
  s.w = p.get_floats(w + "_scale");
  if (s.w.empty()) s.w = {1};
  if (s.w.size() != 1 && static_cast<int64_t>(s.w.size()) != columns)
    return invalid_argument("{}: {} scales of weights for {} columns", family_name(p.family), s.w.size(), columns);
  if (!x_zero.empty()) {
    const bool is_signed = p.inputs[0].dtype == DType::kI8;
    if (!whole(x_zero[0], is_signed ? -128 : 0, is_signed ? 127 : 255))
      return invalid_argument("{}: zero point {} of {}", family_name(p.family), x_zero[0],
                              dtype_name(p.inputs[0].dtype));
    s.x_zero = static_cast<int32_t>(x_zero[0]);
  }
  for (const double z : w_zero)
    if (z != w_zero[0] || !whole(z, -128, 127))
      return unsupported("weights with zero point {}: one whole number for all", z);
  if (!w_zero.empty()) s.w_zero = static_cast<int32_t>(w_zero[0]);
  return s;
}

}  // namespace wootz
