// ExpertProduct: each row is multiplied by the matrix of the expert that was selected for it, the product of a mixture
// of experts. A number that is no expert's gives zeros.
#include "ops/module_table.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

bool differ(const Dim& a, const Dim& b) { return a.is_const() && b.is_const() && a.value() != b.value(); }

// Inputs: rows [..., D], or [..., K, D] where each of the K experts of a row has its own; experts [..., K]; weights
// [E, D, N]; bias [E, N] or none. The result is [..., K, N].
Status infer_product(InferContext& ctx) {
  const Shape &x = ctx.shape(0), &experts = ctx.shape(1), &w = ctx.shape(2);
  const auto refuse = [&] {
    return ctx.fail("rows {}, experts {} and weights {} do not fit", shape_to_string(x), shape_to_string(experts),
                    shape_to_string(w));
  };
  if (!is_float(ctx.dtype(0)) || dtype_bits(ctx.dtype(0)) < 16 || ctx.dtype(2) != ctx.dtype(0))
    return ctx.fail("rows of {} and weights of {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(2)));
  if (ctx.dtype(1) != DType::kI32 && ctx.dtype(1) != DType::kI64)
    return ctx.fail("experts of type {}", dtype_name(ctx.dtype(1)));
  if (experts.empty() || w.size() != 3 || (x.size() != experts.size() && x.size() != experts.size() + 1))
    return refuse();
  const size_t shared = x.size() - 1;  // axes of rows
  for (size_t a = 0; a < shared; ++a)
    if (differ(x[a], experts[a])) return refuse();
  if (differ(x.back(), w[1])) return refuse();
  if (ctx.has(3)) {
    const Shape& bias = ctx.shape(3);
    if (ctx.dtype(3) != ctx.dtype(0) || bias.size() != 2 || differ(bias[0], w[0]) || differ(bias[1], w[2]))
      return ctx.fail("bias {}{} for weights {}", dtype_name(ctx.dtype(3)), shape_to_string(bias), shape_to_string(w));
  }
  Shape result = experts;
  result.push_back(w[2]);
  ctx.set_output(0, ctx.dtype(0), std::move(result));
  return Status();
}

Status product_reference(EvalContext& ctx) {
  const HostTensor &x = ctx.in(0), &experts = ctx.in(1), &w = ctx.in(2);
  HostTensor& y = ctx.outputs[0];
  const int64_t count = w.dims()[0], depth = w.dims()[1], columns = w.dims()[2], slots = experts.dims().back();
  const bool own = x.rank() == experts.rank() + 1;
  for (int64_t r = 0; r < experts.volume(); ++r) {
    const int64_t e = experts.get_i64(r), row = own ? r : r / slots;
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      if (e >= 0 && e < count) {
        if (ctx.has(3)) sum = ctx.in(3).get_f64(e * columns + n);
        for (int64_t d = 0; d < depth; ++d)
          sum += x.get_f64(row * depth + d) * w.get_f64((e * depth + d) * columns + n);
      }
      y.set_f64(r * columns + n, sum);
    }
  }
  return Status();
}

const OpDef kExpertProduct{
    .name = "ExpertProduct", .min_inputs = 3, .max_inputs = 4, .infer = infer_product, .reference = product_reference};
const OpDef* const kExpertsDefs[] = {&kExpertProduct};

}  // namespace

std::span<const OpDef* const> experts_ops() { return kExpertsDefs; }

}  // namespace wootz::ops
