#include "backend/problem.h"

#include <algorithm>
#include <iterator>

namespace wootz {
namespace {

struct LayoutInfo {
  const char* name;
  int64_t multiple;  // of channels
  bool together;     // all channels are one group; otherwise `multiple` of them
};
// By Layout.
constexpr LayoutInfo kLayouts[] = {
    {"linear", 1, false},          {"channels_last", 1, true},
    {"blocked8", 8, false},        {"blocked16", 16, false},
    {"opaque", 1, false},          {"blocked2", 2, false},
    {"blocked4", 4, false},        {"blocked16_border", 16, false},
    {"blocked32", 32, false},      {"channels_last8", 8, true},
    {"channels_last16", 16, true},
};
static_assert(std::size(kLayouts) == kLayoutCount);

const LayoutInfo& info_of(Layout layout) {
  return kLayouts[std::min(static_cast<size_t>(layout), std::size(kLayouts) - 1)];  // of none: whatever
}

}  // namespace

const char* layout_name(Layout layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index].name : "invalid";
}

bool layout_from_name(std::string_view name, Layout* layout) {
  for (size_t i = 0; i < std::size(kLayouts); ++i)
    if (name == kLayouts[i].name) {
      *layout = static_cast<Layout>(i);
      return true;
    }
  return false;
}

int64_t channel_multiple(Layout layout) { return info_of(layout).multiple; }

ChannelOrder channel_order(Layout layout, int64_t channels) {
  const LayoutInfo& info = info_of(layout);
  const int64_t multiples = channels / info.multiple + (channels % info.multiple != 0);
  return info.together ? ChannelOrder{1, multiples * info.multiple} : ChannelOrder{multiples, info.multiple};
}

size_t layout_bytes(Layout layout, DType dtype, const Dims& dims) {
  if (layout == Layout::kOpaque) return 0;
  uint64_t count = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return SIZE_MAX;
    if (dims[i] == 0) return 0;
    auto extent = static_cast<uint64_t>(dims[i]);
    const auto multiple = static_cast<uint64_t>(dims.rank() >= 3 && i == 1 ? channel_multiple(layout) : 1);
    extent = (extent + multiple - 1) / multiple * multiple;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  overflow |= __builtin_mul_overflow(count, static_cast<uint64_t>(dtype_bits(dtype)), &count);
  return overflow ? SIZE_MAX : static_cast<size_t>(count / 8 + (count % 8 != 0));
}

Dims layout_strides(Layout layout, const Dims& dims) {
  if (layout == Layout::kLinear || (layout == Layout::kChannelsLast && dims.rank() < 3)) return dims.strides();
  if (layout != Layout::kChannelsLast) return {};
  Dims strides = Dims::filled(dims.rank(), 1);  // dimension 1 stays 1
  int64_t step = dims[1];
  for (size_t i = dims.size() - 1; i >= 2; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strides;
}

}  // namespace wootz
