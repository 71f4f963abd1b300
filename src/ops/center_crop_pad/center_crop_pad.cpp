// CenterCropPad: every listed axis cut or filled with zeros around its center to a size (input 1).
#include <algorithm>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<std::vector<int64_t>> axes_of(const Node& node, int rank) {
  if (node.has_attr("axes")) return normalize_axes(node.attr_ints("axes"), rank);
  std::vector<int64_t> axes;
  for (int a = 0; a < rank; ++a) axes.push_back(a);
  return axes;
}

Status infer_center_crop_pad(InferContext& ctx) {
  const Result<std::vector<int64_t>> axes = axes_of(ctx.node(), ctx.rank(0));
  if (!axes.ok()) return ctx.fail("{} (input is {})", axes.status().message(), shape_to_string(ctx.shape(0)));
  if (!is_integer(ctx.dtype(1)) || ctx.rank(1) != 1)
    return ctx.fail("the shape is {}{}, it must be a list of integers", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  const std::optional<std::vector<Dim>> sizes = ctx.dims_value(1);
  const Dim count = ctx.shape(1)[0];
  if (count.is_const() && count.value() != static_cast<int64_t>(axes->size()))
    return ctx.fail("{} sizes for {} axes", count.value(), axes->size());
  Shape shape = ctx.shape(0);
  for (size_t i = 0; i < axes->size(); ++i)
    shape[static_cast<size_t>((*axes)[i])] =
        sizes && i < sizes->size() ? (*sizes)[i] : ctx.data_dependent(0, static_cast<int>((*axes)[i]));
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status center_crop_pad_reference(EvalContext& ctx) {
  const Dims &from = ctx.in(0).dims(), &to = ctx.outputs[0].dims();
  const Dims from_strides = from.strides(), to_strides = to.strides();
  StridedCopy walk;
  for (size_t a = 0; a < from.size(); ++a) {
    // An odd difference leaves one more element cut or filled at the end.
    walk.from_offset += std::max<int64_t>(0, from[a] - to[a]) / 2 * from_strides[a];
    walk.to_offset += std::max<int64_t>(0, to[a] - from[a]) / 2 * to_strides[a];
    walk.axis(std::min(from[a], to[a]), from_strides[a], to_strides[a]);
  }
  strided_copy(ctx.in(0), ctx.outputs[0], walk);
  return Status();
}

const OpDef kCenterCropPad{.name = "CenterCropPad",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .attributes = {{"axes", AttrKind::kInts}},
                           .infer = infer_center_crop_pad,
                           .reference = center_crop_pad_reference,
                           .traits = {}};
const OpDef* const kCenterCropPadDefs[] = {&kCenterCropPad};

}  // namespace

std::span<const OpDef* const> center_crop_pad_ops() { return kCenterCropPadDefs; }

}  // namespace wootz::ops
