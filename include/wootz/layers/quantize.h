// IQuantizeLayer, IDequantizeLayer, IDynamicQuantizeLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"

namespace nvinfer1 {

/// round(x / scale) + zero point, saturated to the output type: kINT8, kFP8, kINT4 or kFP4. Halves round to even.
/// Inputs: 0 x, 1 scale, optional 2 zero point. Scale is a scalar, one-dimensional along the axis, or of x's rank with
/// an entry per block.
class IQuantizeLayer : public ILayer {
 public:
  /// Axis of a one-dimensional scale; 1 by default for more than one entry.
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;

  /// Extents of the block that shares a scale; -1 for a whole axis. False when the rank is wrong.
  virtual bool setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;

  /// Type of the output.
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;

 protected:
  ~IQuantizeLayer() noexcept override = default;
};

/// (x - zero point) * scale. Inputs and scale as for IQuantizeLayer, with x the quantized tensor.
class IDequantizeLayer : public ILayer {
 public:
  /// Axis of a one-dimensional scale.
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;

  /// Extents of the block that shares a scale. False when the rank is wrong.
  virtual bool setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;

  /// Type of the output: kFLOAT, kHALF or kBF16.
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;

 protected:
  ~IDequantizeLayer() noexcept override = default;
};

/// Quantizes with scales found from the values of each block, during inference: output 0 the quantized tensor, output 1
/// the scales. Optional input 1: a scale of the scales (kFP4).
class IDynamicQuantizeLayer : public ILayer {
 public:
  /// Type of output 0: kFP4 or kFP8.
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;

  /// Type of output 1: kFP8 for kFP4, kE8M0 for kFP8.
  virtual void setScaleType(DataType scaleType) noexcept = 0;
  virtual DataType getScaleType() const noexcept = 0;

  /// V1 form of the block: `size` elements along one axis.
  TRT_DEPRECATED virtual void setAxis(int32_t axis) noexcept = 0;
  TRT_DEPRECATED virtual int32_t getAxis() const noexcept = 0;
  TRT_DEPRECATED virtual void setBlockSize(int32_t size) noexcept = 0;
  TRT_DEPRECATED virtual int32_t getBlockSize() const noexcept = 0;

  /// Extents of a block, one for each axis.
  virtual void setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;

 protected:
  ~IDynamicQuantizeLayer() noexcept override = default;
};

}  // namespace nvinfer1
