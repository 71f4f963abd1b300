#include "ops/matmul/weight_only.h"
#include "ops/module_table.h"
#include "ops/support/compose.h"

namespace wootz::ops {
namespace {

Status import_matmul(ImportContext& ctx) {
  Composer c(ctx);
  return c.output(0, c.op("MatMul", {ctx.input(0), ctx.input(1)}));
}

// beta * c, scaled here when c is a constant.
Value* scaled_term(ImportContext& ctx, Composer& c, double beta) {
  Value* term = ctx.input(2);
  const HostTensor* known = ctx.constant(2);
  if (beta == 1 || known == nullptr || !is_float(known->dtype())) return c.scale(term, beta);
  Result<HostTensor> scaled = HostTensor::allocate(known->dtype(), known->dims());
  if (!scaled.ok()) return c.scale(term, beta);
  for (int64_t i = 0; i < known->volume(); ++i) scaled->set_f64(i, known->get_f64(i) * beta);
  return ctx.add_constant(std::move(scaled).value());
}

Status import_gemm(ImportContext& ctx) {
  if (!ctx.has_input(0) || !ctx.has_input(1)) return ctx.fail("A and B are required");
  for (int i = 0; i < 2; ++i)
    if (ctx.input(i)->rank() != 2)
      return ctx.fail("operand {} has shape {}; a matrix is needed", i, shape_to_string(ctx.input(i)->shape()));
  Composer c(ctx);
  const double alpha = ctx.attr_float("alpha", 1), beta = ctx.attr_float("beta", 1);
  AttrMap attrs;
  if (ctx.attr_int("transA", 0) != 0) attrs["trans_a"] = int64_t{1};
  if (ctx.attr_int("transB", 0) != 0) attrs["trans_b"] = int64_t{1};
  if (alpha != 1) attrs["alpha"] = alpha;
  std::vector<Value*> inputs{ctx.input(0), ctx.input(1)};
  if (ctx.has_input(2) && beta != 0) inputs.push_back(scaled_term(ctx, c, beta));
  return c.output(0, c.op("MatMul", std::move(inputs), std::move(attrs)));
}

// An operand of FusedMatMul. `batch`: it lies as [rows, batch..., columns]. A vector is not transposed.
Value* fused_operand(ImportContext& ctx, Composer& c, int i, bool batch, bool* transposed) {
  Value* v = ctx.input(i);
  if (v->rank() == 1) *transposed = false;
  if (!batch) return v;
  if (v->rank() < 3) {
    c.refuse(ctx.fail("rows of operand {} lie in front of its batch; {} has none", i, shape_to_string(v->shape())));
    return v;
  }
  std::vector<int64_t> perm;
  for (int axis = 1; axis < v->rank() - 1; ++axis) perm.push_back(axis);
  perm.push_back(0);
  perm.push_back(v->rank() - 1);
  return c.transpose(v, std::move(perm));
}

Status import_fused_matmul(ImportContext& ctx) {
  Composer c(ctx);
  bool trans_a = ctx.attr_int("transA", 0) != 0, trans_b = ctx.attr_int("transB", 0) != 0;
  Value* a = fused_operand(ctx, c, 0, ctx.attr_int("transBatchA", 0) != 0, &trans_a);
  Value* b = fused_operand(ctx, c, 1, ctx.attr_int("transBatchB", 0) != 0, &trans_b);
  AttrMap attrs;
  if (trans_a) attrs["trans_a"] = int64_t{1};
  if (trans_b) attrs["trans_b"] = int64_t{1};
  if (const double alpha = ctx.attr_float("alpha", 1); alpha != 1) attrs["alpha"] = alpha;
  return c.output(0, c.op("MatMul", {a, b}, std::move(attrs)));
}

Status import_matmul_integer(ImportContext& ctx) {
  std::vector<Value*> inputs;
  for (int i = 0; i < ctx.num_inputs(); ++i) inputs.push_back(ctx.input(i));
  Composer c(ctx);
  return c.output(0, c.op("MatMulInteger", std::move(inputs)));
}

// A row's scale must stand beside the row, [m] -> [m,1]; a column's lies as it broadcasts.
Value* per_row(Composer& c, Value* v) {
  if (c.failed() || v->rank() != 1) return v;
  if (v->shape()[0] == Dim(1)) return c.as_scalar(v);
  return c.unsqueeze(v, {1});
}
Value* per_column(Composer& c, Value* v) {
  return !c.failed() && v->rank() == 1 && v->shape()[0] == Dim(1) ? c.as_scalar(v) : v;
}

// Inputs a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero.
Status import_qlinear_matmul(ImportContext& ctx) {
  for (int i = 0; i < 8; ++i)
    if (!ctx.has_input(i)) return ctx.fail("input {} is required", i);
  Composer c(ctx);
  Value* a = c.op("Dequantize", {ctx.input(0), per_row(c, ctx.input(1)), per_row(c, ctx.input(2))});
  Value* b = c.op("Dequantize", {ctx.input(3), per_column(c, ctx.input(4)), per_column(c, ctx.input(5))});
  Value* y = c.op("MatMul", {a, b});
  return c.output(0, c.op("Quantize", {y, per_row(c, ctx.input(6)), per_row(c, ctx.input(7))},
                          {{"to", std::string(dtype_name(ctx.input(7)->dtype()))}}));
}

}  // namespace

std::span<const OnnxImport> matmul_onnx() {
  static constexpr OnnxImport kMatmulImports[] = {
      {"FusedMatMul", 1, import_fused_matmul, "com.microsoft"},
      {"Gemm", 1, import_gemm},
      {"MatMul", 1, import_matmul},
      {"MatMulInteger", 10, import_matmul_integer},
      {"MatMulNBits", 1, import_matmul_nbits, "com.microsoft"},
      {"QLinearMatMul", 10, import_qlinear_matmul},
      {"TransposeMatMul", 1, import_fused_matmul, "com.microsoft"},
  };
  return kMatmulImports;
}

}  // namespace wootz::ops
