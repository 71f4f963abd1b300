// IOptimizationProfile: the range of shapes an engine is built for.
#pragma once

#include <cstdint>

#include "wootz/dims.h"
#include "wootz/enum_max.h"
#include "wootz/macros.h"
#include "wootz/no_copy.h"

namespace nvinfer1 {

enum class OptProfileSelector : int32_t {
  kMIN = 0,
  kOPT = 1,
  kMAX = 2,
};

template <>
struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

class IOptimizationProfile : public INoCopy {
 public:
  virtual bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept = 0;
  virtual Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept = 0;
  TRT_DEPRECATED virtual bool setShapeValues(const char* inputName, OptProfileSelector select, const int32_t* values,
                                             int32_t nbValues) noexcept = 0;
  virtual int32_t getNbShapeValues(const char* inputName) const noexcept = 0;
  TRT_DEPRECATED virtual const int32_t* getShapeValues(const char* inputName,
                                                       OptProfileSelector select) const noexcept = 0;
  virtual bool setExtraMemoryTarget(float target) noexcept = 0;
  virtual float getExtraMemoryTarget() const noexcept = 0;
  virtual bool isValid() const noexcept = 0;
  virtual bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                                int32_t nbValues) noexcept = 0;
  virtual const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept = 0;
};

}  // namespace nvinfer1
