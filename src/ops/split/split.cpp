// Split along an axis. Sizes are attribute "split" when known, else input 1, else the axis is cut into equal parts: of
// ceil(extent / parts) with a smaller last one when attribute "uneven" is set, else of exactly extent / parts.
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_split(InferContext& ctx) {
  const Result<int> normal = normalize_axis(ctx.node().attr_int("axis", 0), ctx.rank(0));
  if (!normal.ok()) return ctx.fail("{} (input is {})", normal.status().message(), shape_to_string(ctx.shape(0)));
  const int axis = *normal, parts = ctx.node().num_outputs();
  const Dim extent = ctx.shape(0)[static_cast<size_t>(axis)];
  std::vector<Dim> sizes;
  if (has_list(ctx, "split", 1)) {
    if (std::optional<std::vector<Dim>> known = dims_list(ctx, "split", 1)) {
      sizes = std::move(*known);
      if (static_cast<int>(sizes.size()) != parts) return ctx.fail("{} sizes for {} outputs", sizes.size(), parts);
      Dim total(0);
      for (const Dim& d : sizes) {
        if (d.is_const() && d.value() < 0) return ctx.fail("size {} is negative", d.to_string());
        total = total + d;
      }
      if (total.is_const() && extent.is_const() && !(total == extent))
        return ctx.fail("sizes {} do not add up to dimension {} of {}", shape_to_string(sizes), axis,
                        shape_to_string(ctx.shape(0)));
    } else {
      for (int o = 0; o < parts; ++o)
        sizes.push_back(ctx.data_dependent(o, axis, extent.is_const() ? extent.value() : -1));
    }
  } else if (ctx.node().attr_int("uneven", 0) != 0) {
    const Dim chunk = ceil_div(extent, parts);
    // Part o starts at o * chunk, or at the end where that is earlier.
    for (int o = 0; o < parts; ++o)
      sizes.push_back(o == 0 ? chunk : dim_max(0, dim_min(chunk, extent - chunk * Dim(o))));
  } else {
    if (extent.is_const() && extent.value() % parts != 0)
      return ctx.fail("dimension {} of {} does not split into {} equal parts", axis, shape_to_string(ctx.shape(0)),
                      parts);
    sizes.assign(static_cast<size_t>(parts), floor_div(extent, parts));
  }
  const std::optional<std::vector<Dim>> values = ctx.rank(0) == 1 ? ctx.dims_value(0) : std::nullopt;
  size_t offset = 0;
  bool known = values.has_value();
  for (int o = 0; o < parts; ++o) {
    const Dim& size = sizes[static_cast<size_t>(o)];
    Shape shape = ctx.shape(0);
    shape[static_cast<size_t>(axis)] = size;
    ctx.set_output(o, ctx.dtype(0), std::move(shape));
    known = known && size.is_const() && offset + static_cast<size_t>(size.value()) <= values->size();
    if (!known) continue;
    const auto first = values->begin() + static_cast<ptrdiff_t>(offset);
    ctx.set_output_values(o, {first, first + static_cast<ptrdiff_t>(size.value())});
    offset += static_cast<size_t>(size.value());
  }
  return Status();
}

Status split_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), x.rank()));
  const int64_t outer = span_volume(x.dims(), 0, axis), row = span_volume(x.dims(), axis, x.rank());
  int64_t offset = 0;
  for (HostTensor& out : ctx.outputs) {
    const int64_t part = span_volume(out.dims(), axis, out.rank());
    if (offset + part > row) return invalid_argument("the parts are larger than {}", x.dims().to_string());
    for (int64_t o = 0; o < outer; ++o) copy_elements(x, o * row + offset, out, o * part, part);
    offset += part;
  }
  return Status();
}

const OpDef kSplit{.name = "Split",
                   .max_inputs = 2,
                   .max_outputs = -1,
                   .attributes = {{"axis", AttrKind::kInt}, {"split", AttrKind::kInts}, {"uneven", AttrKind::kInt}},
                   .infer = infer_split,
                   .reference = split_reference,
                   .lowering = Lowering::kMove,
                   .traits = {}};
const OpDef* const kSplitDefs[] = {&kSplit};

}  // namespace

std::span<const OpDef* const> split_ops() { return kSplitDefs; }

}  // namespace wootz::ops
