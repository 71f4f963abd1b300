// WeightOnlyMatMul: floats times a matrix of 4 or 8 bits, of which each block of elements along the sum has a scale and
// a zero point in every column. The passes make it of a product with a dequantized constant. Scales may be small floats
// themselves, of which alpha, a factor of all of them, makes numbers of any size.
#include "ops/matmul/weight_only.h"

#include <algorithm>

#include "ops/support/module_util.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// Inputs: x [..., K]; w [K, N], with trans_b [N, K]; scale [blocks, N]; zero points like it, of w's type, or none.
// Attributes: trans_b; block, the elements along K that share a scale: blocks = ceil(K / block); alpha, 1.
Status infer_product(InferContext& ctx) {
  const Node& node = ctx.node();
  const Shape &x = ctx.shape(0), &w = ctx.shape(1), &scale = ctx.shape(2);
  const int64_t block = node.attr_int("block");
  const bool transposed = node.attr_int("trans_b", 0) != 0;
  if (!is_float(ctx.dtype(0)) || dtype_bits(ctx.dtype(0)) < 16 || !is_packed_weight(ctx.dtype(1)))
    return ctx.fail("operands of type {} and {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(1)));
  if (!is_packed_scale(ctx.dtype(2)) && ctx.dtype(2) != DType::kF64)
    return ctx.fail("scales of type {}", dtype_name(ctx.dtype(2)));
  if (block < 1) return ctx.fail("blocks of {} elements", block);
  if (x.empty() || w.size() != 2 || scale.size() != 2)
    return ctx.fail("{} times {} by scales {}", shape_to_string(x), shape_to_string(w), shape_to_string(scale));
  const Dim &depth = w[transposed ? 1 : 0], &columns = w[transposed ? 0 : 1];
  if (!depth.is_const() || !columns.is_const() || (x.back().is_const() && !(x.back() == depth)) ||
      !(scale[0] == Dim(depth.value() / block + (depth.value() % block != 0 ? 1 : 0))) || !(scale[1] == columns))
    return ctx.fail("{} times {} by scales {} for each {}", shape_to_string(x), shape_to_string(w),
                    shape_to_string(scale), block);
  if (ctx.has(3) && (ctx.dtype(3) != ctx.dtype(1) || !(ctx.shape(3) == scale)))
    return ctx.fail("zero points {}{} for {} and scales {}", dtype_name(ctx.dtype(3)), shape_to_string(ctx.shape(3)),
                    dtype_name(ctx.dtype(1)), shape_to_string(scale));
  Shape y = x;
  y.back() = columns;
  ctx.set_output(0, ctx.dtype(0), std::move(y));
  return Status();
}

// The matrix in numbers, [K, N], but for alpha.
std::vector<double> dequantized(const EvalContext& ctx, int64_t depth, int64_t columns) {
  const int64_t block = ctx.node.attr_int("block");
  const bool transposed = ctx.node.attr_int("trans_b", 0) != 0;
  const std::vector<double> w = load_f64(ctx.in(1)), scale = load_f64(ctx.in(2));
  const std::vector<double> zero = ctx.has(3) ? load_f64(ctx.in(3)) : std::vector<double>(scale.size(), 0.0);
  std::vector<double> made(w.size());
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < columns; ++n) {
      const auto at = static_cast<size_t>(k / block * columns + n);
      const auto from = static_cast<size_t>(transposed ? n * depth + k : k * columns + n);
      made[static_cast<size_t>(k * columns + n)] = (w[from] - zero[at]) * scale[at];
    }
  return made;
}

Status product_reference(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  const int64_t depth = ctx.in(0).dims().back(), columns = y.dims().back();
  if (y.volume() == 0) return Status();
  const std::vector<double> w = dequantized(ctx, depth, columns), x = load_f64(ctx.in(0));
  std::vector<double> sums(static_cast<size_t>(y.volume()), 0.0);
  matmul_accumulate(y.volume() / columns, columns, depth, x.data(), w.data(), sums.data());
  for (double& sum : sums) sum *= ctx.node.attr_float("alpha", 1);
  store_f64(&y, 0, sums);
  return Status();
}

}  // namespace

const OpDef kWeightOnlyMatMul{
    .name = "WeightOnlyMatMul",
    .min_inputs = 3,
    .max_inputs = 4,
    .attributes = {{"block", AttrKind::kInt, true}, {"trans_b", AttrKind::kInt}, {"alpha", AttrKind::kFloat}},
    .infer = infer_product,
    .reference = product_reference,
    .lowering = Lowering::kGemm,
};

}  // namespace wootz::ops
