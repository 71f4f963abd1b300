#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// Axes as an attribute (old opsets) or as an input that must be known.
Result<std::vector<int64_t>> known_axes(ImportContext& ctx) {
  if (ctx.has_attr("axes")) return ctx.attr_ints("axes");
  if (std::optional<std::vector<int64_t>> axes = known_ints(ctx.input(1))) return std::move(*axes);
  return unsupported("input 1 (axes, '{}') is computed at run time; the rank must be known while building",
                     ctx.has_input(1) ? ctx.input(1)->name() : "");
}

Status import_reshape_1(ImportContext& ctx) {
  return import_as(ctx, "Reshape", {ctx.input(0), ctx.ints(ctx.attr_ints("shape"))});
}

Status import_reshape_5(ImportContext& ctx) {
  AttrMap attrs;
  if (ctx.attr_int("allowzero", 0) != 0) attrs["allowzero"] = int64_t{1};
  return import_as(ctx, "Reshape", {ctx.input(0), ctx.input(1)}, std::move(attrs));
}

Status import_flatten(ImportContext& ctx) {
  return import_as(ctx, "Flatten", {ctx.input(0)}, {{"axis", ctx.attr_int("axis", 1)}});
}

Status import_squeeze(ImportContext& ctx) {
  std::vector<int64_t> axes;
  if (ctx.has_attr("axes") || ctx.has_input(1)) {
    WOOTZ_ASSIGN_OR_RETURN(axes, known_axes(ctx));
  } else {
    // Every dimension of 1 goes. Whether a dynamic one is 1 is not known while building, so nor is the rank.
    const Shape& shape = ctx.input(0)->shape();
    for (size_t a = 0; a < shape.size(); ++a) {
      if (!shape[a].is_const())
        return unsupported("no axes are given and dimension {} of {} is dynamic: the rank of the result is not known",
                           a, shape_to_string(shape));
      if (shape[a].value() == 1) axes.push_back(static_cast<int64_t>(a));
    }
  }
  return import_as(ctx, "Squeeze", {ctx.input(0)}, {{"axes", std::move(axes)}});
}

Status import_unsqueeze(ImportContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(std::vector<int64_t> axes, known_axes(ctx));
  return import_as(ctx, "Unsqueeze", {ctx.input(0)}, {{"axes", std::move(axes)}});
}

constexpr OnnxImport kReshapeImports[] = {
    {"Flatten", 1, import_flatten}, {"Reshape", 1, import_reshape_1},   {"Reshape", 5, import_reshape_5},
    {"Squeeze", 1, import_squeeze}, {"Unsqueeze", 1, import_unsqueeze},
};

}  // namespace

std::span<const OnnxImport> reshape_onnx() { return kReshapeImports; }

}  // namespace wootz::ops
