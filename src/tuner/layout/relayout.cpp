#include "tuner/layout/relayout.h"

#include <algorithm>

namespace wootz {
namespace {

int64_t channel_block(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1; }
bool one_order(Layout layout, const Dims& dims) {
  return layout == Layout::kLinear || (dims.rank() < 3 && layout != Layout::kOpaque);
}

Status check(Layout layout, DType dtype) {
  if (layout == Layout::kOpaque) return unsupported("a tensor packed by a kernel has no order of its own");
  if (dtype_bits(dtype) < 8)
    return unsupported("a packed {} tensor in layout {}", dtype_name(dtype), layout_name(layout));
  return {};
}

// Calls copy(row-major index, index in layout) for every element.
template <typename Copy>
void for_each(Layout layout, const Dims& dims, Copy copy) {
  const int64_t block = channel_block(layout);
  const int64_t channels = dims[1], blocks = (channels + block - 1) / block;
  int64_t inner = 1;
  for (size_t i = 2; i < dims.size(); ++i) inner *= dims[i];
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t x = 0; x < inner; ++x)
        copy((n * channels + c) * inner + x, layout == Layout::kChannelsLast
                                                 ? (n * inner + x) * channels + c
                                                 : ((n * blocks + c / block) * inner + x) * block + c % block);
}

}  // namespace

Result<HostTensor> to_layout(const HostTensor& source, Layout layout) {
  const Dims& dims = source.dims();
  if (one_order(layout, dims)) return source;
  WOOTZ_RETURN_IF_ERROR(check(layout, source.dtype()));
  const int64_t block = channel_block(layout);
  Dims stored = dims;
  stored[1] = (dims[1] + block - 1) / block * block;
  WOOTZ_ASSIGN_OR_RETURN(HostTensor out, HostTensor::allocate(source.dtype(), stored));
  const size_t size = dtype_bytes(source.dtype(), 1);
  const auto* from = static_cast<const std::byte*>(source.data());
  auto* to = static_cast<std::byte*>(out.mutable_data());
  for_each(layout, dims, [&](int64_t plain, int64_t placed) {
    std::copy_n(from + static_cast<size_t>(plain) * size, size, to + static_cast<size_t>(placed) * size);
  });
  return out;
}

Result<HostTensor> from_layout(const void* data, Layout layout, DType dtype, const Dims& dims) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor out, HostTensor::allocate(dtype, dims));
  const auto* from = static_cast<const std::byte*>(data);
  auto* to = static_cast<std::byte*>(out.mutable_data());
  if (one_order(layout, dims)) {
    std::copy_n(from, out.bytes(), to);
    return out;
  }
  WOOTZ_RETURN_IF_ERROR(check(layout, dtype));
  const size_t size = dtype_bytes(dtype, 1);
  for_each(layout, dims, [&](int64_t plain, int64_t placed) {
    std::copy_n(from + static_cast<size_t>(placed) * size, size, to + static_cast<size_t>(plain) * size);
  });
  return out;
}

}  // namespace wootz
