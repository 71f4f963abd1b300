#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_window(ImportContext& ctx) {
  const char* kind = ctx.op_type() == "HannWindow" ? "hann" : ctx.op_type() == "HammingWindow" ? "hamming" : "blackman";
  return import_as(ctx, "WindowFunction", {ctx.input(0)},
                   {{"kind", std::string(kind)},
                    {"periodic", ctx.attr_int("periodic", 1)},
                    {"dtype", std::string(dtype_name(ctx.attr_dtype("output_datatype", DType::kF32)))}});
}

constexpr OnnxImport kWindowFnImports[] = {
    {"BlackmanWindow", 17, import_window}, {"HammingWindow", 17, import_window}, {"HannWindow", 17, import_window}};

}  // namespace

std::span<const OnnxImport> window_fn_onnx() { return kWindowFnImports; }

}  // namespace wootz::ops
