#include "ops/support/window_import.h"

#include <algorithm>

namespace wootz {

Status import_window(ImportContext& ctx, const Value* x, const Shape& kernel, AttrMap* attrs) {
  for (const char* name : {"strides", "dilations"})
    if (const std::vector<int64_t> values = ctx.attr_ints(name); !values.empty()) (*attrs)[name] = values;
  const std::string mode = ctx.attr_string("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) {
    if (const std::vector<int64_t> pads = ctx.attr_ints("pads"); !pads.empty()) (*attrs)["pads"] = pads;
    return {};
  }
  if (mode == "VALID") return {};
  (*attrs)["auto_pad"] = mode;
  const size_t spatial = kernel.size();
  const auto known = [](const Dim& d) { return d.is_const(); };
  const std::vector<int64_t> ones(spatial, 1);
  const std::vector<int64_t> strides = ctx.attr_ints("strides", ones), dilations = ctx.attr_ints("dilations", ones);
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const bool fixed = spatial > 0 && x->shape().size() == spatial + 2 && strides.size() == spatial &&
                     dilations.size() == spatial && *std::min_element(strides.begin(), strides.end()) >= 1 &&
                     std::all_of(x->shape().begin() + 2, x->shape().end(), known) &&
                     std::all_of(kernel.begin(), kernel.end(), known);
  if (!same || !fixed) return {};  // what is wrong is refused by the op's own rule
  std::vector<int64_t> pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = x->shape()[i + 2].value();
    const int64_t out = (in + strides[i] - 1) / strides[i];
    const int64_t total =
        std::max<int64_t>(0, (out - 1) * strides[i] + (kernel[i].value() - 1) * dilations[i] + 1 - in);
    pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[i + spatial] = total - pads[i];
  }
  attrs->erase("auto_pad");
  (*attrs)["pads"] = pads;
  return {};
}

}  // namespace wootz
