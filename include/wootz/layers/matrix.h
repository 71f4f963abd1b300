// IMatrixMultiplyLayer and IEinsumLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class MatrixOperation : int32_t {
  kNONE = 0,
  kTRANSPOSE = 1,
  kVECTOR = 2,
};

template <>
struct impl::EnumMaxImpl<MatrixOperation> {
  static constexpr int32_t kVALUE = 3;
};

class IMatrixMultiplyLayer : public ILayer {
 public:
  virtual void setOperation(int32_t index, MatrixOperation op) noexcept = 0;
  virtual MatrixOperation getOperation(int32_t index) const noexcept = 0;
};

class IEinsumLayer : public ILayer {
 public:
  virtual bool setEquation(const char* equation) noexcept = 0;
  virtual const char* getEquation() const noexcept = 0;
};

}  // namespace nvinfer1
