// The check of every factory.
#pragma once

#include <cstdint>

#include "api/runtime/public.h"

namespace wootz::api {

// Whether a program compiled for this NV_TENSORRT_VERSION can use the library: same major version. Logs when not.
bool version_fits(nvinfer1::ILogger* logger, int32_t version) noexcept;

}  // namespace wootz::api
