#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

// stash_type (opset 27) only allows less exact sums than ours.
Status import_range(ImportContext& ctx) { return import_as(ctx, "Range", {ctx.input(0), ctx.input(1), ctx.input(2)}); }

constexpr OnnxImport kRangeImports[] = {{"Range", 11, import_range}};

}  // namespace

std::span<const OnnxImport> range_onnx() { return kRangeImports; }

}  // namespace wootz::ops
