// ITensor: a value in a network.
#pragma once

#include <cstdint>

#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/tensor_enums.h"
#include "wootz/tensor_format.h"

namespace nvinfer1 {

class ITensor : public INoCopy {
 public:
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  TRT_DEPRECATED virtual void setType(DataType type) noexcept = 0;
  virtual DataType getType() const noexcept = 0;
  TRT_DEPRECATED virtual bool setDynamicRange(float min, float max) noexcept = 0;
  virtual bool isNetworkInput() const noexcept = 0;
  virtual bool isNetworkOutput() const noexcept = 0;
  TRT_DEPRECATED virtual void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept = 0;
  TRT_DEPRECATED virtual bool getBroadcastAcrossBatch() const noexcept = 0;
  virtual TensorLocation getLocation() const noexcept = 0;
  TRT_DEPRECATED virtual void setLocation(TensorLocation location) noexcept = 0;
  TRT_DEPRECATED virtual bool dynamicRangeIsSet() const noexcept = 0;
  virtual void resetDynamicRange() noexcept = 0;
  virtual float getDynamicRangeMin() const noexcept = 0;
  virtual float getDynamicRangeMax() const noexcept = 0;
  virtual void setAllowedFormats(TensorFormats formats) noexcept = 0;
  virtual TensorFormats getAllowedFormats() const noexcept = 0;
  virtual bool isShapeTensor() const noexcept = 0;
  virtual bool isExecutionTensor() const noexcept = 0;
  virtual void setDimensionName(int32_t index, const char* name) noexcept = 0;
  virtual const char* getDimensionName(int32_t index) const noexcept = 0;
};

}  // namespace nvinfer1
