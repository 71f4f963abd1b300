// BlockMatMul: floats of 8 bits times such a matrix, where blocks along the sum have a scale on both sides: of each row
// of x, and of columns of w that lie side by side. The passes make it of a product of dequantized operands.
#include <algorithm>

#include "ops/matmul/weight_only.h"
#include "ops/support/module_util.h"
#include "ops/support/quant_attrs.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// Inputs: x [..., K], or [..., blocks, K / blocks]; its scales, as x with a last extent of 1; w [N, K]; its scales
// [ceil(K / w_block), ceil(N / w_columns)]. Attributes: w_block, w_columns; x_scale, one factor of all sums.
struct Extents {
  int64_t depth = 0, columns = 0, x_blocks = 1;
  size_t depth_axes = 1;  // of x
};

Result<Extents> extents_of(const Shape& x, const Shape& w) {
  if (x.size() < 2 || w.size() != 2 || !w[0].is_const() || !w[1].is_const() || !x.back().is_const())
    return invalid_argument("{} by {}", shape_to_string(x), shape_to_string(w));
  Extents e{w[1].value(), w[0].value()};
  if (x.back().value() == e.depth) return e;
  const Dim& blocks = x[x.size() - 2];
  if (x.size() < 3 || !blocks.is_const() || blocks.value() * x.back().value() != e.depth)
    return invalid_argument("{} by {}", shape_to_string(x), shape_to_string(w));
  e.x_blocks = blocks.value();
  e.depth_axes = 2;
  return e;
}

int64_t pieces(int64_t count, int64_t size) { return (count + size - 1) / size; }

Status infer_product(InferContext& ctx) {
  const Node& node = ctx.node();
  const Shape &x = ctx.shape(0), &w = ctx.shape(2);
  if (!is_fp8(ctx.dtype(0)) || !is_fp8(ctx.dtype(2)) || ctx.dtype(1) != DType::kF32 || ctx.dtype(3) != DType::kF32)
    return ctx.fail("operands of type {} and {}", dtype_name(ctx.dtype(0)), dtype_name(ctx.dtype(2)));
  const Result<Extents> e = extents_of(x, w);
  if (!e.ok()) return ctx.fail("{}", e.status().message());
  const int64_t block = node.attr_int("w_block"), columns = node.attr_int("w_columns", 1);
  if (block < 1 || columns < 1) return ctx.fail("blocks of {} by {} elements", block, columns);
  Shape scales = x;
  scales.back() = Dim(1);
  const Shape of_w{Dim(pieces(e->depth, block)), Dim(pieces(e->columns, columns))};
  if (!(ctx.shape(1) == scales) || !(ctx.shape(3) == of_w))
    return ctx.fail("scales {} and {} of {} by {}", shape_to_string(ctx.shape(1)), shape_to_string(ctx.shape(3)),
                    shape_to_string(x), shape_to_string(w));
  Shape y(x.begin(), x.end() - static_cast<ptrdiff_t>(e->depth_axes));
  y.push_back(w[0]);
  ctx.set_output(0, DType::kF32, std::move(y));
  return Status();
}

Status product_reference(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  if (y.volume() == 0) return Status();
  const int64_t columns = y.dims().back(), depth = ctx.in(2).dims()[1], rows = y.volume() / columns;
  const int64_t block = ctx.node.attr_int("w_block"), side = ctx.node.attr_int("w_columns", 1);
  std::vector<double> x = load_f64(ctx.in(0)), from = load_f64(ctx.in(2)), w(from.size());
  const std::vector<double> xs = load_f64(ctx.in(1)), ws = load_f64(ctx.in(3));
  const int64_t own = depth * rows / static_cast<int64_t>(xs.size());  // elements of x that share a scale
  for (size_t i = 0; i < x.size(); ++i) x[i] *= xs[i / static_cast<size_t>(own)];
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      w[static_cast<size_t>(k * columns + n)] = from[static_cast<size_t>(n * depth + k)] *
                                                ws[static_cast<size_t>(k / block * pieces(columns, side) + n / side)];
  std::vector<double> sums(static_cast<size_t>(y.volume()), 0.0);
  matmul_accumulate(rows, columns, depth, x.data(), w.data(), sums.data());
  const double factor = ctx.node.attr_floats("x_scale", {1})[0];
  for (double& sum : sums) sum *= factor;
  store_f64(&y, 0, sums);
  return Status();
}

}  // namespace

const OpDef kBlockMatMul{
    .name = "BlockMatMul",
    .min_inputs = 4,
    .max_inputs = 4,
    .attributes = {{"w_block", AttrKind::kInt, true}, {"w_columns", AttrKind::kInt}, kQuantAttrSpecs[0]},
    .infer = infer_product,
    .reference = product_reference,
    .lowering = Lowering::kGemm,
};

}  // namespace wootz::ops
