// IOptimizationProfile: the range of shapes an engine is built for.
#pragma once

#include <cstdint>

#include "wootz/dims.h"
#include "wootz/enum_max.h"
#include "wootz/level.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

/// One of a profile's three shapes for an input.
enum class OptProfileSelector : int32_t {
  /// Smallest extents allowed.
  kMIN = 0,
  /// What the engine is tuned for.
  kOPT = 1,
  /// Largest extents allowed.
  kMAX = 2,
};

template <>
struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

/// For each input with open dimensions, and each shape tensor input, the smallest, largest and usual shape or values.
/// An engine may have several profiles, each with kernels of its own; a context uses one at a time. Made by
/// IBuilder::createOptimizationProfile, which owns it. Inputs are known by name, and need not exist yet: everything is
/// checked again when building. Not safe to change from several threads at once.
class IOptimizationProfile : public INoCopy {
 public:
  /// Shape of input `inputName`, with all extents given. False, and nothing changed, when it contradicts what was set:
  /// rank, min <= opt <= max.
  virtual bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept = 0;

  /// What was set; nbDims -1 when nothing was.
  virtual Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept = 0;

  /// Values of shape tensor input `inputName`, copied. `nbValues` is its volume, 1 for a scalar. False as for
  /// setDimensions.
  virtual bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                                int32_t nbValues) noexcept = 0;

  /// What was set, valid until the next change; null when nothing was.
  virtual const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept = 0;

  /// How many values are set for a shape tensor; -1 when none are.
  virtual int32_t getNbShapeValues(const char* inputName) const noexcept = 0;

  WOOTZ_UNTIL_10
  /// As setShapeValuesV2, with 32-bit values.
  TRT_DEPRECATED virtual bool setShapeValues(const char* inputName, OptProfileSelector select, const int32_t* values,
                                             int32_t nbValues) noexcept = 0;

  /// As getShapeValuesV2; null when the values were set as 64-bit ones.
  TRT_DEPRECATED virtual const int32_t* getShapeValues(const char* inputName,
                                                       OptProfileSelector select) const noexcept = 0;

 public:
  /// True when every input that has something set has min, opt and max, and they are in order. A valid profile can
  /// still be refused by a network that it does not fit.
  virtual bool isValid() const noexcept = 0;

  /// Leftover of a removed feature: keeps 0 to 1, and a build says that it has no effect.
  virtual bool setExtraMemoryTarget(float target) noexcept = 0;
  virtual float getExtraMemoryTarget() const noexcept = 0;

 protected:
  ~IOptimizationProfile() noexcept override = default;
};

}  // namespace nvinfer1
