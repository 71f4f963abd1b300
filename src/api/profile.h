// IOptimizationProfile.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/public.h"
#include "api/runtime/reporter.h"
#include "build/profiles.h"

namespace wootz::api {

class ProfileImpl final : public nvinfer1::IOptimizationProfile {
 public:
  explicit ProfileImpl(const Reporter& reporter) : reporter_(reporter) {}

  bool setDimensions(const char* inputName, nvinfer1::OptProfileSelector select,
                     const nvinfer1::Dims& dims) noexcept override;
  nvinfer1::Dims getDimensions(const char* inputName, nvinfer1::OptProfileSelector select) const noexcept override;
  bool setShapeValuesV2(const char* inputName, nvinfer1::OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept override;
  const int64_t* getShapeValuesV2(const char* inputName, nvinfer1::OptProfileSelector select) const noexcept override;
  int32_t getNbShapeValues(const char* inputName) const noexcept override;
  bool setShapeValues(const char* inputName, nvinfer1::OptProfileSelector select, const int32_t* values,
                      int32_t nbValues) noexcept override;
  const int32_t* getShapeValues(const char* inputName, nvinfer1::OptProfileSelector select) const noexcept override;
  bool isValid() const noexcept override;
  bool setExtraMemoryTarget(float target) noexcept override {
    const bool valid = target >= 0 && target <= 1;
    if (valid) extra_memory_ = target;
    return valid;
  }
  float getExtraMemoryTarget() const noexcept override { return extra_memory_; }

  // What was set, for a build. Only for valid profiles.
  BuildProfile to_build_profile() const;

 private:
  struct Values {
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;  // when they were set as 32-bit ones
  };
  Status set_values(const char* name, nvinfer1::OptProfileSelector select, Values values);
  static bool ordered(const std::array<std::optional<Dims>, 3>& dims);
  static bool ordered(const std::array<std::optional<Values>, 3>& values);

  Reporter reporter_;
  float extra_memory_ = 0;
  std::map<std::string, std::array<std::optional<Dims>, 3>, std::less<>> dims_;
  std::map<std::string, std::array<std::optional<Values>, 3>, std::less<>> values_;
};

}  // namespace wootz::api
