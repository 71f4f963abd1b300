#include "api/network/window_settings.h"

namespace wootz::api {

using nvinfer1::PaddingMode;

bool WindowSettings::read(const Node& node) {
  const size_t n = rank();
  stride = node.attr_ints("strides", std::vector<int64_t>(n, 1));
  dilation = node.attr_ints("dilations", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> pads = node.attr_ints("pads", std::vector<int64_t>(2 * n, 0));
  if (stride.size() != n || dilation.size() != n || pads.size() != 2 * n) return false;
  pre.assign(pads.begin(), pads.begin() + static_cast<int64_t>(n));
  post.assign(pads.begin() + static_cast<int64_t>(n), pads.end());
  const std::string automatic = node.attr_string("auto_pad");
  if (automatic == "SAME_UPPER")
    mode = PaddingMode::kSAME_UPPER;
  else if (automatic == "SAME_LOWER")
    mode = PaddingMode::kSAME_LOWER;
  else if (node.attr_int("ceil_mode") != 0)
    mode = PaddingMode::kEXPLICIT_ROUND_UP;
  return automatic != "VALID";
}

Status WindowSettings::to_attrs(const Value& x, const std::vector<int64_t>& kernel, bool ceil_attr,
                                AttrMap* attrs) const {
  attrs->insert_or_assign("strides", stride);
  if (mode == PaddingMode::kSAME_UPPER || mode == PaddingMode::kSAME_LOWER) {
    attrs->insert_or_assign("auto_pad", std::string(mode == PaddingMode::kSAME_UPPER ? "SAME_UPPER" : "SAME_LOWER"));
    return Status();
  }
  std::vector<int64_t> ends = post;
  if (mode == PaddingMode::kEXPLICIT_ROUND_UP) {
    if (ceil_attr) {
      attrs->insert_or_assign("ceil_mode", int64_t{1});
    } else {
      for (size_t a = 0; a < rank() && a + 2 < x.shape().size(); ++a) {
        const Dim& extent = x.shape()[a + 2];
        if (!extent.is_const())
          return unsupported("PaddingMode::kEXPLICIT_ROUND_UP needs a fixed input extent, dimension {} of {} is open",
                             a + 2, shape_to_string(x.shape()));
        const int64_t span = extent.value() + pre[a] + post[a] - ((kernel[a] - 1) * dilation[a] + 1);
        if (span > 0) ends[a] += (stride[a] - span % stride[a]) % stride[a];
      }
    }
  }
  std::vector<int64_t> pads = pre;
  pads.insert(pads.end(), ends.begin(), ends.end());
  attrs->insert_or_assign("pads", pads);
  return Status();
}

}  // namespace wootz::api
