#include "backend/problem.h"

#include <array>

namespace wootz {
namespace {

constexpr const char* kLayouts[] = {"linear", "channels_last", "blocked8", "blocked16", "opaque"};

int64_t channel_block(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1; }

}  // namespace

const char* layout_name(Layout layout) {
  const auto index = static_cast<size_t>(layout);
  return index < std::size(kLayouts) ? kLayouts[index] : "invalid";
}

bool layout_from_name(std::string_view name, Layout* layout) {
  for (size_t i = 0; i < std::size(kLayouts); ++i)
    if (name == kLayouts[i]) {
      *layout = static_cast<Layout>(i);
      return true;
    }
  return false;
}

size_t layout_bytes(Layout layout, DType dtype, const Dims& dims) {
  if (layout == Layout::kOpaque) return 0;
  uint64_t count = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return SIZE_MAX;
    if (dims[i] == 0) return 0;
    auto extent = static_cast<uint64_t>(dims[i]);
    const auto block = static_cast<uint64_t>(dims.rank() >= 3 && i == 1 ? channel_block(layout) : 1);
    extent = (extent + block - 1) / block * block;
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
