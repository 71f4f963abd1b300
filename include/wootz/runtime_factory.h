// Entry points of the runtime: C symbols, and typed factories over them.
#pragma once

#include <cstdint>

#include "wootz/logger_forward.h"
#include "wootz/macros.h"

namespace nvinfer1 {
class IRuntime;
class IRefitter;
class ICudaEngine;
class IPluginRegistry;
}  // namespace nvinfer1

/// The factories that programs link against. `version` is the caller's NV_TENSORRT_VERSION: a library of another major
/// version refuses it and returns null.
extern "C" TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
extern "C" TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept;

/// The process-wide plugin registry; never null, and there before main().
extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

/// The logger that the process's builders, runtimes and refitters were created with; null before the first of them.
extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;

/// Version of the library, which may differ from that of the headers a program was compiled with.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;

namespace nvinfer1 {
namespace {  // a copy in each translation unit, so that the version is the one it was compiled with

/// A runtime that logs to `logger`; owned by the caller. Null on failure.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

/// A refitter for `engine`, which must have been built refittable; owned by the caller and outlived by the engine. Null
/// on failure.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(createInferRefitter_INTERNAL(&engine, &logger, NV_TENSORRT_VERSION));
}

}  // namespace
}  // namespace nvinfer1
