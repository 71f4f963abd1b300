// IDimensionExpr and IExprBuilder: extents as expressions over input extents, for plugins.
#pragma once

#include <cstdint>

#include "wootz/enum_max.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  kFLOOR_DIV = 7,
  kCEIL_DIV = 8,
};

template <>
struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

class IDimensionExpr : public INoCopy {
 public:
  virtual bool isConstant() const noexcept = 0;
  virtual int64_t getConstantValue() const noexcept = 0;
  virtual bool isSizeTensor() const noexcept = 0;
};

class IExprBuilder : public INoCopy {
 public:
  virtual const IDimensionExpr* constant(int64_t value) noexcept = 0;
  virtual const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                          const IDimensionExpr& second) noexcept = 0;
  virtual const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                                  const IDimensionExpr& upper) noexcept = 0;
};

}  // namespace nvinfer1
