// ITensor: a value in a network.
#pragma once

#include <cstdint>

#include "wootz/dims.h"
#include "wootz/dtype.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"
#include "wootz/tensor_enums.h"
#include "wootz/tensor_format.h"

namespace nvinfer1 {

/// An input of the network or an output of a layer. Owned by the network; do not delete it. As with the network, one
/// thread at a time.
class ITensor : public INoCopy {
 public:
  /// Name, copied, under 4096 bytes. Inputs and outputs of the network need distinct ones; other tensors have one made
  /// from their layer's.
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Type of a network input or, in a network that is not strongly typed, of an output. For tensors in between use
  /// ILayer::setOutputType or a cast.
  TRT_DEPRECATED virtual void setType(DataType type) noexcept = 0;

 public:
  virtual DataType getType() const noexcept = 0;

  /// Extents of a network input, -1 where open until run time. For other tensors they follow from the layers, and
  /// setting fails with an error.
  virtual void setDimensions(const Dims& dimensions) noexcept = 0;

  /// Extents, -1 where they depend on the inputs; nbDims -1 when the layer's inputs do not fit together, which is also
  /// logged.
  virtual Dims getDimensions() const noexcept = 0;

  /// Name of a dimension of a network input, copied; null removes it, and is the answer where there is none. Open
  /// dimensions of one name must be equal at run time.
  virtual void setDimensionName(int32_t index, const char* name) noexcept = 0;
  virtual const char* getDimensionName(int32_t index) const noexcept = 0;

  /// Whether it is an input, or has been marked as an output.
  virtual bool isNetworkInput() const noexcept = 0;
  virtual bool isNetworkOutput() const noexcept = 0;

  /// True when the values are, or may become, part of a shape: computed on the host, int32, int64, bool or float, rank
  /// 0 or 1 or a few elements. A tensor can be both this and an execution tensor. Known for certain only once the
  /// network is complete.
  virtual bool isShapeTensor() const noexcept = 0;

  /// True when the values are computed on the device.
  virtual bool isExecutionTensor() const noexcept = 0;

  /// Layouts allowed at the network's edge, as bits 1U << TensorFormat; any by default, which means linear. Inputs and
  /// outputs only.
  virtual void setAllowedFormats(TensorFormats formats) noexcept = 0;
  virtual TensorFormats getAllowedFormats() const noexcept = 0;

  /// Where values of a network input or output lie: host for shape tensors, device otherwise.
  virtual TensorLocation getLocation() const noexcept = 0;

  /// Only for network inputs and outputs; the location follows from the tensor's use, and setting another one is
  /// ignored, with a warning.
  TRT_DEPRECATED virtual void setLocation(TensorLocation location) noexcept = 0;

  WOOTZ_UNTIL_10
  /// Range of the values, for implicit INT8 quantization: scale is max(|min|, |max|) / 127. False unless min <= max
  /// and both are finite. Unset, the bounds read as NaN.
  TRT_DEPRECATED virtual bool setDynamicRange(float min, float max) noexcept = 0;
  TRT_DEPRECATED virtual bool dynamicRangeIsSet() const noexcept = 0;
  virtual void resetDynamicRange() noexcept = 0;
  virtual float getDynamicRangeMin() const noexcept = 0;
  virtual float getDynamicRangeMax() const noexcept = 0;

 public:
  /// Leftovers of the implicit batch: setting does nothing, and the answer is false.
  TRT_DEPRECATED virtual void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept = 0;
  TRT_DEPRECATED virtual bool getBroadcastAcrossBatch() const noexcept = 0;

 protected:
  ~ITensor() noexcept override = default;
};

}  // namespace nvinfer1
