// IExprBuilder and its expressions, over the IR's dimensions.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "api/public.h"
#include "ir/custom_op.h"

namespace wootz::api {

class DimensionExpr final : public nvinfer1::IDimensionExpr {
 public:
  DimensionExpr(Dim dim, bool is_size) : dim(std::move(dim)), is_size(is_size) {}
  bool isConstant() const noexcept override { return dim.is_const(); }
  int64_t getConstantValue() const noexcept override { return dim.is_const() ? dim.value() : INT64_MIN; }
  bool isSizeTensor() const noexcept override { return is_size; }

  const Dim dim;
  const bool is_size;
};

// Of one call of a plugin.
class ExprBuilder final : public nvinfer1::IExprBuilder {
 public:
  const nvinfer1::IDimensionExpr* constant(int64_t value) noexcept override;
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation op, const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) noexcept override;
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t outputIndex, const nvinfer1::IDimensionExpr& opt,
                                                    const nvinfer1::IDimensionExpr& upper) override;

  const nvinfer1::IDimensionExpr* made(Dim dim, bool is_size = false);
  // Errors: more dimensions than there may be.
  Result<nvinfer1::DimsExprs> exprs(const std::vector<Dim>& dims);
  // A shape that the plugin gave. Errors: a rank outside of the limits, a null, another builder's expression.
  Result<Shape> shape_of(const nvinfer1::DimsExprs& exprs) const;
  const std::vector<CustomResults::Size>& sizes() const { return sizes_; }
  // Why an expression was refused, where one was.
  const Status& refused() const { return refused_; }

 private:
  const DimensionExpr* own(const nvinfer1::IDimensionExpr& expr) const;
  const nvinfer1::IDimensionExpr* refuse(Status why);

  std::deque<DimensionExpr> made_;
  std::vector<CustomResults::Size> sizes_;
  Status refused_;
};

}  // namespace wootz::api
