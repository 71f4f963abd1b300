// IMatrixMultiplyLayer and IEinsumLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

/// How an operand is read.
enum class MatrixOperation : int32_t {
  /// Its last two dimensions are a matrix.
  kNONE = 0,
  /// Its last two dimensions are a matrix, to be transposed.
  kTRANSPOSE = 1,
  /// Its last dimension is a vector: a row on the left, a column on the right, which disappears from the output.
  kVECTOR = 2,
};

template <>
struct impl::EnumMaxImpl<MatrixOperation> {
  static constexpr int32_t kVALUE = 3;
};

/// Product of inputs 0 and 1 over their innermost dimensions; outer dimensions are a batch, in which extents of 1 are
/// stretched.
class IMatrixMultiplyLayer : public ILayer {
 public:
  /// How operand `index`, 0 or 1, is read.
  virtual void setOperation(int32_t index, MatrixOperation op) noexcept = 0;
  virtual MatrixOperation getOperation(int32_t index) const noexcept = 0;

 protected:
  ~IMatrixMultiplyLayer() noexcept override = default;
};

/// Sum of products in index notation.
class IEinsumLayer : public ILayer {
 public:
  /// As "ij,jk->ik": a lower-case letter a dimension, inputs apart by commas. Copied. False when it cannot be read.
  virtual bool setEquation(const char* equation) noexcept = 0;
  virtual const char* getEquation() const noexcept = 0;

 protected:
  ~IEinsumLayer() noexcept override = default;
};

}  // namespace nvinfer1
