// IScaleLayer, INormalizationLayer, ILRNLayer.
#pragma once

#include "wootz/layer.h"
#include "wootz/level.h"
#include "wootz/weights.h"

namespace nvinfer1 {

/// What a weight of a scale layer applies to.
enum class ScaleMode : int32_t {
  /// The whole tensor: one weight.
  kUNIFORM = 0,
  /// A channel: one weight for each.
  kCHANNEL = 1,
  /// An element: one weight for each, from the channel axis on.
  kELEMENTWISE = 2,
};

template <>
struct impl::EnumMaxImpl<ScaleMode> {
  static constexpr int32_t kVALUE = 3;
};

/// (x * scale + shift) ^ power, with constants.
class IScaleLayer : public ILayer {
 public:
  /// What one weight applies to.
  virtual void setMode(ScaleMode mode) noexcept = 0;
  virtual ScaleMode getMode() const noexcept = 0;

  /// Constants; an empty one stands for 0 (shift) or 1 (scale, power).
  virtual void setShift(Weights shift) noexcept = 0;
  virtual Weights getShift() const noexcept = 0;
  virtual void setScale(Weights scale) noexcept = 0;
  virtual Weights getScale() const noexcept = 0;
  virtual void setPower(Weights power) noexcept = 0;
  virtual Weights getPower() const noexcept = 0;

  /// Axis of the channels; 1 by default.
  virtual int32_t getChannelAxis() const noexcept = 0;
  virtual void setChannelAxis(int32_t channelAxis) noexcept = 0;

 protected:
  ~IScaleLayer() noexcept override = default;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, over the axes of setAxes and, with groups, over each group of
/// channels: layer, instance and group normalization. Inputs: 0 x, 1 scale, 2 bias, which broadcast to x or, in the V2
/// form, are one-dimensional per channel.
class INormalizationLayer : public ILayer {
 public:
  /// Keeps the root away from 0; 1e-5 by default.
  virtual void setEpsilon(float eps) noexcept = 0;
  virtual float getEpsilon() const noexcept = 0;

  /// Axes to average over, as bits 1U << axis.
  virtual void setAxes(uint32_t axesMask) noexcept = 0;
  virtual uint32_t getAxes() const noexcept = 0;

  /// Groups of channels, when the axes are all space dimensions; 1 by default.
  virtual void setNbGroups(int64_t nbGroups) noexcept = 0;
  virtual int64_t getNbGroups() const noexcept = 0;

  WOOTZ_UNTIL_10
  /// Type of the sums, kFLOAT by default or kHALF.
  TRT_DEPRECATED virtual void setComputePrecision(DataType type) noexcept = 0;
  TRT_DEPRECATED virtual DataType getComputePrecision() const noexcept = 0;

 public:
  /// True when made by addNormalizationV2.
  virtual bool isV2() const noexcept = 0;

 protected:
  ~INormalizationLayer() noexcept override = default;
};

/// Local response normalization across channels: x / (k + alpha / window * sum of squares) ^ beta, over `window`
/// channels around each.
class ILRNLayer : public ILayer {
 public:
  /// Odd, from 1 to 15.
  virtual void setWindowSize(int64_t windowSize) noexcept = 0;
  virtual int64_t getWindowSize() const noexcept = 0;

  /// Parameters, within [-1e20, 1e20], [0.01, 1e5] and [1e-5, 1e10].
  virtual void setAlpha(float alpha) noexcept = 0;
  virtual float getAlpha() const noexcept = 0;
  virtual void setBeta(float beta) noexcept = 0;
  virtual float getBeta() const noexcept = 0;
  virtual void setK(float k) noexcept = 0;
  virtual float getK() const noexcept = 0;

 protected:
  ~ILRNLayer() noexcept override = default;
};

}  // namespace nvinfer1
