// Concat: inputs one after another along an axis.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_concat(InferContext& ctx) {
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis"), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (input 0 is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  const auto joined = static_cast<size_t>(*axis);
  Shape shape = ctx.shape(0);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) return ctx.fail("input {} is missing", i);
    const Shape& other = ctx.shape(i);
    if (ctx.dtype(i) != ctx.dtype(0))
      return ctx.fail("input 0 is {} and input {} is {}", dtype_name(ctx.dtype(0)), i, dtype_name(ctx.dtype(i)));
    bool fits = other.size() == shape.size();
    for (size_t a = 0; fits && a < shape.size(); ++a) {
      if (a == joined) continue;
      fits = !shape[a].is_const() || !other[a].is_const() || shape[a] == other[a];
      if (!shape[a].is_const() && other[a].is_const()) shape[a] = other[a];
    }
    if (!fits)
      return ctx.fail("input 0 of shape {} and input {} of shape {} differ outside axis {}",
                      shape_to_string(ctx.shape(0)), i, shape_to_string(other), *axis);
    shape[joined] = shape[joined] + other[joined];
  }
  std::optional<std::vector<Dim>> values;
  if (shape.size() == 1 && !is_float(ctx.dtype(0))) {
    values.emplace();
    for (int i = 0; i < ctx.num_inputs() && values; ++i) {
      const std::optional<std::vector<Dim>> part = ctx.dims_value(i);
      if (part)
        values->insert(values->end(), part->begin(), part->end());
      else
        values.reset();
    }
  }
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  if (values) ctx.set_output_values(0, std::move(*values));
  return Status();
}

Status concat_reference(EvalContext& ctx) {
  HostTensor& out = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis"), out.rank()));
  const int64_t outer = span_volume(out.dims(), 0, axis);
  const int64_t row = span_volume(out.dims(), axis, out.rank());
  int64_t offset = 0;
  for (const HostTensor* input : ctx.inputs) {
    const int64_t part = span_volume(input->dims(), axis, input->rank());
    if (part * outer != input->volume() || offset + part > row)
      return invalid_argument("an input of shape {} does not fit into {}", input->dims().to_string(),
                              out.dims().to_string());
    for (int64_t o = 0; o < outer; ++o) copy_elements(*input, o * part, out, o * row + offset, part);
    offset += part;
  }
  return Status();
}

const OpDef kConcat{.name = "Concat",
                    .max_inputs = -1,
                    .attributes = {{"axis", AttrKind::kInt, true}},
                    .infer = infer_concat,
                    .reference = concat_reference,
                    .lowering = Lowering::kMove,
                    .traits = {}};
const OpDef* const kConcatDefs[] = {&kConcat};

}  // namespace

std::span<const OpDef* const> concat_ops() { return kConcatDefs; }

}  // namespace wootz::ops
