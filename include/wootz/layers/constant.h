// Layers that make or retype values: constant, fill, cast, identity; and the assertion.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/weights.h"

namespace nvinfer1 {

class IConstantLayer : public ILayer {
 public:
  virtual void setWeights(Weights weights) noexcept = 0;
  virtual Weights getWeights() const noexcept = 0;
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
};

enum class FillOperation : int32_t {
  kLINSPACE = 0,
  kRANDOM_UNIFORM = 1,
  kRANDOM_NORMAL = 2,
};

template <>
struct impl::EnumMaxImpl<FillOperation> {
  static constexpr int32_t kVALUE = 3;
};

class IFillLayer : public ILayer {
 public:
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  virtual void setOperation(FillOperation op) noexcept = 0;
  virtual FillOperation getOperation() const noexcept = 0;
  virtual void setAlpha(double alpha) noexcept = 0;
  virtual double getAlpha() const noexcept = 0;
  virtual void setBeta(double beta) noexcept = 0;
  virtual double getBeta() const noexcept = 0;
  virtual void setAlphaInt64(int64_t alpha) noexcept = 0;
  virtual int64_t getAlphaInt64() const noexcept = 0;
  virtual void setBetaInt64(int64_t beta) noexcept = 0;
  virtual int64_t getBetaInt64() const noexcept = 0;
  virtual bool isAlphaBetaInt64() const noexcept = 0;
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
};

class ICastLayer : public ILayer {
 public:
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
};

class IIdentityLayer : public ILayer {};

class IAssertionLayer : public ILayer {
 public:
  virtual void setMessage(const char* message) noexcept = 0;
  virtual const char* getMessage() const noexcept = 0;
};

}  // namespace nvinfer1
