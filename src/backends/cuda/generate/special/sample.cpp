// Ops that read images between their elements: GridSample, AffineGrid, RoiAlign. Coordinates are in double, as in the
// reference: a point near the border of two elements goes to the same one.
#include <algorithm>

#include "backends/cuda/generate/special/special.h"

namespace wootz::cuda {
namespace {

constexpr int kMostSamples = 1 << 16;  // of one bin of RoiAlign

}  // namespace

Status generate_grid_sample(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 2 || p.outputs.size() != 1)
    return invalid_argument("GridSample of {} operands", p.inputs.size());
  const Dims &x = args.inputs[0], &grid = args.inputs[1], &y = args.outputs[0];
  const auto& op = *op_params<GridSampleOpParams>(p);
  const bool fits = x.rank() >= 3 && x.rank() <= 5 && y.rank() == x.rank() && grid.rank() == x.rank() &&
                    is_float(p.inputs[1].dtype) && p.outputs[0].dtype == p.inputs[0].dtype;
  if (!fits || grid.back() != x.rank() - 2 || y[0] != x[0] || y[1] != x[1] || grid[0] != x[0])
    return unsupported("GridSample of {} at {}", x.to_string(), grid.to_string());
  for (size_t a = 2; a < y.size(); ++a)
    if (y[a] != grid[a - 1]) return invalid_argument("GridSample at {} gives {}", grid.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  if (x.volume() == 0) return invalid_argument("GridSample of the empty {}", x.to_string());
  if (!is_float(p.inputs[0].dtype)) return unsupported("GridSample of {}", dtype_name(p.inputs[0].dtype));
  const Dims strides = x.strides();
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/grid_sample.cuh", p, args, y.volume()));
  source.fixed("kMode", static_cast<int>(op.mode));
  source.fixed("kPadding", static_cast<int>(op.padding_mode));
  source.fixed("kAlign", op.align_corners);
  source.fixed("kAxes", x.rank() - 2);
  source.number("points", volume_of(y, 2, y.size()));
  source.number("channels", x[1]);
  source.number("plane", strides[1]);
  source.list("extent", {x.begin() + 2, x.end()});
  source.list("stride", {strides.begin() + 2, strides.end()});
  return finish_each(y.volume(), &source, launches);
}

Status generate_affine_grid(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  const Dims &theta = args.inputs[0], &y = args.outputs[0];
  if (p.outputs.size() != 1 || theta.rank() != 3 || theta[1] < 2 || theta[1] > 3 || theta[2] != theta[1] + 1 ||
      y.rank() != theta[1] + 2 || y[0] != theta[0] || y.back() != theta[1] || !is_float(p.inputs[0].dtype) ||
      p.inputs[0].dtype != p.outputs[0].dtype)
    return unsupported("AffineGrid of {} to {}", theta.to_string(), y.to_string());
  if (y.volume() == 0) return Status();
  std::vector<int64_t> extents(y.begin() + 1, y.end() - 1);
  std::reverse(extents.begin(), extents.end());
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/affine_grid.cuh", p, args, y.volume()));
  source.fixed("kAxes", theta[1]);
  source.fixed("kAlign", op_params<AffineGridOpParams>(p)->align_corners);
  source.list("extent", extents);
  return finish_each(y.volume(), &source, launches);
}

// A region of an image that is not there, or with more samples than are taken, gives no number.
Status generate_roi_align(const Problem& p, const BindArgs& args, std::vector<Launch>* launches) {
  if (p.inputs.size() != 3 || p.outputs.size() != 1)
    return invalid_argument("RoiAlign of {} operands", p.inputs.size());
  const Dims &x = args.inputs[0], &rois = args.inputs[1], &y = args.outputs[0];
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || y.rank() != 4 || y[0] != rois[0] || y[1] != x[1] ||
      args.inputs[2].volume() != rois[0] || !is_float(p.inputs[0].dtype) || !is_float(p.inputs[1].dtype) ||
      !is_integer(p.inputs[2].dtype) || p.outputs[0].dtype != p.inputs[0].dtype)
    return unsupported("RoiAlign of {} with {}", x.to_string(), rois.to_string());
  if (y.volume() == 0) return Status();
  if (x.volume() == 0) return invalid_argument("RoiAlign of the empty {}", x.to_string());
  const auto& op = *op_params<RoiAlignOpParams>(p);
  const int64_t ratio = op.sampling_ratio;
  if (ratio < 0 || ratio * ratio > kMostSamples) return unsupported("{} samples along a bin", ratio);
  WOOTZ_ASSIGN_OR_RETURN(KernelSource source, source_of_each("special/roi_align.cuh", p, args, y.volume()));
  source.fixed("kMost", kMostSamples);
  source.fixed("kMax", op.mode == RoiMode::kMax);
  source.fixed("kRatio", ratio);
  source.fixed("kAtLeastOne", !op.half_pixel);
  source.fixed_real("kScale", op.spatial_scale);
  source.fixed_real("kShift", op.half_pixel ? 0.5 : 0.0);
  source.number("rows", y[2]);
  source.number("columns", y[3]);
  source.number("channels", x[1]);
  source.number("images", x[0]);
  source.number("height", x[2]);
  source.number("width", x[3]);
  return finish_each(y.volume(), &source, launches);
}

}  // namespace wootz::cuda
