// Extents and layouts: which element of an operand belongs to which element of the output, in few loops.
#include <algorithm>

#include "backends/cpu/pointwise/engine.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kLongRow = 256;             // elements; from here on a row is worth its own blocks
constexpr size_t kTargetScratch = 24 * 1024;  // of registers: stays in a 32 KiB first-level cache with the operands
constexpr int64_t kMaxBlock = 1024, kMinBlock = 16;

int block_of(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 0; }

std::vector<PwAxis> axes_of(const PwView& out) {
  std::vector<PwAxis> axes;
  const int rank = out.dims.rank();
  const auto plain = [&](int d) { axes.push_back({d, out.dims[static_cast<size_t>(d)], 1}); };
  const int block = block_of(out.layout);
  if (out.layout == Layout::kLinear) {
    for (int d = 0; d < rank; ++d) plain(d);
    return axes;
  }
  plain(0);
  if (block > 0) axes.push_back({1, (out.dims[1] + block - 1) / block, block});
  for (int d = 2; d < rank; ++d) plain(d);
  if (block > 0)
    axes.push_back({1, block, 1});
  else
    plain(1);
  return axes;
}

// Elements between neighbours along each axis; 0 where the operand has one. `right` = ranks aligned at the last
// dimension.
Result<std::vector<int64_t>> strides_of(const PwView& view, const PwView& out, const std::vector<PwAxis>& axes) {
  const int rank = view.dims.rank(), out_rank = out.dims.rank(), block = block_of(view.layout);
  const auto fail = [&](const char* why) {
    return unsupported("pointwise: operand {} in layout {} over {} in layout {}: {}", view.dims.to_string(),
                       layout_name(view.layout), out.dims.to_string(), layout_name(out.layout), why);
  };
  if (rank > out_rank) return fail("the operand has more dimensions");
  for (int d = 0; d < rank; ++d) {
    const int64_t extent = view.dims[static_cast<size_t>(d)];
    if (extent != 1 && extent != out.dims[static_cast<size_t>(d + out_rank - rank)]) return fail("does not broadcast");
  }
  if (view.layout != Layout::kLinear && rank != out_rank) return fail("different ranks");
  std::vector<int64_t> strides(axes.size(), 0);
  Dims plain;
  if (block > 0) {
    if (view.layout != out.layout) return fail("layouts differ");
    // [N, C / block, spatial..., block], with its own extents.
    plain = Dims::filled(rank, 0);
    int64_t step = block;
    for (int d = rank - 1; d >= 2; --d) {
      plain[static_cast<size_t>(d)] = step;
      step *= view.dims[static_cast<size_t>(d)];
    }
    plain[0] = step * ((view.dims[1] + block - 1) / block);
    if (view.dims[1] == 1 && out.dims[1] != 1) return fail("one channel over many in a blocked layout");
  } else {
    plain = layout_strides(view.layout, view.dims);
  }
  const int out_block = block_of(out.layout);
  for (size_t a = 0; a < axes.size(); ++a) {
    const int d = axes[a].logical - (out_rank - rank);
    if (d < 0 || (view.dims[static_cast<size_t>(d)] == 1 && axes[a].extent * axes[a].step != 1 && block == 0)) continue;
    const bool channel = out_block > 0 && axes[a].logical == 1;
    if (channel && block > 0) {
      const int64_t spatial = plain[0] / ((view.dims[1] + block - 1) / block);
      strides[a] = axes[a].step == 1 ? 1 : spatial;
    } else if (channel) {
      if (view.dims[static_cast<size_t>(d)] % out_block != 0) return fail("channels do not fill their last block");
      strides[a] = plain[static_cast<size_t>(d)] * axes[a].step;
    } else {
      strides[a] = view.dims[static_cast<size_t>(d)] == 1 ? 0 : plain[static_cast<size_t>(d)];
    }
  }
  return strides;
}

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

Status check_channels_that_vary(const Problem& p) {
  const TensorDesc& out = p.outputs[0];
  if (out.layout != Layout::kBlocked8 && out.layout != Layout::kBlocked16) return Status();
  if (out.dims[1] == out.max_dims[1]) return Status();
  for (auto k = static_cast<size_t>(p.num_main); k < p.inputs.size(); ++k) {
    const TensorDesc& in = p.inputs[k];
    const int channel = 1 - (out.dims.rank() - in.dims.rank());
    if (in.layout == out.layout || channel < 0 || in.max_dims[static_cast<size_t>(channel)] == 1) continue;
    return unsupported("input {} has a number of channels that varies, and is not in layout {}", k,
                       layout_name(out.layout));
  }
  return Status();
}

Status BoundPointwise::read_operands(const PointwiseCode& code, std::span<const PwView> inputs, const PwView& output,
                                     int tile, const std::vector<PwAxis>& axes,
                                     std::vector<std::vector<int64_t>>* strides) {
  std::vector<int64_t> dense(axes.size());
  int64_t step = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    dense[a] = step;
    step *= axes[a].extent;
  }
  for (const PointwiseCode::Operand& operand : code.operands) {
    const int k = operand.input;
    Input input;
    if (k == tile) {
      input.tile = true;
      strides->push_back(dense);
    } else {
      if (static_cast<size_t>(k) >= inputs.size()) return invalid_argument("pointwise: operand {} is missing", k);
      const PwView& view = inputs[static_cast<size_t>(k)];
      if (view.dtype != operand.dtype)
        return invalid_argument("pointwise: operand {} is {}, the expression reads {}", k, dtype_name(view.dtype),
                                dtype_name(operand.dtype));
      WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_of(view, output, axes));
      strides->push_back(std::move(s));
    }
    inputs_.push_back(input);
  }
  return Status();
}

