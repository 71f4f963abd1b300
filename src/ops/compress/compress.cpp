// Compress: the slices along an axis (without the attribute: the elements) whose condition (input 1) is true.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

int64_t count_true(const HostTensor& condition, int64_t limit) {
  int64_t count = 0;
  for (int64_t i = 0; i < condition.volume() && i < limit; ++i) count += condition.get_i64(i) != 0;
  return count;
}

Status infer_compress(InferContext& ctx) {
  if (ctx.dtype(1) != DType::kBool || ctx.rank(1) != 1)
    return ctx.fail("the condition is {}{}, it must be a list of bool", dtype_name(ctx.dtype(1)),
                    shape_to_string(ctx.shape(1)));
  Shape shape{volume(ctx.shape(0))};
  size_t axis = 0;
  if (ctx.node().has_attr("axis")) {
    const Result<int> a = normalize_axis(ctx.node().attr_int("axis"), ctx.rank(0));
    if (!a.ok()) return ctx.fail("{} (input is {})", a.status().message(), shape_to_string(ctx.shape(0)));
    axis = static_cast<size_t>(*a);
    shape = ctx.shape(0);
  }
  const Dim extent = shape[axis], length = ctx.shape(1)[0];
  if (extent.is_const() && length.is_const() && length.value() > extent.value())
    return ctx.fail("{} conditions for {} slices", length.value(), extent.value());
  if (ctx.constant(1) != nullptr)
    shape[axis] = Dim(count_true(*ctx.constant(1), INT64_MAX));
  else
    shape[axis] = ctx.data_dependent(0, static_cast<int>(axis), length.is_const() ? length.value() : -1);
  ctx.set_output(0, ctx.dtype(0), std::move(shape));
  return Status();
}

Status compress_reference(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &condition = ctx.in(1), flat = x.reshaped({x.volume()});
  const bool whole = !ctx.node.has_attr("axis");
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), whole ? 1 : x.rank()));
  Dims dims = whole ? flat.dims() : x.dims();
  const int64_t extent = dims[static_cast<size_t>(axis)], count = count_true(condition, extent);
  dims[static_cast<size_t>(axis)] = count;
  WOOTZ_RETURN_IF_ERROR(ctx.allocate(0, dims));
  const int64_t outer = span_volume(dims, 0, axis), inner = span_volume(dims, axis + 1, dims.rank());
  int64_t kept = 0;
  for (int64_t e = 0; e < extent && e < condition.volume(); ++e) {
    if (condition.get_i64(e) == 0) continue;
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(flat, (o * extent + e) * inner, ctx.outputs[0], (o * count + kept) * inner, inner);
    ++kept;
  }
  return Status();
}

const OpDef kCompress{.name = "Compress",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .attributes = {{"axis", AttrKind::kInt}},
                      .infer = infer_compress,
                      .reference = compress_reference,
                      .traits = {.data_dependent = true}};
const OpDef* const kCompressDefs[] = {&kCompress};

}  // namespace

std::span<const OpDef* const> compress_ops() { return kCompressDefs; }

}  // namespace wootz::ops
