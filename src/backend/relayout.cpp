#include "backend/relayout.h"

#include <cstddef>
#include <cstring>

namespace wootz {
namespace {

// Elements of so many bits, those of less than a byte from the lowest bits on.
void move_element(const std::byte* from, size_t at, std::byte* to, size_t place, size_t bits) {
  if (bits % 8 == 0) {
    std::memcpy(to + place * (bits / 8), from + at * (bits / 8), bits / 8);
    return;
  }
  const unsigned mask = (1u << bits) - 1, source = static_cast<unsigned>(at * bits % 8);
  const unsigned value = std::to_integer<unsigned>(from[at * bits / 8]) >> source & mask;
  const auto target = static_cast<unsigned>(place * bits % 8);
  std::byte& byte = to[place * bits / 8];
  byte = static_cast<std::byte>((std::to_integer<unsigned>(byte) & ~(mask << target)) | value << target);
}

}  // namespace

Status move_to_layout(const void* from, Layout from_layout, void* to, Layout to_layout, DType dtype, const Dims& dims) {
  for (const Layout layout : {from_layout, to_layout})
    if (layout == Layout::kOpaque) return unsupported("a tensor packed by a kernel has no order of its own");
  const size_t bytes = layout_bytes(to_layout, dtype, dims);
  if (bytes == 0) return {};
  if (from_layout == to_layout || dims.rank() < 3) {
    std::memcpy(to, from, bytes);
    return {};
  }
  const ChannelOrder a = channel_order(from_layout, dims[1]), b = channel_order(to_layout, dims[1]);
  const auto bits = static_cast<size_t>(dtype_bits(dtype));
  int64_t points = 1;
  for (size_t i = 2; i < dims.size(); ++i) points *= dims[i];
  if (bits < 8 || b.groups * b.lanes != dims[1]) std::memset(to, 0, bytes);
  const auto place = [&](const ChannelOrder& o, int64_t n, int64_t c, int64_t point) {
    return static_cast<size_t>(((n * o.groups + c / o.lanes) * points + point) * o.lanes + c % o.lanes);
  };
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t p = 0; p < points; ++p)
        move_element(static_cast<const std::byte*>(from), place(a, n, c, p), static_cast<std::byte*>(to),
                     place(b, n, c, p), bits);
  return {};
}

}  // namespace wootz
