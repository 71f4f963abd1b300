// CumSum and CumProd along an axis, which is attribute "axis" when constant, else input 1.
#include "ops/infer.h"
#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_cumulative(InferContext& ctx) {
  if (!accepts(Accept::kNumeric, ctx.dtype(0))) return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  if (!ctx.node().has_attr("axis") && !ctx.has(1)) return ctx.fail("the axis is required");
  std::optional<int64_t> axis;
  if (ctx.node().has_attr("axis")) {
    axis = ctx.node().attr_int("axis");
  } else {
    const Dim count = volume(ctx.shape(1));
    if (!is_integer(ctx.dtype(1)) || (count.is_const() && count.value() != 1))
      return ctx.fail("the axis is {}{}, it must be one integer", dtype_name(ctx.dtype(1)),
                      shape_to_string(ctx.shape(1)));
    if (const std::optional<std::vector<int64_t>> known = ctx.ints_value(1)) axis = known->front();
  }
  if (axis) {
    if (const Result<int> a = normalize_axis(*axis, ctx.rank(0)); !a.ok())
      return ctx.fail("{} (input is {})", a.status().message(), shape_to_string(ctx.shape(0)));
  }
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  return Status();
}

Status cumulative_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  HostTensor& y = ctx.outputs[0];
  const int64_t written = ctx.node.has_attr("axis") ? ctx.node.attr_int("axis") : ctx.in(1).get_i64(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(written, x.rank()));
  const bool product = ctx.node.is("CumProd"), exclusive = ctx.node.attr_int("exclusive", 0) != 0;
  const bool reverse = ctx.node.attr_int("reverse", 0) != 0;
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  const int64_t outer = span_volume(x.dims(), 0, axis), inner = span_volume(x.dims(), axis + 1, x.rank());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double f = product ? 1 : 0;
      uint64_t n = product ? 1 : 0;
      for (int64_t e = 0; e < extent; ++e) {
        const int64_t at = (o * extent + (reverse ? extent - 1 - e : e)) * inner + i;
        const double before_f = f;
        const uint64_t before_n = n;
        if (is_float(x.dtype())) {
          f = product ? f * x.get_f64(at) : f + x.get_f64(at);
          y.set_f64(at, exclusive ? before_f : f);
        } else {
          const auto v = static_cast<uint64_t>(x.get_i64(at));
          n = product ? n * v : n + v;
          y.set_i64(at, static_cast<int64_t>(exclusive ? before_n : n));
        }
      }
    }
  return Status();
}

OpDef make(const char* name) {
  return OpDef{.name = name,
               .max_inputs = 2,
               .attributes = {{"axis", AttrKind::kInt}, {"exclusive", AttrKind::kInt}, {"reverse", AttrKind::kInt}},
               .infer = infer_cumulative,
               .reference = cumulative_reference,
               .traits = {}};
}
const OpDef kCumSum = make("CumSum"), kCumProd = make("CumProd");
const OpDef* const kCumDefs[] = {&kCumSum, &kCumProd};

}  // namespace

std::span<const OpDef* const> cum_ops() { return kCumDefs; }

}  // namespace wootz::ops
