// Family reformat between layouts whose channels are in groups: an application may want its inputs and outputs in them.
#include <algorithm>

#include "backends/cuda/generate/copies.h"
#include "backends/cuda/generate/kernel_source.h"

namespace wootz::cuda {

Status add_regrouped(const Problem& p, const Dims& dims, bool arguments, std::vector<Launch>* launches) {
  constexpr int kThreads = 256;
  const DType type = p.inputs[0].dtype;
  const char* const bits = bits_type(dtype_bits(type));
  if (bits == nullptr || type != p.outputs[0].dtype || dims.rank() < 3)
    return unsupported("reformat of {} {} from {} to {} {}", dtype_name(type), dims.to_string(),
                       layout_name(p.inputs[0].layout), dtype_name(p.outputs[0].dtype),
                       layout_name(p.outputs[0].layout));
  if (dims.volume() == 0) return Status();
  const auto bytes = static_cast<size_t>(dtype_bits(type) / 8);
  const size_t from = layout_bytes(p.inputs[0].layout, type, dims), to = layout_bytes(p.outputs[0].layout, type, dims);
  const auto count = static_cast<int64_t>(to / bytes);
  WOOTZ_RETURN_IF_ERROR(check_count(static_cast<int64_t>(std::max(from, to) / bytes)));
  const ChannelOrder x = channel_order(p.inputs[0].layout, dims[1]), y = channel_order(p.outputs[0].layout, dims[1]);
  KernelSource source("move/regroup.cuh", arguments);
  source.fixed("kThreads", kThreads);
  source.type("T", bits);
  source.type("Index", std::max(from, to) / bytes < (size_t{1} << 31) ? "int" : "s64");
  source.operand("T* __restrict__", "y", {true, 0});
  source.operand("const T*", "x", {false, 0});
  source.number("count", count);
  source.number("channels", dims[1]);
  source.number("points", volume_of(dims, 2, dims.size()));
  source.number("x_groups", x.groups);
  source.number("x_lanes", x.lanes);
  source.number("y_groups", y.groups);
  source.number("y_lanes", y.lanes);
  return source.finish(kThreads, blocks_for(count, kThreads), launches);
}

}  // namespace wootz::cuda
