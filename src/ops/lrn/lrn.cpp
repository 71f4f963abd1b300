// LRN: each element is divided by a power of the squares around it, over the channels.
#include <algorithm>
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

Status infer_lrn(InferContext& ctx) {
  if (ctx.rank(0) < 2 || !is_float(ctx.dtype(0)))
    return ctx.fail("input {} {}", dtype_name(ctx.dtype(0)), shape_to_string(ctx.shape(0)));
  if (ctx.node().attr_int("size") < 1) return ctx.fail("size is {}", ctx.node().attr_int("size"));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  return {};
}

Status reference_lrn(EvalContext& ctx) {
  const Dims& dims = ctx.in(0).dims();
  const int64_t channels = dims[1], inner = dims.strides()[1],
                size = std::min(ctx.node.attr_int("size"), 2 * channels + 1);
  const double alpha = ctx.node.attr_float("alpha", 1e-4) / static_cast<double>(ctx.node.attr_int("size"));
  const double beta = ctx.node.attr_float("beta", 0.75), bias = ctx.node.attr_float("bias", 1);
  const std::vector<double> x = load_f64(ctx.in(0));
  std::vector<double> y(x.size());
  for (int64_t e = 0; e < static_cast<int64_t>(x.size()); ++e) {
    const int64_t c = e / inner % channels;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2); k <= std::min(channels - 1, c + size / 2); ++k) {
      const double v = x[static_cast<size_t>(e + (k - c) * inner)];
      sum += v * v;
    }
    y[static_cast<size_t>(e)] = x[static_cast<size_t>(e)] / std::pow(bias + alpha * sum, beta);
  }
  store_f64(&ctx.outputs[0], 0, y);
  return {};
}

const OpDef kLrn{.name = "LRN",
                 .attributes = {{"size", AttrKind::kInt, true},
                                {"alpha", AttrKind::kFloat},
                                {"beta", AttrKind::kFloat},
                                {"bias", AttrKind::kFloat}},
                 .infer = infer_lrn,
                 .reference = reference_lrn};

Status import_lrn(ImportContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(Value * y, ctx.emit("LRN", {ctx.input(0)},
                                             {{"size", ctx.attr_int("size", 0)},
                                              {"alpha", ctx.attr_float("alpha", 1e-4)},
                                              {"beta", ctx.attr_float("beta", 0.75)},
                                              {"bias", ctx.attr_float("bias", 1)}}));
  ctx.set_output(0, y);
  return {};
}

}  // namespace

std::span<const OpDef* const> lrn_ops() {
  static const OpDef* const kLrnDefs[] = {&kLrn};
  return kLrnDefs;
}

std::span<const OnnxImport> lrn_onnx() {
  static constexpr OnnxImport kLrnImports[] = {{"LRN", 1, import_lrn}};
  return kLrnImports;
}

}  // namespace wootz::ops
