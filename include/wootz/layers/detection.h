// INMSLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class BoundingBoxFormat : int32_t {
  /// x1, y1, x2, y2 of two opposite corners.
  kCORNER_PAIRS = 0,
  /// x, y of the centre, then width and height.
  kCENTER_SIZES = 1,
};

template <>
struct impl::EnumMaxImpl<BoundingBoxFormat> {
  static constexpr int32_t kVALUE = 2;
};

/// Non-maximum suppression. Inputs: 0 boxes [N, boxes, 4] or [N, boxes, classes, 4], 1 scores [N, boxes, classes], 2
/// the most boxes a class may keep, a scalar; optional scalars: 3 overlap (intersection over union) above which the
/// lower score is dropped, 0 if not given, 4 smallest score. Outputs: 0 rows of batch, class and box index, 1 how many
/// rows there are.
class INMSLayer : public ILayer {
 public:
  /// kCORNER_PAIRS by default.
  virtual void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept = 0;
  virtual BoundingBoxFormat getBoundingBoxFormat() const noexcept = 0;

  /// Only this many best boxes of a class are considered; 2000 by default.
  virtual void setTopKBoxLimit(int32_t limit) noexcept = 0;
  virtual int32_t getTopKBoxLimit() const noexcept = 0;

  /// kINT32, the default, or kINT64. False for others.
  virtual bool setIndicesType(DataType type) noexcept = 0;
  virtual DataType getIndicesType() const noexcept = 0;

 protected:
  ~INMSLayer() noexcept override = default;
};

}  // namespace nvinfer1
