// INMSLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class BoundingBoxFormat : int32_t {
  kCORNER_PAIRS = 0,
  kCENTER_SIZES = 1,
};

template <>
struct impl::EnumMaxImpl<BoundingBoxFormat> {
  static constexpr int32_t kVALUE = 2;
};

class INMSLayer : public ILayer {
 public:
  virtual void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept = 0;
  virtual BoundingBoxFormat getBoundingBoxFormat() const noexcept = 0;
  virtual void setTopKBoxLimit(int32_t limit) noexcept = 0;
  virtual int32_t getTopKBoxLimit() const noexcept = 0;
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;
};

}  // namespace nvinfer1
