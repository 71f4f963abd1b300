// Det: the determinant of the matrices in the last two axes, by elimination with row pivots in f64.
#include <cmath>
#include <utility>

#include "ops/module_table.h"
#include "ops/support/copy.h"
#include "ops/support/module_util.h"

namespace wootz::ops {
namespace {

Status infer_det(InferContext& ctx) {
  const Shape& x = ctx.shape(0);
  if (!is_float(ctx.dtype(0)))
    return ctx.fail("input is {}, it must be a floating-point type", dtype_name(ctx.dtype(0)));
  const size_t rank = x.size();
  if (rank < 2 || (x[rank - 1].is_const() && x[rank - 2].is_const() && !(x[rank - 1] == x[rank - 2])))
    return ctx.fail("input is {}, its last two axes must be square", shape_to_string(x));
  ctx.set_output(0, ctx.dtype(0), Shape(x.begin(), x.end() - 2));
  return Status();
}

double determinant(std::vector<double>& m, size_t n) {
  double det = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row)
      if (std::abs(m[row * n + column]) > std::abs(m[pivot * n + column])) pivot = row;
    const double top = m[pivot * n + column];
    det *= top;
    if (top == 0) return 0;
    if (pivot != column) {
      det = -det;
      for (size_t c = 0; c < n; ++c) std::swap(m[pivot * n + c], m[column * n + c]);
    }
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = m[row * n + column] / top;
      for (size_t c = column; c < n; ++c) m[row * n + c] -= factor * m[column * n + c];
    }
  }
  return det;
}

Status det_reference(EvalContext& ctx) {
  const HostTensor& x = ctx.in(0);
  const auto n = static_cast<size_t>(x.dims().back());
  std::vector<double> matrix(n * n);
  for (int64_t b = 0; b < ctx.outputs[0].volume(); ++b) {
    for (size_t i = 0; i < matrix.size(); ++i)
      matrix[i] = x.get_f64(b * static_cast<int64_t>(n * n) + static_cast<int64_t>(i));
    ctx.outputs[0].set_f64(b, determinant(matrix, n));
  }
  return Status();
}

const OpDef kDet{.name = "Det", .attributes = {}, .infer = infer_det, .reference = det_reference, .traits = {}};
const OpDef* const kDetDefs[] = {&kDet};

}  // namespace

std::span<const OpDef* const> det_ops() { return kDetDefs; }

}  // namespace wootz::ops
