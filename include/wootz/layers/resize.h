// IResizeLayer and IGridSampleLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/layers/shape.h"

namespace nvinfer1 {

enum class InterpolationMode : int32_t {
  kNEAREST = 0,
  kLINEAR = 1,
  kCUBIC = 2,
};

template <>
struct impl::EnumMaxImpl<InterpolationMode> {
  static constexpr int32_t kVALUE = 3;
};

enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,
  kASYMMETRIC = 1,
  kHALF_PIXEL = 2,
};

template <>
struct impl::EnumMaxImpl<ResizeCoordinateTransformation> {
  static constexpr int32_t kVALUE = 3;
};

enum class ResizeSelector : int32_t {
  kFORMULA = 0,
  kUPPER = 1,
};

template <>
struct impl::EnumMaxImpl<ResizeSelector> {
  static constexpr int32_t kVALUE = 2;
};

enum class ResizeRoundMode : int32_t {
  kHALF_UP = 0,
  kHALF_DOWN = 1,
  kFLOOR = 2,
  kCEIL = 3,
};

template <>
struct impl::EnumMaxImpl<ResizeRoundMode> {
  static constexpr int32_t kVALUE = 4;
};

class IResizeLayer : public ILayer {
 public:
  virtual void setOutputDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getOutputDimensions() const noexcept = 0;
  virtual void setScales(const float* scales, int32_t nbScales) noexcept = 0;
  virtual int32_t getScales(int32_t size, float* scales) const noexcept = 0;
  virtual void setResizeMode(InterpolationMode interpolationMode) noexcept = 0;
  virtual InterpolationMode getResizeMode() const noexcept = 0;
  virtual void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept = 0;
  virtual ResizeCoordinateTransformation getCoordinateTransformation() const noexcept = 0;
  virtual void setSelectorForSinglePixel(ResizeSelector selector) noexcept = 0;
  virtual ResizeSelector getSelectorForSinglePixel() const noexcept = 0;
  virtual void setNearestRounding(ResizeRoundMode value) noexcept = 0;
  virtual ResizeRoundMode getNearestRounding() const noexcept = 0;
  virtual void setCubicCoeff(float A) noexcept = 0;
  virtual float getCubicCoeff() const noexcept = 0;
  virtual void setExcludeOutside(bool excludeFlag) noexcept = 0;
  virtual bool getExcludeOutside() const noexcept = 0;
};

class IGridSampleLayer : public ILayer {
 public:
  virtual void setInterpolationMode(InterpolationMode mode) noexcept = 0;
  virtual InterpolationMode getInterpolationMode() const noexcept = 0;
  virtual void setAlignCorners(bool alignCorners) noexcept = 0;
  virtual bool getAlignCorners() const noexcept = 0;
  virtual bool setSampleMode(SampleMode mode) noexcept = 0;
  virtual SampleMode getSampleMode() const noexcept = 0;
};

}  // namespace nvinfer1
