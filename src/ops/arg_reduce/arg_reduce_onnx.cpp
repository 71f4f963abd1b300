#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_arg_reduce(ImportContext& ctx) {
  return import_as(ctx, "ArgReduce", {ctx.input(0)},
                   {{"kind", std::string(ctx.op_type() == "ArgMax" ? "argmax" : "argmin")},
                    {"axis", ctx.attr_int("axis", 0)},
                    {"keepdims", ctx.attr_int("keepdims", 1)},
                    {"select_last", ctx.attr_int("select_last_index", 0)}});
}

constexpr OnnxImport kArgReduceImports[] = {{"ArgMax", 1, import_arg_reduce}, {"ArgMin", 1, import_arg_reduce}};

}  // namespace

std::span<const OnnxImport> arg_reduce_onnx() { return kArgReduceImports; }

}  // namespace wootz::ops
