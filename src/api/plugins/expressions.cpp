#include "api/plugins/expressions.h"

#include <algorithm>

#include "ops/support/truth.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// By DimensionOperation.
using Operation = std::optional<Dim> (*)(const Dim&, const Dim&);
constexpr Operation kOperations[] = {
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a + b; },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a * b; },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return dim_max(a, b); },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return dim_min(a, b); },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return a - b; },
    [](const Dim& a, const Dim& b) { return ops::truth_equal(a, b); },
    [](const Dim& a, const Dim& b) { return ops::truth_less(a, b); },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return floor_div(a, b); },
    [](const Dim& a, const Dim& b) -> std::optional<Dim> { return ceil_div(a, b); },
};
static_assert(static_cast<int32_t>(std::size(kOperations)) == EnumMax<DimensionOperation>());

}  // namespace

const IDimensionExpr* ExprBuilder::made(Dim dim, bool is_size) { return &made_.emplace_back(std::move(dim), is_size); }

const IDimensionExpr* ExprBuilder::refuse(Status why) {
  if (refused_.ok()) refused_ = std::move(why);
  return nullptr;
}

const DimensionExpr* ExprBuilder::own(const IDimensionExpr& expr) const {
  const auto found = std::find_if(made_.begin(), made_.end(), [&](const DimensionExpr& e) { return &e == &expr; });
  return found == made_.end() ? nullptr : &*found;
}

const IDimensionExpr* ExprBuilder::constant(int64_t value) noexcept {
  try {
    return made(Dim(value));
  } catch (...) {
    return nullptr;
  }
}

const IDimensionExpr* ExprBuilder::operation(DimensionOperation op, const IDimensionExpr& first,
                                             const IDimensionExpr& second) noexcept {
  try {
    const auto number = static_cast<int32_t>(op);
    const DimensionExpr *const a = own(first), *const b = own(second);
    if (number < 0 || number >= EnumMax<DimensionOperation>())
      return refuse(invalid_argument("IExprBuilder::operation: operation {} is not one of the {} there are", number,
                                     EnumMax<DimensionOperation>()));
    if (a == nullptr || b == nullptr)
      return refuse(invalid_argument("IExprBuilder::operation: an expression that this builder did not make"));
    const std::optional<Dim> result = kOperations[number](a->dim, b->dim);
    if (!result) return refuse(invalid_argument("IExprBuilder::operation: the expression is too large"));
    return made(*result);
  } catch (...) {
    return nullptr;
  }
}

const IDimensionExpr* ExprBuilder::declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                                     const IDimensionExpr& upper) {
  const DimensionExpr *const likely = own(opt), *const most = own(upper);
  if (likely == nullptr || most == nullptr)
    return refuse(invalid_argument("IExprBuilder::declareSizeTensor: an expression that this builder did not make"));
  if (outputIndex < 0) return refuse(invalid_argument("IExprBuilder::declareSizeTensor: output {}", outputIndex));
  sizes_.push_back({outputIndex, likely->dim, most->dim});
  return made(CustomOp::size_symbol(outputIndex), true);
}

Result<DimsExprs> ExprBuilder::exprs(const std::vector<Dim>& dims) {
  DimsExprs result{};
  result.nbDims = static_cast<int32_t>(dims.size());
  if (dims.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    return unsupported("a shape input of {} elements; plugins take {} at most", dims.size(),
                       static_cast<int32_t>(nvinfer1::Dims::MAX_DIMS));
  for (size_t a = 0; a < dims.size(); ++a) result.d[a] = made(dims[a]);
  return result;
}

Result<Shape> ExprBuilder::shape_of(const DimsExprs& exprs) const {
  if (exprs.nbDims < 0 || exprs.nbDims > nvinfer1::Dims::MAX_DIMS)
    return invalid_argument("a shape of {} dimensions", exprs.nbDims);
  Shape shape;
  for (int32_t a = 0; a < exprs.nbDims; ++a) {
    const DimensionExpr* const e = exprs.d[a] == nullptr ? nullptr : own(*exprs.d[a]);
    if (e == nullptr) return invalid_argument("dimension {} is null, or no expression of this builder's", a);
    shape.push_back(e->dim);
  }
  return shape;
}

}  // namespace wootz::api
