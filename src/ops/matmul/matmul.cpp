// MatMul (with transposes, alpha and an added term: also Gemm) and MatMulInteger.
#include <algorithm>

#include "ops/matmul/weight_only.h"
#include "ops/module_table.h"
#include "ops/support/quant_attrs.h"
#include "ops/support/ref_math.h"

namespace wootz::ops {
namespace {

// The operands as matrices: a vector on the left is a row, on the right a column.
struct MatmulShape {
  Shape batch;  // broadcast of the leading dimensions
  Dim m, n, k_a, k_b;
  bool vector_a = false, vector_b = false;
};

Result<MatmulShape> matmul_shape(const Shape& a, const Shape& b, bool trans_a, bool trans_b) {
  const auto refuse = [&](const char* why) {
    return invalid_argument("{} times {}: {}", shape_to_string(a), shape_to_string(b), why);
  };
  if (a.empty() || b.empty()) return refuse("an operand is a scalar");
  MatmulShape s;
  s.vector_a = a.size() == 1;
  s.vector_b = b.size() == 1;
  if ((s.vector_a && trans_a) || (s.vector_b && trans_b)) return refuse("a vector cannot be transposed");
  const auto from_end = [](const Shape& shape, size_t i) { return shape[shape.size() - i]; };
  s.m = s.vector_a ? Dim(1) : from_end(a, trans_a ? 1 : 2);
  s.k_a = s.vector_a ? a[0] : from_end(a, trans_a ? 2 : 1);
  s.k_b = s.vector_b ? b[0] : from_end(b, trans_b ? 1 : 2);
  s.n = s.vector_b ? Dim(1) : from_end(b, trans_b ? 2 : 1);
  if (s.k_a.is_const() && s.k_b.is_const() && s.k_a.value() != s.k_b.value()) return refuse("the inner extents differ");
  const auto batch = [](const Shape& shape) {
    return shape.size() <= 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  WOOTZ_ASSIGN_OR_RETURN(s.batch, broadcast_shapes(batch(a), batch(b)));
  return s;
}

Shape result_shape(const MatmulShape& s) {
  Shape y = s.batch;
  if (!s.vector_a) y.push_back(s.m);
  if (!s.vector_b) y.push_back(s.n);
  return y;
}

// Input 3, of products of 8 bits: a scale for each row of the result.
Status check_row_scales(InferContext& ctx, const Shape& y, bool quantized) {
  if (!ctx.has(3)) return Status();
  const Shape& s = ctx.shape(3);
  if (!quantized || ctx.dtype(3) != DType::kF32)
    return ctx.fail("scales of rows in {} with operands of type {}", dtype_name(ctx.dtype(3)),
                    dtype_name(ctx.dtype(0)));
  bool fits = s.size() == y.size() && s.back() == Dim(1);
  for (size_t i = 0; fits && i + 1 < s.size(); ++i) fits = !s[i].is_const() || !y[i].is_const() || s[i] == y[i];
  if (!fits) return ctx.fail("scales of rows {} for {}", shape_to_string(s), shape_to_string(y));
  return Status();
}

Status infer_matmul(InferContext& ctx) {
  const Node& node = ctx.node();
  Result<MatmulShape> shape =
      matmul_shape(ctx.shape(0), ctx.shape(1), node.attr_int("trans_a") != 0, node.attr_int("trans_b") != 0);
  if (!shape.ok()) return ctx.fail("{}", shape.status().message());
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(node, shape->n.is_const() ? shape->n.value() : -1));
  const DType a = ctx.dtype(0), b = ctx.dtype(1);
  const bool number = is_float(a) || (is_integer(a) && dtype_bits(a) >= 32);
  if (quant ? !are_8_bits(a, b) : a != b || !number)
    return ctx.fail("operands of type {} and {}", dtype_name(a), dtype_name(b));
  if (!is_float(a) && !quant && node.attr_float("alpha", 1) != 1) return ctx.fail("alpha with integer operands");
  Shape y = result_shape(*shape);
  const DType type = quant ? DType::kF32 : a;
  WOOTZ_RETURN_IF_ERROR(check_row_scales(ctx, y, quant.has_value()));
  if (ctx.has(2)) {
    if (ctx.dtype(2) != type)
      return ctx.fail("an added term of type {} to {}", dtype_name(ctx.dtype(2)), dtype_name(type));
    Result<Shape> sum = broadcast_shapes(y, ctx.shape(2));
    if (!sum.ok() || sum->size() != y.size())
      return ctx.fail("added term {} does not broadcast to {}", shape_to_string(ctx.shape(2)), shape_to_string(y));
    for (size_t i = 0; i < y.size(); ++i)
      if (y[i].is_const() && y[i].value() == 1 && !((*sum)[i] == y[i]))
        return ctx.fail("added term {} widens {}", shape_to_string(ctx.shape(2)), shape_to_string(y));
  }
  ctx.set_output(0, type, std::move(y));
  return {};
}

// Rows [r0, r1) and columns [c0, c1) of one stored matrix, as doubles; read transposed when asked.
void load_block(const HostTensor& t, int64_t offset, int64_t stored_columns, bool transposed, int64_t r0, int64_t r1,
                int64_t c0, int64_t c1, std::vector<double>* out) {
  const auto rows = static_cast<size_t>(r1 - r0), columns = static_cast<size_t>(c1 - c0);
  out->resize(rows * columns);
  if (!transposed) {
    for (size_t r = 0; r < rows; ++r)
      load_f64(t, offset + (r0 + static_cast<int64_t>(r)) * stored_columns + c0, {out->data() + r * columns, columns});
    return;
  }
  std::vector<double> line(rows);
  for (size_t c = 0; c < columns; ++c) {
    load_f64(t, offset + (c0 + static_cast<int64_t>(c)) * stored_columns + r0, line);
    for (size_t r = 0; r < rows; ++r) (*out)[r * columns + c] = line[r];
  }
}

// Extents of one run, and where each matrix of the batch starts.
struct Plan {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  Dims batch, strides_a, strides_b;  // strides in matrices
};

Dims batch_strides(const Dims& dims, const Dims& batch) {
  Dims leading;
  for (int i = 0; i + 2 < dims.rank(); ++i) leading.push_back(dims[static_cast<size_t>(i)]);
  return broadcast_strides(leading, batch);
}

Result<Plan> make_plan(const EvalContext& ctx) {
  const HostTensor &a = ctx.in(0), &b = ctx.in(1);
  Plan p;
  p.trans_a = ctx.node.attr_int("trans_a") != 0;
  p.trans_b = ctx.node.attr_int("trans_b") != 0;
  WOOTZ_ASSIGN_OR_RETURN(const MatmulShape s,
                         matmul_shape(to_shape(a.dims()), to_shape(b.dims()), p.trans_a, p.trans_b));
  p.m = s.m.value();
  p.n = s.n.value();
  p.k = s.k_a.value();
  for (const Dim& d : s.batch) p.batch.push_back(d.value());
  if (b.rank() <= 2 && !p.trans_a && a.rank() > 2) {  // one matrix on the right: all rows of the left at once
    p.m *= p.batch.volume();
    p.batch = Dims();
    p.strides_a = p.strides_b = Dims();
    return p;
  }
  p.strides_a = batch_strides(a.dims(), p.batch);
  p.strides_b = batch_strides(b.dims(), p.batch);
  return p;
}

// Calls sink(first element of the result, m*n sums) for each matrix of the batch. Elements are (a - zero_a) * (b -
// zero_b).
template <typename Sink>
void for_each_product(const EvalContext& ctx, const Plan& p, const std::function<double(int64_t)>& zero_a,
                      const std::function<double(int64_t)>& zero_b, Sink sink) {
  constexpr int64_t kDepth = 256;
  std::vector<double> a, b, sums(static_cast<size_t>(p.m * p.n));
  StridedWalk walk(p.batch, {p.strides_a, p.strides_b});
  for (int64_t i = 0; i < p.batch.volume(); ++i, walk.next()) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
      const int64_t k1 = std::min(p.k, k0 + kDepth);
      load_block(ctx.in(0), walk.offset(0) * p.m * p.k, p.trans_a ? p.m : p.k, p.trans_a, 0, p.m, k0, k1, &a);
      load_block(ctx.in(1), walk.offset(1) * p.k * p.n, p.trans_b ? p.k : p.n, p.trans_b, k0, k1, 0, p.n, &b);
      if (zero_a)
        for (size_t e = 0; e < a.size(); ++e) a[e] -= zero_a(static_cast<int64_t>(e) / (k1 - k0));
      if (zero_b)
        for (size_t e = 0; e < b.size(); ++e) b[e] -= zero_b(static_cast<int64_t>(e) % p.n);
      matmul_accumulate(p.m, p.n, k1 - k0, a.data(), b.data(), sums.data());
    }
    sink(i * p.m * p.n, sums);
  }
}

