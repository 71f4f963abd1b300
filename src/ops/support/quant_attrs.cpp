#include "ops/support/quant_attrs.h"

#include <cmath>

namespace wootz {

Result<std::optional<QuantAttrs>> read_quant_attrs(const Node& node, int64_t channels) {
  if (!node.has_attr("x_scale")) return std::optional<QuantAttrs>();
  const auto refuse = [&](const char* name, size_t count) {
    return at_node(node, invalid_argument("attribute {} has {} values for {} output channels", name, count, channels));
  };
  const std::vector<double> x_scale = node.attr_floats("x_scale"), x_zero = node.attr_floats("x_zero", {0});
  if (x_scale.size() != 1) return refuse("x_scale", x_scale.size());
  if (x_zero.size() != 1) return refuse("x_zero", x_zero.size());
  QuantAttrs q;
  q.x_scale = x_scale[0];
  q.x_zero = x_zero[0];
  q.w_scale = node.attr_floats("w_scale");
  q.w_zero = node.attr_floats("w_zero");
  const auto fits = [&](const std::vector<double>& v) {
    return v.size() == 1 || (channels < 0 ? !v.empty() : v.size() == static_cast<size_t>(channels));
  };
  if (!fits(q.w_scale)) return refuse("w_scale", q.w_scale.size());
  if (!q.w_zero.empty() && !fits(q.w_zero)) return refuse("w_zero", q.w_zero.size());
  return std::optional<QuantAttrs>(std::move(q));
}

}  // namespace wootz
