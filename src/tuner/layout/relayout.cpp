#include "tuner/layout/relayout.h"

#include "backend/relayout.h"

namespace wootz {

Result<HostTensor> to_layout(const HostTensor& source, Layout layout) {
  const Dims& dims = source.dims();
  if (layout == Layout::kLinear || (dims.rank() < 3 && layout != Layout::kOpaque)) return source;
  Dims stored = dims;
  if (dims.rank() >= 3) {
    const ChannelOrder order = channel_order(layout, dims[1]);
    stored[1] = order.groups * order.lanes;
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor out, HostTensor::allocate(source.dtype(), stored));
  WOOTZ_RETURN_IF_ERROR(
      move_to_layout(source.data(), Layout::kLinear, out.mutable_data(), layout, source.dtype(), dims));
  return out;
}

Result<HostTensor> from_layout(const void* data, Layout layout, DType dtype, const Dims& dims) {
  WOOTZ_ASSIGN_OR_RETURN(HostTensor out, HostTensor::allocate(dtype, dims));
  WOOTZ_RETURN_IF_ERROR(move_to_layout(data, layout, out.mutable_data(), Layout::kLinear, dtype, dims));
  return out;
}

}  // namespace wootz
