// IQuantizeLayer, IDequantizeLayer, IDynamicQuantizeLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"

namespace nvinfer1 {

class IQuantizeLayer : public ILayer {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual bool setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
};

class IDequantizeLayer : public ILayer {
 public:
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual bool setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
};

class IDynamicQuantizeLayer : public ILayer {
 public:
  virtual void setToType(DataType toType) noexcept = 0;
  virtual DataType getToType() const noexcept = 0;
  virtual void setScaleType(DataType scaleType) noexcept = 0;
  virtual DataType getScaleType() const noexcept = 0;
  TRT_DEPRECATED virtual void setAxis(int32_t axis) noexcept = 0;
  TRT_DEPRECATED virtual int32_t getAxis() const noexcept = 0;
  TRT_DEPRECATED virtual void setBlockSize(int32_t size) noexcept = 0;
  TRT_DEPRECATED virtual int32_t getBlockSize() const noexcept = 0;
  virtual void setBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getBlockShape() const noexcept = 0;
};

}  // namespace nvinfer1
