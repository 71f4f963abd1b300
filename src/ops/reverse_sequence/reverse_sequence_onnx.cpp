#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status import_reverse_sequence(ImportContext& ctx) {
  return import_as(ctx, "ReverseSequence", {ctx.input(0), ctx.input(1)},
                   {{"time_axis", ctx.attr_int("time_axis", 0)}, {"batch_axis", ctx.attr_int("batch_axis", 1)}});
}

constexpr OnnxImport kReverseSequenceImports[] = {{"ReverseSequence", 10, import_reverse_sequence}};

}  // namespace

std::span<const OnnxImport> reverse_sequence_onnx() { return kReverseSequenceImports; }

}  // namespace wootz::ops
