// IPoolingLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/layers/padding_mode.h"

namespace nvinfer1 {

enum class PoolingType : int32_t {
  /// Largest value in the window.
  kMAX = 0,
  /// Mean of the window.
  kAVERAGE = 1,
  /// (1 - b) * max + b * mean, with b the blend factor.
  kMAX_AVERAGE_BLEND = 2,
};

template <>
struct impl::EnumMaxImpl<PoolingType> {
  static constexpr int32_t kVALUE = 3;
};

/// Reduces windows over two or three space dimensions of [N, C, space...]. Dims below have one entry per space
/// dimension.
class IPoolingLayer : public ILayer {
 public:
  /// What is computed of a window.
  virtual void setPoolingType(PoolingType type) noexcept = 0;
  virtual PoolingType getPoolingType() const noexcept = 0;

  /// Weight of the mean in kMAX_AVERAGE_BLEND, in [0, 1]; 0 by default.
  virtual void setBlendFactor(float blendFactor) noexcept = 0;
  virtual float getBlendFactor() const noexcept = 0;

  /// Whether the mean divides by the elements inside the image only; true by default.
  virtual void setAverageCountExcludesPadding(bool exclusive) noexcept = 0;
  virtual bool getAverageCountExcludesPadding() const noexcept = 0;

  /// Padding before and after each space dimension; 0 by default. It never wins a maximum.
  virtual void setPrePadding(const Dims& padding) noexcept = 0;
  virtual Dims getPrePadding() const noexcept = 0;
  virtual void setPostPadding(const Dims& padding) noexcept = 0;
  virtual Dims getPostPadding() const noexcept = 0;

  /// See PaddingMode; kEXPLICIT_ROUND_DOWN by default.
  virtual void setPaddingMode(PaddingMode paddingMode) noexcept = 0;
  virtual PaddingMode getPaddingMode() const noexcept = 0;

  /// Window, stride (1 by default), and equal padding on both sides.
  virtual void setWindowSizeNd(const Dims& windowSize) noexcept = 0;
  virtual Dims getWindowSizeNd() const noexcept = 0;
  virtual void setStrideNd(const Dims& stride) noexcept = 0;
  virtual Dims getStrideNd() const noexcept = 0;
  virtual void setPaddingNd(const Dims& padding) noexcept = 0;
  virtual Dims getPaddingNd() const noexcept = 0;

 protected:
  ~IPoolingLayer() noexcept override = default;
};

}  // namespace nvinfer1
