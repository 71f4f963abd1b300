// Trilu: the upper or lower triangle of the last two axes, zero elsewhere. The diagonal is attribute "k" when constant,
// else input 1, else 0.
#include <algorithm>

#include "ops/infer.h"
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_trilu(InferContext& ctx) {
  if (ctx.rank(0) < 2) return ctx.fail("input is {}, its rank must be 2 or more", shape_to_string(ctx.shape(0)));
  if (ctx.has(1)) {
    const Dim count = volume(ctx.shape(1));
    if (!is_integer(ctx.dtype(1)) || (count.is_const() && count.value() != 1))
      return ctx.fail("k is {}{}, it must be one integer", dtype_name(ctx.dtype(1)), shape_to_string(ctx.shape(1)));
  }
  return infer_same_as_input(ctx);
}

Status trilu_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const int64_t rows = x.dims()[static_cast<size_t>(x.rank() - 2)], columns = x.dims().back();
  const int64_t matrices = span_volume(x.dims(), 0, x.rank() - 2);
  int64_t k = ctx.node.attr_int("k", 0);
  if (!ctx.node.has_attr("k") && ctx.has(1)) k = ctx.in(1).get_i64(0);
  k = std::clamp(k, -rows, columns);
  const bool upper = ctx.node.attr_int("upper", 1) != 0;
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t r = 0; r < rows; ++r) {
      // Upper keeps columns from r + k on, lower keeps columns up to r + k.
      const int64_t first = upper ? std::clamp<int64_t>(r + k, 0, columns) : 0;
      const int64_t last = upper ? columns : std::clamp<int64_t>(r + k + 1, 0, columns);
      const int64_t row = (m * rows + r) * columns;
      copy_elements(x, row + first, ctx.outputs[0], row + first, last - first);
    }
  return Status();
}

const OpDef kTrilu{.name = "Trilu",
                   .max_inputs = 2,
                   .attributes = {{"upper", AttrKind::kInt}, {"k", AttrKind::kInt}},
                   .infer = infer_trilu,
                   .reference = trilu_reference,
                   .traits = {}};
const OpDef* const kTriluDefs[] = {&kTrilu};

}  // namespace

std::span<const OpDef* const> trilu_ops() { return kTriluDefs; }

}  // namespace wootz::ops
