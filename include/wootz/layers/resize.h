// IResizeLayer and IGridSampleLayer.
#pragma once

#include "wootz/dims.h"
#include "wootz/layer.h"
#include "wootz/layers/shape.h"

namespace nvinfer1 {

enum class InterpolationMode : int32_t {
  /// The nearest element.
  kNEAREST = 0,
  /// Between the nearest two of each axis.
  kLINEAR = 1,
  /// Between the nearest four of each axis; two axes.
  kCUBIC = 2,
};

template <>
struct impl::EnumMaxImpl<InterpolationMode> {
  static constexpr int32_t kVALUE = 3;
};

/// Which input position x an output position y stands for; I and O are the extents.
enum class ResizeCoordinateTransformation : int32_t {
  /// x = y * (I - 1) / (O - 1): the outer elements' centres coincide.
  kALIGN_CORNERS = 0,
  /// x = y * I / O.
  kASYMMETRIC = 1,
  /// x = (y + 0.5) * I / O - 0.5.
  kHALF_PIXEL = 2,
};

template <>
struct impl::EnumMaxImpl<ResizeCoordinateTransformation> {
  static constexpr int32_t kVALUE = 3;
};

/// Input position for an axis with a single output element.
enum class ResizeSelector : int32_t {
  /// By the transformation.
  kFORMULA = 0,
  /// The first.
  kUPPER = 1,
};

template <>
struct impl::EnumMaxImpl<ResizeSelector> {
  static constexpr int32_t kVALUE = 2;
};

/// How kNEAREST rounds a position.
enum class ResizeRoundMode : int32_t {
  /// Nearest, halves upwards.
  kHALF_UP = 0,
  /// Nearest, halves downwards.
  kHALF_DOWN = 1,
  kFLOOR = 2,
  kCEIL = 3,
};

template <>
struct impl::EnumMaxImpl<ResizeRoundMode> {
  static constexpr int32_t kVALUE = 4;
};

/// Stretches or shrinks axes by interpolation. Optional input 1: the output extents, a shape tensor.
class IResizeLayer : public ILayer {
 public:
  /// The output's extents; takes the place of scales.
  virtual void setOutputDimensions(const Dims& dimensions) noexcept = 0;
  virtual Dims getOutputDimensions() const noexcept = 0;

  /// O / I for each axis, copied; takes the place of extents. O is floor(I * scale).
  virtual void setScales(const float* scales, int32_t nbScales) noexcept = 0;

  /// Writes up to `size` scales, null allowed, and returns how many there are; -1 when extents decide.
  virtual int32_t getScales(int32_t size, float* scales) const noexcept = 0;

  /// kNEAREST by default.
  virtual void setResizeMode(InterpolationMode interpolationMode) noexcept = 0;
  virtual InterpolationMode getResizeMode() const noexcept = 0;

  /// kASYMMETRIC by default.
  virtual void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept = 0;
  virtual ResizeCoordinateTransformation getCoordinateTransformation() const noexcept = 0;

  /// kFORMULA by default.
  virtual void setSelectorForSinglePixel(ResizeSelector selector) noexcept = 0;
  virtual ResizeSelector getSelectorForSinglePixel() const noexcept = 0;

  /// kFLOOR by default.
  virtual void setNearestRounding(ResizeRoundMode value) noexcept = 0;
  virtual ResizeRoundMode getNearestRounding() const noexcept = 0;

  /// The cubic's coefficient; -0.75 by default.
  virtual void setCubicCoeff(float A) noexcept = 0;
  virtual float getCubicCoeff() const noexcept = 0;

  /// Whether kCUBIC leaves out elements beyond the border, and makes the other weights sum to 1; false by default.
  virtual void setExcludeOutside(bool excludeFlag) noexcept = 0;
  virtual bool getExcludeOutside() const noexcept = 0;

 protected:
  ~IResizeLayer() noexcept override = default;
};

/// Input 0, [N, C, H, W], sampled at the positions in input 1, the grid [N, H', W', 2], whose x, y in [-1, 1] span the
/// image.
class IGridSampleLayer : public ILayer {
 public:
  /// kLINEAR by default.
  virtual void setInterpolationMode(InterpolationMode mode) noexcept = 0;
  virtual InterpolationMode getInterpolationMode() const noexcept = 0;

  /// Whether -1 and 1 are the centres of the outer elements, rather than their outer edges; false by default.
  virtual void setAlignCorners(bool alignCorners) noexcept = 0;
  virtual bool getAlignCorners() const noexcept = 0;

  /// What lies outside: kFILL with 0, the default, kCLAMP or kREFLECT. False for others.
  virtual bool setSampleMode(SampleMode mode) noexcept = 0;
  virtual SampleMode getSampleMode() const noexcept = 0;

 protected:
  ~IGridSampleLayer() noexcept override = default;
};

}  // namespace nvinfer1
