#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

Status import_axis(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(0, c.op(ctx.op_type(), {ctx.input(0)}, {{"axis", ctx.attr_int("axis", -1)}}));
}

// Before opset 13 the axes from `axis` on were taken together as one.
Status import_flattened(ImportContext& ctx) {
  Value* x = ctx.input(0);
  if (x == nullptr) return ctx.fail("input is required");
  Composer c(ctx);
  const int64_t given = ctx.attr_int("axis", 1), rank = x->rank();
  if (given == rank || (rank == 0 && given <= 1)) {  // nothing left of the axis: each element is a line of its own
    return c.output(0, c.squeeze(c.op(ctx.op_type(), {c.unsqueeze(x, {rank})}, {{"axis", int64_t{-1}}}), {rank}));
  }
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, x->rank()));
  if (axis == x->rank() - 1) return c.output(0, c.op(ctx.op_type(), {x}, {{"axis", int64_t{-1}}}));
  std::vector<int64_t> flat(static_cast<size_t>(axis) + 1, 0);
  flat.back() = -1;
  Value* y = c.op(ctx.op_type(), {c.reshape(x, flat)}, {{"axis", int64_t{-1}}});
  return c.output(0, c.reshape(y, x->shape(), {x}));
}

}  // namespace

std::span<const OnnxImport> softmax_onnx() {
  static constexpr OnnxImport kSoftmaxImports[] = {
      {"Hardmax", 1, import_flattened}, {"Hardmax", 13, import_axis},     {"LogSoftmax", 1, import_flattened},
      {"LogSoftmax", 13, import_axis},  {"Softmax", 1, import_flattened}, {"Softmax", 13, import_axis},
  };
  return kSoftmaxImports;
}

}  // namespace wootz::ops