// Integer operands of 32 and 64 bits: sums that wrap.
void integer_product(const EvalContext& ctx, const Plan& p, HostTensor* y) {
  StridedWalk walk(p.batch, {p.strides_a, p.strides_b});
  const HostTensor &a = ctx.in(0), &b = ctx.in(1);
  for (int64_t i = 0; i < p.batch.volume(); ++i, walk.next()) {
    for (int64_t r = 0; r < p.m; ++r) {
      for (int64_t c = 0; c < p.n; ++c) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const int64_t at_a = walk.offset(0) * p.m * p.k + (p.trans_a ? k * p.m + r : r * p.k + k);
          const int64_t at_b = walk.offset(1) * p.k * p.n + (p.trans_b ? c * p.k + k : k * p.n + c);
          sum += static_cast<uint64_t>(a.get_i64(at_a)) * static_cast<uint64_t>(b.get_i64(at_b));
        }
        y->set_i64((i * p.m + r) * p.n + c, static_cast<int64_t>(sum));
      }
    }
  }
}

Status reference_matmul(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Plan p, make_plan(ctx));
  WOOTZ_ASSIGN_OR_RETURN(const auto quant, read_quant_attrs(ctx.node, p.n));
  Dims term_strides;
  if (ctx.has(2)) term_strides = broadcast_strides(ctx.in(2).dims(), y.dims());
  if (!is_float(y.dtype())) {
    integer_product(ctx, p, &y);
    if (!ctx.has(2)) return {};
    StridedWalk term(y.dims(), {term_strides});
    for (int64_t e = 0; e < y.volume(); ++e, term.next())
      y.set_i64(e, static_cast<int64_t>(static_cast<uint64_t>(y.get_i64(e)) +
                                        static_cast<uint64_t>(ctx.in(2).get_i64(term.offset(0)))));
    return {};
  }
  const double alpha = ctx.node.attr_float("alpha", 1);
  std::function<double(int64_t)> zero_a, zero_b;
  if (quant) {
    zero_a = [&](int64_t) { return quant->x_zero; };
    zero_b = [&](int64_t column) { return quant->w_zero_at(column); };
  }
  const std::vector<double> added = ctx.has(2) ? load_f64(ctx.in(2)) : std::vector<double>();
  const std::vector<double> rows = ctx.has(3) ? load_f64(ctx.in(3)) : std::vector<double>();
  StridedWalk term(y.dims(), {term_strides.empty() ? Dims::filled(y.rank(), 0) : term_strides});
  for_each_product(ctx, p, zero_a, zero_b, [&](int64_t first, std::vector<double>& sums) {
    for (size_t e = 0; e < sums.size(); ++e) {
      double scale = alpha;
      if (quant) scale *= quant->x_scale * quant->w_scale_at(static_cast<int64_t>(e) % p.n);
      if (!rows.empty()) scale *= rows[(static_cast<size_t>(first) + e) / static_cast<size_t>(p.n)];
      sums[e] *= scale;
      if (!added.empty()) {
        sums[e] += added[static_cast<size_t>(term.offset(0))];
        term.next();
      }
    }
    store_f64(&y, first, sums);
  });
  return {};
}

