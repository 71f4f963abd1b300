// IDimensionExpr and IExprBuilder: extents as expressions over input extents, for plugins.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

/// Operations on integers. Comparisons give 1 or 0.
enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  /// Quotient rounded towards minus infinity.
  kFLOOR_DIV = 7,
  /// Quotient rounded towards plus infinity.
  kCEIL_DIV = 8,
};

template <>
struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

/// An integer computed from input extents; made by an IExprBuilder, which owns it.
class IDimensionExpr : public INoCopy {
 public:
  /// True when the value does not depend on any input.
  virtual bool isConstant() const noexcept = 0;

  /// The value of a constant; INT64_MIN when it is not one.
  virtual int64_t getConstantValue() const noexcept = 0;

  /// True when the plugin computes the value during inference: see IExprBuilder::declareSizeTensor.
  virtual bool isSizeTensor() const noexcept = 0;

 protected:
  ~IDimensionExpr() noexcept override = default;
};

/// Makes expressions. Valid during the call it is passed to, as are its expressions.
class IExprBuilder : public INoCopy {
 public:
  /// The constant `value`.
  virtual const IDimensionExpr* constant(int64_t value) noexcept = 0;

  /// `first` op `second`; constants are folded. Null for an operation that is not one of DimensionOperation.
  virtual const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                          const IDimensionExpr& second) noexcept = 0;

  /// An extent that only enqueue knows, written to output `outputIndex`, an int32 or int64 scalar. `opt` is what to
  /// tune for, and `upper` bounds it, for the memory plan.
  virtual const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                                  const IDimensionExpr& upper) = 0;

 protected:
  ~IExprBuilder() noexcept override = default;
};

}  // namespace nvinfer1
