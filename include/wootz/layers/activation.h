// IActivationLayer, IParametricReLULayer, ISoftMaxLayer, IRaggedSoftMaxLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

/// Functions of one element x, some with parameters a (alpha) and b (beta).
enum class ActivationType : int32_t {
  /// max(0, x).
  kRELU = 0,
  /// 1 / (1 + exp(-x)).
  kSIGMOID = 1,
  /// tanh(x).
  kTANH = 2,
  /// x for x >= 0, a * x below.
  kLEAKY_RELU = 3,
  /// x for x >= 0, a * (exp(x) - 1) below.
  kELU = 4,
  /// b * x for x > 0, b * (a * exp(x) - a) below.
  kSELU = 5,
  /// x / (1 + |x|).
  kSOFTSIGN = 6,
  /// a * log(exp(b * x) + 1).
  kSOFTPLUS = 7,
  /// max(a, min(b, x)).
  kCLIP = 8,
  /// max(0, min(1, a * x + b)).
  kHARD_SIGMOID = 9,
  /// a * tanh(b * x).
  kSCALED_TANH = 10,
  /// x for x > a, 0 otherwise.
  kTHRESHOLDED_RELU = 11,
  /// 0.5 * x * (1 + erf(x / sqrt(2))).
  kGELU_ERF = 12,
  /// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  kGELU_TANH = 13,
};

template <>
struct impl::EnumMaxImpl<ActivationType> {
  static constexpr int32_t kVALUE = 14;
};

/// An ActivationType applied to each element.
class IActivationLayer : public ILayer {
 public:
  /// Which function.
  virtual void setActivationType(ActivationType type) noexcept = 0;
  virtual ActivationType getActivationType() const noexcept = 0;

  /// The parameters a and b; 0 by default.
  virtual void setAlpha(float alpha) noexcept = 0;
  virtual void setBeta(float beta) noexcept = 0;
  virtual float getAlpha() const noexcept = 0;
  virtual float getBeta() const noexcept = 0;

 protected:
  ~IActivationLayer() noexcept override = default;
};

/// x for x >= 0, slope * x below. Input 1, the slope, broadcasts to input 0.
class IParametricReLULayer : public ILayer {
 protected:
  ~IParametricReLULayer() noexcept override = default;
};

/// exp(x - max) / sum, along one axis, without overflow.
class ISoftMaxLayer : public ILayer {
 public:
  /// The axis as a bit 1U << axis; exactly one bit. By default axis max(0, rank - 3), the channel of an image.
  virtual void setAxes(uint32_t axes) noexcept = 0;
  virtual uint32_t getAxes() const noexcept = 0;

 protected:
  ~ISoftMaxLayer() noexcept override = default;
};

/// Softmax along the last axis of input 0, [Z, S], over the first bounds[z] elements of each row; 0 after them. Input 1
/// holds the bounds, int32, [Z, 1].
class IRaggedSoftMaxLayer : public ILayer {
 protected:
  ~IRaggedSoftMaxLayer() noexcept override = default;
};

}  // namespace nvinfer1
