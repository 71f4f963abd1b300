#include "api/runtime/level.h"

#include "api/runtime/level_11.h"

namespace wootz::api {
namespace {

// Gaps are enumerators that level 11 has given up.
constexpr int8_t kBuilderFlags[] = {-1, -1, 2,  3,  4,  5,  6,  7,  8,  -1, -1, 11, 13, 14,
                                    -1, 16, -1, 18, 19, 20, 21, -1, 23, 24, 25, -1, 27, 28};
constexpr int8_t kPreviewFeatures[] = {1, 2};
constexpr int8_t kTacticSources[] = {3, 4};
constexpr int8_t kNetworkFlags[] = {1, 2, 3};

}  // namespace

template <>
std::span<const int8_t> numbers_of_11<nvinfer1::BuilderFlag>() {
  return kBuilderFlags;
}
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::PreviewFeature>() {
  return kPreviewFeatures;
}
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::TacticSource>() {
  return kTacticSources;
}
template <>
std::span<const int8_t> numbers_of_11<nvinfer1::NetworkDefinitionCreationFlag>() {
  return kNetworkFlags;
}

ApiLevel level_of(int32_t version) {
  const int32_t major = version / 10000;
  return major == NV_TENSORRT_MAJOR             ? ApiLevel::k10
         : major == level_11::version() / 10000 ? ApiLevel::k11
                                                : ApiLevel::kUnknown;
}

int32_t version_at(ApiLevel level) { return level == ApiLevel::k11 ? level_11::version() : NV_TENSORRT_VERSION; }

void AppLogger::log(nvinfer1::ILogger::Severity severity, const char* text) const noexcept {
  if (object == nullptr) return;
  if (level == ApiLevel::k11)
    level_11::log(object, static_cast<int32_t>(severity), text);
  else if (level == ApiLevel::k10)
    object->log(severity, text);
}

void AppProfiler::report(const char* step, float ms) const noexcept {
  if (level == ApiLevel::k11)
    level_11::report_time(object, step, ms);
  else
    object->reportLayerTime(step, ms);
}

}  // namespace wootz::api
