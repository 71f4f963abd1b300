// IActivationLayer, IParametricReLULayer, ISoftMaxLayer, IRaggedSoftMaxLayer.
#pragma once

#include "wootz/layer.h"

namespace nvinfer1 {

enum class ActivationType : int32_t {
  kRELU = 0,
  kSIGMOID = 1,
  kTANH = 2,
  kLEAKY_RELU = 3,
  kELU = 4,
  kSELU = 5,
  kSOFTSIGN = 6,
  kSOFTPLUS = 7,
  kCLIP = 8,
  kHARD_SIGMOID = 9,
  kSCALED_TANH = 10,
  kTHRESHOLDED_RELU = 11,
  kGELU_ERF = 12,
  kGELU_TANH = 13,
};

template <>
struct impl::EnumMaxImpl<ActivationType> {
  static constexpr int32_t kVALUE = 14;
};

class IActivationLayer : public ILayer {
 public:
  virtual void setActivationType(ActivationType type) noexcept = 0;
  virtual ActivationType getActivationType() const noexcept = 0;
  virtual void setAlpha(float alpha) noexcept = 0;
  virtual void setBeta(float beta) noexcept = 0;
  virtual float getAlpha() const noexcept = 0;
  virtual float getBeta() const noexcept = 0;
};

class IParametricReLULayer : public ILayer {};

class ISoftMaxLayer : public ILayer {
 public:
  virtual void setAxes(uint32_t axes) noexcept = 0;
  virtual uint32_t getAxes() const noexcept = 0;
};

class IRaggedSoftMaxLayer : public ILayer {};

}  // namespace nvinfer1
