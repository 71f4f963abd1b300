// The check of every factory.
#pragma once

#include <cstdint>
#include <optional>

#include "api/runtime/level.h"

namespace wootz::api {

// The logger of a program compiled for this NV_TENSORRT_VERSION. None, and logged where there is a logger: the library
// does not serve this version, or the logger is null. It becomes the logger of the process.
std::optional<AppLogger> admit(void* logger, int32_t version) noexcept;

}  // namespace wootz::api
