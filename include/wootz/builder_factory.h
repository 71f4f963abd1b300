// Entry points of the builder: C symbols, and the typed factory over them.
#pragma once

#include <cstdint>

#include "wootz/char_types.h"
#include "wootz/device.h"
#include "wootz/logger_forward.h"
#include "wootz/macros.h"

namespace nvinfer1 {
class IBuilder;
class IPluginRegistry;
namespace safe {
class IPluginRegistry;
}  // namespace safe
}  // namespace nvinfer1

/// See createInferBuilder; `version` is the caller's NV_TENSORRT_VERSION.
extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1 {
namespace {  // a copy in each translation unit, so that the version is the one it was compiled with

/// A builder that logs to `logger`; owned by the caller. Null on failure.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

}  // namespace

/// The registry that a builder for `capability` searches; null where there is none.
extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getBuilderPluginRegistry(
    nvinfer1::EngineCapability capability) noexcept;

/// The safety runtime is not offered: always null.
extern "C" TRT_DEPRECATED_API TENSORRTAPI nvinfer1::safe::IPluginRegistry* getBuilderSafePluginRegistry(
    nvinfer1::EngineCapability capability) noexcept;

/// Folder in which the library looks for parts of itself: libwootz_runtime.so, which version-compatible plans carry,
/// with what it needs. An empty path: beside this library, as before the first call. False when it is no folder.
extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept;

}  // namespace nvinfer1