// Inputs a, b, [a_zero], [b_zero]. Zero points: a scalar, one per row of a, or one per column of b (also with batches).
Status infer_matmul_integer(InferContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has(i) && !is_int8(ctx.dtype(i))) return ctx.fail("input {} of type {}", i, dtype_name(ctx.dtype(i)));
  Result<MatmulShape> shape = matmul_shape(ctx.shape(0), ctx.shape(1), false, false);
  if (!shape.ok()) return ctx.fail("{}", shape.status().message());
  for (int i = 2; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    const Dim count = volume(ctx.shape(i)), wanted = i == 2 ? shape->m : shape->n;
    if (count.is_const() && wanted.is_const() && count.value() != 1 && count.value() != wanted.value())
      return ctx.fail("zero points {} for operand {}", shape_to_string(ctx.shape(i)),
                      shape_to_string(ctx.shape(i - 2)));
  }
  ctx.set_output(0, DType::kI32, result_shape(*shape));
  return {};
}

Status reference_matmul_integer(EvalContext& ctx) {
  HostTensor& y = ctx.outputs[0];
  WOOTZ_ASSIGN_OR_RETURN(const Plan p, make_plan(ctx));
  const auto zero = [&](size_t input, int64_t period) -> std::function<double(int64_t)> {
    if (!ctx.has(input)) return nullptr;
    std::vector<double> values = load_f64(ctx.in(input));
    return [values = std::move(values), period](int64_t i) {
      return values[values.size() == 1 ? 0 : static_cast<size_t>(i % period) % values.size()];
    };
  };
  const int64_t rows = ctx.in(0).rank() == 1 ? 1 : ctx.in(0).dims()[ctx.in(0).dims().size() - 2];
  for_each_product(ctx, p, zero(2, std::max<int64_t>(rows, 1)), zero(3, std::max<int64_t>(p.n, 1)),
                   [&](int64_t first, std::vector<double>& sums) { store_f64(&y, first, sums); });
  return {};
}

const OpDef kMatMul{
    .name = "MatMul",  // inputs a, b, [added term], [scales of rows]
    .min_inputs = 2,
    .max_inputs = 4,
    .attributes = {{"trans_a", AttrKind::kInt},
                   {"trans_b", AttrKind::kInt},
                   {"alpha", AttrKind::kFloat},
                   kQuantAttrSpecs[0],
                   kQuantAttrSpecs[1],
                   kQuantAttrSpecs[2],
                   kQuantAttrSpecs[3]},
    .infer = infer_matmul,
    .reference = reference_matmul,
    .lowering = Lowering::kGemm,
};
const OpDef kMatMulInteger{
    .name = "MatMulInteger",
    .min_inputs = 2,
    .max_inputs = 4,
    .infer = infer_matmul_integer,
    .reference = reference_matmul_integer,
};

}  // namespace

std::span<const OpDef* const> matmul_ops() {
  static const OpDef* const kMatmulDefs[] = {&kMatMul, &kMatMulInteger, &kWeightOnlyMatMul, &kBlockMatMul};
  return kMatmulDefs;
}

}  // namespace wootz::ops
