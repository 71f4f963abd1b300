// Ops that cut images or put them together: CenterCropPad, Col2Im, MaxRoiPool. One thread a result.
#include <algorithm>

#include "backends/cuda/generate/families.h"
#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {

// An odd difference leaves one more element cut or filled at the end.
Status generate_center_crop_pad(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 1));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  if (x.rank() != y.rank() || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("{} about the center of {}", y.to_string(), x.to_string());
  std::vector<int64_t> pads(2 * x.size());
  for (size_t a = 0; a < x.size(); ++a) {
    pads[a] = (y[a] - x[a]) / 2;
    pads[a + x.size()] = y[a] - x[a] - pads[a];
  }
  Problem pad = p;
  pad.inputs.resize(1);  // sizes are in the extents
  pad.num_main = 1;
  pad.params = MoveParams{.kind = MoveKind::kPad, .pads = std::move(pads)};
  return generate_move(pad, args, launches);
}

// A pixel sums what the blocks over it have there, in the order in which a block is laid out.
Status generate_col2im(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 3));
  const Dims &x = args.inputs[0], &y = args.outputs[0];
  const DType type = p.inputs[0].dtype;
  const Ints* const known = known_operand(p, 2);
  const Ints block = known == nullptr ? Ints() : *known;
  const size_t rank = block.size();
  if (rank == 0) return unsupported("blocks whose extents only running tells");
  const auto& op = *op_params<Col2ImOpParams>(p);
  const auto ints = [](const Ints& given, size_t count, int64_t otherwise) {
    return given.empty() ? Ints(count, otherwise) : given;
  };
  const Ints strides = ints(op.strides, rank, 1), dilations = ints(op.dilations, rank, 1),
             pads = ints(op.pads, 2 * rank, 0);
  const auto mismatch = [&] { return invalid_argument("blocks {} of image {}", x.to_string(), y.to_string()); };
  if (x.rank() != 3 || y.size() != rank + 2 || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || p.outputs[0].dtype != type || type == DType::kBool)
    return mismatch();
  int64_t volume = 1, positions = 1;
  std::vector<int64_t> counts;
  constexpr int64_t kFar = int64_t{1} << 30;
  for (size_t a = 0; a < rank; ++a) {
    for (const int64_t v : {block[a], strides[a], dilations[a]})
      if (v < 1 || v > kFar) return mismatch();
    if (pads[a] < 0 || pads[a + rank] < 0 || pads[a] > kFar || pads[a + rank] > kFar) return mismatch();
    const int64_t room = y[a + 2] + pads[a] + pads[a + rank] - dilations[a] * (block[a] - 1) - 1;
    if (room < 0) return mismatch();
    counts.push_back(room / strides[a] + 1);
    volume *= block[a];
    positions *= counts[a];
    if (volume > kFar || positions > kFar) return mismatch();
  }
  if (x[0] != y[0] || x[1] != y[1] * volume || x[2] != positions) return mismatch();
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/col2im.cuh", p, args, y.volume()));
  source.type("A", !is_float(type) ? "u64" : type == DType::kF64 ? "double" : "float");
  source.fixed("kAxes", static_cast<int64_t>(rank));
  source.number("channel", volume * positions);
  source.number("positions", positions);
  source.list("result", {y.begin() + 2, y.end()});
  source.list("begin", {pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank)});
  source.list("block", block);
  source.list("blocks", counts);
  source.list("stride", strides);
  source.list("dilation", dilations);
  return finish_each(y.volume(), &source, launches);
}

Status generate_max_roi_pool(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  WOOTZ_RETURN_IF_ERROR(check_operands(p, 2));
  const Dims &x = args.inputs[0], &rois = args.inputs[1], &y = args.outputs[0];
  if (x.rank() != 4 || y.rank() != 4 || rois.rank() != 2 || rois[1] != 5 || y[0] != rois[0] || y[1] != x[1] ||
      !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype) || p.outputs[0].dtype != p.inputs[0].dtype)
    return invalid_argument("regions {} of {}", rois.to_string(), x.to_string());
  if (y.volume() == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/max_roi_pool.cuh", p, args, y.volume()));
  source.fixed_real("kScale", op_params<MaxRoiPoolOpParams>(p)->spatial_scale);
  source.number("rows", y[2]);
  source.number("columns", y[3]);
  source.number("channels", x[1]);
  source.number("images", x[0]);
  source.number("height", x[2]);
  source.number("width", x[3]);
  return finish_each(y.volume(), &source, launches);
}

}  // namespace wootz::cuda
