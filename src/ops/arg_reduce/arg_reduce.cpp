// ArgReduce: where the largest or smallest element along an axis stands. A NaN counts as the extreme, as in NumPy.
#include <cmath>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_arg_reduce(InferContext& ctx) {
  const std::string kind = ctx.node().attr_string("kind");
  if (kind != "argmax" && kind != "argmin") return ctx.fail("kind '{}' is not known", kind);
  if (!accepts(Accept::kNumeric, ctx.dtype(0)) && ctx.dtype(0) != DType::kBool)
    return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  const Result<int> axis = normalize_axis(ctx.node().attr_int("axis", 0), ctx.rank(0));
  if (!axis.ok()) return ctx.fail("{} (input is {})", axis.status().message(), shape_to_string(ctx.shape(0)));
  Shape shape = ctx.shape(0);
  if (shape[static_cast<size_t>(*axis)] == Dim(0))
    return ctx.fail("axis {} of {} is empty", *axis, shape_to_string(shape));
  if (ctx.node().attr_int("keepdims", 1) != 0)
    shape[static_cast<size_t>(*axis)] = Dim(1);
  else
    shape.erase(shape.begin() + *axis);
  ctx.set_output(0, DType::kI64, std::move(shape));
  return Status();
}

template <typename T, typename Better>
void search(const HostTensor& x, HostTensor& y, int axis, bool last, T (HostTensor::*get)(int64_t) const,
            Better better) {
  const int64_t extent = x.dims()[static_cast<size_t>(axis)];
  const int64_t outer = span_volume(x.dims(), 0, axis), inner = span_volume(x.dims(), axis + 1, x.rank());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t best = 0;
      T best_value = (x.*get)(o * extent * inner + i);
      for (int64_t e = 1; e < extent; ++e) {
        const T value = (x.*get)((o * extent + e) * inner + i);
        const bool equal = !better(value, best_value) && !better(best_value, value);
        if (better(value, best_value) || (last && equal)) {
          best = e;
          best_value = value;
        }
      }
      y.set_i64(o * inner + i, best);
    }
}

Status arg_reduce_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(ctx.node.attr_int("axis", 0), x.rank()));
  const bool max = ctx.node.attr_string("kind") == "argmax", last = ctx.node.attr_int("select_last", 0) != 0;
  if (is_float(x.dtype())) {
    search<double>(x, ctx.outputs[0], axis, last, &HostTensor::get_f64, [&](double a, double b) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
      return max ? a > b : a < b;
    });
  } else {
    const bool wide = x.dtype() == DType::kU64;
    search<int64_t>(x, ctx.outputs[0], axis, last, &HostTensor::get_i64, [&](int64_t a, int64_t b) {
      const bool less = wide ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
      return max ? !less && a != b : less;
    });
  }
  return Status();
}

const OpDef kArgReduce{.name = "ArgReduce",
                       .attributes = {{"kind", AttrKind::kString, true},
                                      {"axis", AttrKind::kInt},
                                      {"keepdims", AttrKind::kInt},
                                      {"select_last", AttrKind::kInt}},
                       .infer = infer_arg_reduce,
                       .reference = arg_reduce_reference,
                       .lowering = Lowering::kTopK,
                       .traits = {}};
const OpDef* const kArgReduceDefs[] = {&kArgReduce};

}  // namespace

std::span<const OpDef* const> arg_reduce_ops() { return kArgReduceDefs; }

}  // namespace wootz::ops
