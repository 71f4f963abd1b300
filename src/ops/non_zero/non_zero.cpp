// NonZero: the indices of the elements that are not zero, one column each, in row-major order.
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

bool is_set(const HostTensor& x, int64_t i) { return is_float(x.dtype()) ? x.get_f64(i) != 0 : x.get_i64(i) != 0; }

Status infer_non_zero(InferContext& ctx) {
  if (!accepts(Accept::kAny, ctx.dtype(0))) return ctx.fail("input is {}", dtype_name(ctx.dtype(0)));
  const Dim most = volume(ctx.shape(0));
  ctx.set_output(0, DType::kI64, {Dim(ctx.rank(0)), ctx.data_dependent(0, 1, most.is_const() ? most.value() : -1)});
  return Status();
}

Status non_zero_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  int64_t count = 0;
  for (int64_t i = 0; i < x.volume(); ++i) count += is_set(x, i);
  WOOTZ_RETURN_IF_ERROR(ctx.allocate(0, {x.rank(), count}));
  Dims index = Dims::filled(x.rank(), 0);
  int64_t column = 0;
  for (int64_t i = 0; i < x.volume(); ++i) {
    if (is_set(x, i)) {
      for (size_t a = 0; a < index.size(); ++a)
        ctx.outputs[0].set_i64(static_cast<int64_t>(a) * count + column, index[a]);
      ++column;
    }
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < x.dims()[a]) break;
      index[a] = 0;
    }
  }
  return Status();
}

const OpDef kNonZero{.name = "NonZero",
                     .attributes = {},
                     .infer = infer_non_zero,
                     .reference = non_zero_reference,
                     .traits = {.data_dependent = true}};
const OpDef* const kNonZeroDefs[] = {&kNonZero};

}  // namespace

std::span<const OpDef* const> non_zero_ops() { return kNonZeroDefs; }

}  // namespace wootz::ops