// Drops axes of extent 1 and merges neighbours that every operand walks as one.
void BoundPointwise::merge_axes(const std::vector<PwAxis>& axes, const std::vector<std::vector<int64_t>>& strides) {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].extent == 1) continue;
    bool merge = rank_ > 0;
    if (merge) {
      const auto last = static_cast<size_t>(rank_ - 1);
      for (size_t k = 0; k < strides.size(); ++k)
        merge = merge && inputs_[k].strides[last] == strides[k][a] * axes[a].extent;
    }
    const auto at = static_cast<size_t>(merge ? rank_ - 1 : rank_++);
    dims_[at] = merge ? dims_[at] * axes[a].extent : axes[a].extent;
    for (size_t k = 0; k < strides.size(); ++k) inputs_[k].strides[at] = strides[k][a];
  }
  if (rank_ == 0) dims_[static_cast<size_t>(rank_++)] = 1;
  long_rows_ = dims_[static_cast<size_t>(rank_ - 1)] >= kLongRow;
}

void BoundPointwise::choose_accesses() {
  for (Input& input : inputs_) {
    int64_t step = 1;
    bool full = true, scalar = true;
    int64_t period = 0;  // set where the contiguous inner part ends
    bool periodic = true;
    for (int r = rank_ - 1; r >= 0; --r) {
      const int64_t s = input.strides[static_cast<size_t>(r)], extent = dims_[static_cast<size_t>(r)];
      full = full && (s == step || extent == 1);
      scalar = scalar && (s == 0 || extent == 1);
      if (period == 0 && s != step) period = step;
      if (period != 0) periodic = periodic && s == 0;
      step *= extent;
    }
    input.access = input.tile || full        ? Access::kFull
                   : scalar                  ? Access::kScalar
                   : periodic && !long_rows_ ? Access::kPeriodic
                                             : Access::kStrided;
    input.period = period;
  }
}

// Scratch memory: registers, then what is gathered. Periodic operands hold one period more.
Status BoundPointwise::lay_out_scratch(const PointwiseCode& code) {
  size_t per_element = 0;
  for (int bytes : code.register_bytes) per_element += static_cast<size_t>(bytes);
  for (size_t k = 0; k < inputs_.size(); ++k)
    if (inputs_[k].access != Access::kFull)
      per_element += static_cast<size_t>(code.operands[k].bytes) * (inputs_[k].access == Access::kPeriodic ? 2 : 1);
  block_ = kMaxBlock;
  if (per_element > 0)
    block_ = std::clamp<int64_t>(static_cast<int64_t>(kTargetScratch / per_element) / 16 * 16, kMinBlock, kMaxBlock);
  size_t offset = 0;
  const auto reserve = [&](int bytes, int times) {
    const size_t at = offset;
    offset += round_up(static_cast<size_t>(bytes) * static_cast<size_t>(times) * static_cast<size_t>(block_), 64);
    return at;
  };
  for (int bytes : code.register_bytes) registers_.push_back(reserve(bytes, 1));
  for (size_t k = 0; k < inputs_.size(); ++k) {
    Input& input = inputs_[k];
    if (input.access == Access::kPeriodic && input.period > block_) input.access = Access::kStrided;
    if (input.access != Access::kFull)
      input.buffer = reserve(code.operands[k].bytes, input.access == Access::kPeriodic ? 2 : 1);
  }
  if (offset > kScratchBytes) return unsupported("pointwise: the expression needs {} bytes of registers", offset);
  return Status();
}

// Of a blocked layout whose last block of channels is not full.
void BoundPointwise::find_padding(const PwView& output) {
  const int block = block_of(output.layout);
  if (block <= 0 || output.dims[1] % block == 0) return;
  padding_.block = block;
  padding_.used = static_cast<int>(output.dims[1] % block);
  padding_.outer = output.dims[0];
  padding_.inner = 1;
  for (int d = 2; d < output.dims.rank(); ++d) padding_.inner *= output.dims[static_cast<size_t>(d)];
  const int64_t blocks = (output.dims[1] + block - 1) / block;
  padding_.stride = blocks * padding_.inner * block;
  padding_.first = (blocks - 1) * padding_.inner * block;
}

Result<BoundPointwise> BoundPointwise::bind(std::shared_ptr<const PointwiseCode> code, std::span<const PwView> inputs,
                                            const PwView& output, int tile) {
  if (output.layout == Layout::kOpaque) return unsupported("pointwise: packed outputs");
  if (output.layout != Layout::kLinear && output.dims.rank() < 3)
    return invalid_argument("pointwise: {} cannot have layout {}", output.dims.to_string(), layout_name(output.layout));
  BoundPointwise b;
  const std::vector<PwAxis> axes = axes_of(output);
  b.size_ = 1;
  for (const PwAxis& axis : axes) b.size_ *= axis.extent;
  if (b.size_ > 0) {
    std::vector<std::vector<int64_t>> strides;
    WOOTZ_RETURN_IF_ERROR(b.read_operands(*code, inputs, output, tile, axes, &strides));
    b.merge_axes(axes, strides);
    b.choose_accesses();
    WOOTZ_RETURN_IF_ERROR(b.lay_out_scratch(*code));
    b.grain_ = std::max<int64_t>(1, static_cast<int64_t>(10000.0 / code->cost_ns));
    b.find_padding(output);
    const auto is_full = [](const Input& i) { return i.access == Access::kFull; };
    b.one_step_ = code->steps.size() == 1 && code->constants.empty() && std::ranges::all_of(b.inputs_, is_full);
    b.of_tile_ = b.one_step_ && b.inputs_.size() == 1 && b.inputs_[0].tile && code->steps[0].b.kind == PwSlot::kNone;
  }
  b.code_ = std::move(code);
  return b;
}

}  // namespace wootz::cpu
