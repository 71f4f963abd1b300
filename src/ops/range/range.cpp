// Range: start, start + delta, ... before limit (inputs 0 to 2, one number each).
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Result<int64_t> float_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(limits::kMaxElements)))
    return invalid_argument("from {} to {} by {} is no list of at most {} numbers", start, limit, delta,
                            limits::kMaxElements);
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

// Sizes follow from expressions: `up` says whether delta is positive.
Dim symbolic_count(const Dim& start, const Dim& limit, const Dim& delta, const Graph* graph) {
  const bool up = delta.value() > 0;
  const Dim length = up ? limit - start : start - limit;
  const Dim step = up ? delta : Dim(0) - delta;
  const Dim count = step == Dim(1) ? length : ceil_div(length, step);
  return never_negative(length, graph) ? count : dim_max(0, count);
}

Status infer_range(InferContext& ctx) {
  const DType dtype = ctx.dtype(0);
  for (int i = 0; i < 3; ++i) {
    if (ctx.dtype(i) != dtype || !accepts(Accept::kNumeric, dtype))
      return ctx.fail("start, limit and delta are {}, {} and {}: they must be numbers of one type",
                      dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)), dtype_name(ctx.dtype(2)));
    const Dim count = volume(ctx.shape(i));
    if (count.is_const() && count.value() != 1)
      return ctx.fail("input {} has shape {}, it must be one number", i, shape_to_string(ctx.shape(i)));
  }
  if (is_float(dtype)) {
    Dim count;
    if (ctx.constant(0) != nullptr && ctx.constant(1) != nullptr && ctx.constant(2) != nullptr) {
      const Result<int64_t> n =
          float_count(ctx.constant(0)->get_f64(0), ctx.constant(1)->get_f64(0), ctx.constant(2)->get_f64(0));
      if (!n.ok()) return ctx.fail("{}", n.status().message());
      count = Dim(*n);
    } else {
      count = ctx.data_dependent(0, 0);
    }
    ctx.set_output(0, dtype, {count});
    return Status();
  }
  const auto start = ctx.dims_value(0), limit = ctx.dims_value(1), delta = ctx.dims_value(2);
  if (!start || !limit || !delta || !(*delta)[0].is_const()) {
    ctx.set_output(0, dtype, {ctx.data_dependent(0, 0)});
    return Status();
  }
  if ((*delta)[0].value() == 0) return ctx.fail("delta is 0");
  const Dim count = symbolic_count((*start)[0], (*limit)[0], (*delta)[0], ctx.node().graph());
  ctx.set_output(0, dtype, {count});
  if (!count.is_const() || count.value() > limits::kMaxShapeValues) return Status();
  std::vector<Dim> values;
  for (int64_t i = 0; i < count.value(); ++i) values.push_back((*start)[0] + (*delta)[0] * Dim(i));
  ctx.set_output_values(0, std::move(values));
  return Status();
}

Status range_reference(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  for (int64_t i = 0, n = y.volume(); i < n; ++i) {
    if (is_float(y.dtype()))
      y.set_f64(i, ctx.in(0).get_f64(0) + static_cast<double>(i) * ctx.in(2).get_f64(0));
    else
      y.set_i64(i, static_cast<int64_t>(static_cast<uint64_t>(ctx.in(0).get_i64(0)) +
                                        static_cast<uint64_t>(i) * static_cast<uint64_t>(ctx.in(2).get_i64(0))));
  }
  return Status();
}

const OpDef kRange{.name = "Range",
                   .min_inputs = 3,
                   .max_inputs = 3,
                   .attributes = {},
                   .infer = infer_range,
                   .reference = range_reference,
                   .lowering = Lowering::kFill,
                   .traits = {}};
const OpDef* const kRangeDefs[] = {&kRange};

}  // namespace

std::span<const OpDef* const> range_ops() { return kRangeDefs; }

}  // namespace wootz::ops
