#include "backend/relayout.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "base/thread_pool.h"

namespace wootz {
namespace {

// Elements of fewer bits than a byte, from the lowest bits on.
void move_bits(const std::byte* from, size_t at, std::byte* to, size_t place, size_t bits) {
  const unsigned mask = (1u << bits) - 1, source = static_cast<unsigned>(at * bits % 8);
  const unsigned value = std::to_integer<unsigned>(from[at * bits / 8]) >> source & mask;
  const auto target = static_cast<unsigned>(place * bits % 8);
  std::byte& byte = to[place * bits / 8];
  byte = static_cast<std::byte>((std::to_integer<unsigned>(byte) & ~(mask << target)) | value << target);
}

// Where a channel's points begin in an order of channels; the next point is `lanes` elements on.
size_t first_point(const ChannelOrder& order, int64_t points, int64_t n, int64_t c) {
  return static_cast<size_t>((n * order.groups + c / order.lanes) * points * order.lanes + c % order.lanes);
}

// Blocks of channels by points that stay in the first cache whichever of the two is innermost; threads divide them.
template <size_t kBytes>
void move_elements(const std::byte* from, const ChannelOrder& a, std::byte* to, const ChannelOrder& b, const Dims& dims,
                   int64_t points) {
  constexpr int64_t kChannels = 16, kPoints = 64, kLeast = int64_t{1} << 16;  // elements of a thread
  const size_t step_in = static_cast<size_t>(a.lanes) * kBytes, step_out = static_cast<size_t>(b.lanes) * kBytes;
  const int64_t blocks = (dims[1] + kChannels - 1) / kChannels;
  const auto move_block = [&](int64_t n, int64_t c0) {
    for (int64_t p0 = 0; p0 < points; p0 += kPoints)
      for (int64_t c = c0; c < std::min(dims[1], c0 + kChannels); ++c) {
        const auto first = static_cast<size_t>(p0), last = static_cast<size_t>(std::min(points, p0 + kPoints));
        const std::byte* in = from + first_point(a, points, n, c) * kBytes + first * step_in;
        std::byte* out = to + first_point(b, points, n, c) * kBytes + first * step_out;
        for (size_t p = first; p < last; ++p, in += step_in, out += step_out) std::memcpy(out, in, kBytes);
      }
  };
  parallel_for(dims[0] * blocks, std::max<int64_t>(1, kLeast / (points * kChannels)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) move_block(i / blocks, i % blocks * kChannels);
  });
}

using MoveElements = void (*)(const std::byte*, const ChannelOrder&, std::byte*, const ChannelOrder&, const Dims&,
                              int64_t);
// Null: elements that share a byte.
MoveElements mover_of(size_t bits) {
  switch (bits) {
    case 8: return move_elements<1>;
    case 16: return move_elements<2>;
    case 32: return move_elements<4>;
    case 64: return move_elements<8>;
    case 128: return move_elements<16>;
    default: return nullptr;
  }
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
  if (const MoveElements move = mover_of(bits); move != nullptr) {
    move(static_cast<const std::byte*>(from), a, static_cast<std::byte*>(to), b, dims, points);
    return {};
  }
  const auto place = [&](const ChannelOrder& o, int64_t n, int64_t c, int64_t point) {
    return first_point(o, points, n, c) + static_cast<size_t>(point * o.lanes);
  };
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t p = 0; p < points; ++p)
        move_bits(static_cast<const std::byte*>(from), place(a, n, c, p), static_cast<std::byte*>(to),
                  place(b, n, c, p), bits);
  return {};
}

namespace {

// The axes of y in the order of memory, outermost first, as axes of x.
std::vector<int64_t> order_in_memory(Layout layout, const std::vector<int64_t>& perm,
                                     FunctionRef<bool(size_t axis)> is_one) {
  const bool last = layout == Layout::kChannelsLast && perm.size() >= 3;
  std::vector<int64_t> order;
  const auto add = [&](size_t axis) {
    if (!is_one(static_cast<size_t>(perm[axis]))) order.push_back(perm[axis]);
  };
  for (size_t a = 0; a < perm.size(); ++a)
    if (!last || a != 1) add(a);
  if (last) add(1);
  return order;
}

}  // namespace

bool stays_in_place(const std::vector<int64_t>& perm, Layout x, Layout y, FunctionRef<bool(size_t axis)> is_one) {
  std::vector<int64_t> same(perm.size());
  std::iota(same.begin(), same.end(), 0);
  if (!is_plain(x) || !is_plain(y) || !std::is_permutation(perm.begin(), perm.end(), same.begin())) return false;
  return order_in_memory(x, same, is_one) == order_in_memory(y, perm, is_one);
}

}  // namespace wootz
