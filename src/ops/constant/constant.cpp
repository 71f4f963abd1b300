// ConstantOfShape: one value over a shape that is input 0. (Constants themselves are values of the graph, not nodes.)
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_constant_of_shape(InferContext& ctx) {
  if (!is_integer(ctx.dtype(0)) || ctx.rank(0) > 1)
    return ctx.fail("the shape is {}{}, it must be a list of integers", dtype_name(ctx.dtype(0)),
                    shape_to_string(ctx.shape(0)));
  const HostTensor* value = ctx.node().attr_tensor("value");
  if (value != nullptr && value->volume() != 1) return ctx.fail("the value has shape {}", value->dims().to_string());
  const DType dtype = value != nullptr ? value->dtype() : DType::kF32;
  Shape shape;
  if (const std::optional<std::vector<Dim>> wanted = ctx.dims_value(0)) {
    shape = *wanted;
  } else {
    if (ctx.rank(0) != 1 || !ctx.shape(0)[0].is_const())
      return ctx.fail("the rank of the result must be known while building");
    const int64_t rank = ctx.shape(0)[0].value();
    if (rank > limits::kMaxRank)
      return ctx.fail("the result would have rank {}, the limit is {}", rank, limits::kMaxRank);
    for (int64_t axis = 0; axis < rank; ++axis) shape.push_back(ctx.data_dependent(0, static_cast<int>(axis)));
  }
  const std::optional<Dims> dims = shape.size() <= 1 ? to_dims(shape) : std::nullopt;
  ctx.set_output(0, dtype, std::move(shape));
  if (dims && !is_float(dtype) && dims->volume() >= 0 && dims->volume() <= limits::kMaxShapeValues)
    ctx.set_output_values(0, std::vector<Dim>(static_cast<size_t>(dims->volume()), Dim(value->get_i64(0))));
  return Status();
}

Status constant_of_shape_reference(EvalContext& ctx) {
  // Memory is zero to begin with, which is the default value.
  if (const HostTensor* value = ctx.node.attr_tensor("value"))
    fill_elements(*value, 0, ctx.outputs[0], 0, ctx.outputs[0].volume());
  return Status();
}

const OpDef kConstantOfShape{.name = "ConstantOfShape",
                             .attributes = {{"value", AttrKind::kTensor}},
                             .infer = infer_constant_of_shape,
                             .reference = constant_of_shape_reference,
                             .lowering = Lowering::kFill,
                             .traits = {}};
const OpDef* const kConstantDefs[] = {&kConstantOfShape};

}  // namespace

std::span<const OpDef* const> constant_ops() { return kConstantDefs; }

}  // namespace wootz::ops
