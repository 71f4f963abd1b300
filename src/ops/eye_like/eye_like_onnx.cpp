#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_eye_like(ImportContext& ctx) {
  AttrMap attrs{{"k", ctx.attr_int("k", 0)}};
  if (ctx.has_attr("dtype")) attrs["dtype"] = std::string(dtype_name(ctx.attr_dtype("dtype", DType::kInvalid)));
  return import_as(ctx, "EyeLike", {ctx.input(0)}, std::move(attrs));
}

constexpr OnnxImport kEyeLikeImports[] = {{"EyeLike", 9, import_eye_like}};

}  // namespace

std::span<const OnnxImport> eye_like_onnx() { return kEyeLikeImports; }

}  // namespace wootz::ops
