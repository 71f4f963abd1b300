// Extents and layouts: which element of an operand belongs to which element of the output, in few loops.
#include <algorithm>

#include "backends/cpu/pointwise/engine.h"

namespace wootz::cpu {
namespace {

constexpr int64_t kLongRow = 256;             // elements; from here on a row is worth its own blocks
constexpr size_t kTargetScratch = 24 * 1024;  // of registers: stays in a 32 KiB first-level cache with the operands
constexpr int64_t kMaxBlock = 1024, kMinBlock = 16;

int block_of(Layout layout) { return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 0; }

// The loop nest over the output as it lies in memory. A blocked channel axis appears twice: blocks and lanes.
struct Axis {
  int logical;  // dimension of the output
  int64_t extent;
  int64_t step;  // of the logical index for one step of this axis
};
std::vector<Axis> axes_of(const PwView& out) {
  std::vector<Axis> axes;
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
Result<std::vector<int64_t>> strides_of(const PwView& view, const PwView& out, const std::vector<Axis>& axes) {
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

Result<BoundPointwise> BoundPointwise::bind(std::shared_ptr<const PointwiseCode> code, std::span<const PwView> inputs,
                                            const PwView& output, int tile) {
  BoundPointwise b;
  if (output.layout == Layout::kOpaque) return unsupported("pointwise: packed outputs");
  if (output.layout != Layout::kLinear && output.dims.rank() < 3)
    return invalid_argument("pointwise: {} cannot have layout {}", output.dims.to_string(), layout_name(output.layout));
  std::vector<Axis> axes = axes_of(output);
  std::vector<std::vector<int64_t>> strides;
  std::vector<int64_t> dense(axes.size());
  b.size_ = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    dense[a] = b.size_;
    b.size_ *= axes[a].extent;
  }
  if (b.size_ == 0) {
    b.code_ = std::move(code);
    return b;
  }
  for (const PointwiseCode::Operand& operand : code->operands) {
    const int k = operand.input;
    Input input;
    if (k == tile) {
      input.tile = true;
      strides.push_back(dense);
    } else {
      if (static_cast<size_t>(k) >= inputs.size()) return invalid_argument("pointwise: operand {} is missing", k);
      const PwView& view = inputs[static_cast<size_t>(k)];
      if (view.dtype != operand.dtype)
        return invalid_argument("pointwise: operand {} is {}, the expression reads {}", k, dtype_name(view.dtype),
                                dtype_name(operand.dtype));
      WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> s, strides_of(view, output, axes));
      strides.push_back(std::move(s));
    }
    b.inputs_.push_back(input);
  }

  // Drop axes of extent 1 and merge neighbours that every operand walks as one.
  std::vector<size_t> kept;
  for (size_t a = 0; a < axes.size(); ++a)
    if (axes[a].extent != 1) kept.push_back(a);
  int rank = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    const size_t a = kept[i];
    bool merge = rank > 0;
    if (merge) {
      const auto last = static_cast<size_t>(rank - 1);
      for (size_t k = 0; k < strides.size(); ++k)
        merge = merge && b.inputs_[k].strides[last] == strides[k][a] * axes[a].extent;
    }
    const auto at = static_cast<size_t>(merge ? rank - 1 : rank++);
    b.dims_[at] = merge ? b.dims_[at] * axes[a].extent : axes[a].extent;
    for (size_t k = 0; k < strides.size(); ++k) b.inputs_[k].strides[at] = strides[k][a];
  }
  if (rank == 0) b.dims_[static_cast<size_t>(rank++)] = 1;
  b.rank_ = rank;
  const int64_t row = b.dims_[static_cast<size_t>(rank - 1)];
  b.long_rows_ = row >= kLongRow;

  for (Input& input : b.inputs_) {
    int64_t step = 1;
    bool full = true, scalar = true;
    int64_t period = 0;  // set where the contiguous inner part ends
    bool periodic = true;
    for (int r = rank - 1; r >= 0; --r) {
      const int64_t s = input.strides[static_cast<size_t>(r)], extent = b.dims_[static_cast<size_t>(r)];
      full = full && (s == step || extent == 1);
      scalar = scalar && (s == 0 || extent == 1);
      if (period == 0 && s != step) period = step;
      if (period != 0) periodic = periodic && s == 0;
      step *= extent;
    }
    input.access = input.tile || full          ? Access::kFull
                   : scalar                    ? Access::kScalar
                   : periodic && !b.long_rows_ ? Access::kPeriodic
                                               : Access::kStrided;
    input.period = period;
  }

  // Scratch memory: registers, then what is gathered. Periodic operands hold one period more.
  size_t per_element = 0;
  for (int bytes : code->register_bytes) per_element += static_cast<size_t>(bytes);
  for (size_t k = 0; k < b.inputs_.size(); ++k)
    if (b.inputs_[k].access != Access::kFull)
      per_element += static_cast<size_t>(code->operands[k].bytes) * (b.inputs_[k].access == Access::kPeriodic ? 2 : 1);
  b.block_ = kMaxBlock;
  if (per_element > 0)
    b.block_ = std::clamp<int64_t>(static_cast<int64_t>(kTargetScratch / per_element) / 16 * 16, kMinBlock, kMaxBlock);
  size_t offset = 0;
  const auto reserve = [&](int bytes, int times) {
    const size_t at = offset;
    offset += round_up(static_cast<size_t>(bytes) * static_cast<size_t>(times) * static_cast<size_t>(b.block_), 64);
    return at;
  };
  for (int bytes : code->register_bytes) b.registers_.push_back(reserve(bytes, 1));
  for (size_t k = 0; k < b.inputs_.size(); ++k) {
    Input& input = b.inputs_[k];
    if (input.access == Access::kPeriodic && input.period > b.block_) input.access = Access::kStrided;
    if (input.access != Access::kFull)
      input.buffer = reserve(code->operands[k].bytes, input.access == Access::kPeriodic ? 2 : 1);
  }
  if (offset > kScratchBytes) return unsupported("pointwise: the expression needs {} bytes of registers", offset);

  const double grain = 10000.0 / code->cost_ns;
  b.grain_ = std::max<int64_t>(1, static_cast<int64_t>(grain));
  const int block = block_of(output.layout);
  if (block > 0 && output.dims[1] % block != 0) {
    Padding& p = b.padding_;
    p.block = block;
    p.used = static_cast<int>(output.dims[1] % block);
    p.outer = output.dims[0];
    p.inner = 1;
    for (int d = 2; d < output.dims.rank(); ++d) p.inner *= output.dims[static_cast<size_t>(d)];
    const int64_t blocks = (output.dims[1] + block - 1) / block;
    p.stride = blocks * p.inner * block;
    p.first = (blocks - 1) * p.inner * block;
  }
  b.code_ = std::move(code);
  return b;
}

}  // namespace wootz::cpu
