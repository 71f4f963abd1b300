#include "backend/relayout.h"

#include <cstddef>
#include <cstring>

namespace wootz {

Status move_to_layout(const void* from, Layout from_layout, void* to, Layout to_layout, DType dtype, const Dims& dims) {
  for (const Layout layout : {from_layout, to_layout})
    if (layout >= Layout::kOpaque) return unsupported("a tensor packed by a kernel has no order of its own");
  const size_t bytes = layout_bytes(to_layout, dtype, dims);
  if (bytes == 0) return {};
  if (from_layout == to_layout || dims.rank() < 3) {
    std::memcpy(to, from, bytes);
    return {};
  }
  if (dtype_bits(dtype) < 8 || dtype_bits(dtype) % 8 != 0)
    return unsupported("{} from layout {} to {}", dtype_name(dtype), layout_name(from_layout), layout_name(to_layout));
  const ChannelOrder a = channel_order(from_layout, dims[1]), b = channel_order(to_layout, dims[1]);
  const auto size = static_cast<size_t>(dtype_bits(dtype) / 8);
  int64_t points = 1;
  for (size_t i = 2; i < dims.size(); ++i) points *= dims[i];
  if (b.groups * b.lanes != dims[1]) std::memset(to, 0, bytes);
  const auto place = [&](const ChannelOrder& o, int64_t n, int64_t c, int64_t point) {
    return static_cast<size_t>(((n * o.groups + c / o.lanes) * points + point) * o.lanes + c % o.lanes) * size;
  };
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t p = 0; p < points; ++p)
        std::memcpy(static_cast<std::byte*>(to) + place(b, n, c, p),
                    static_cast<const std::byte*>(from) + place(a, n, c, p), size);
  return {};
}

}  // namespace wootz
