// Attribute and version macros shared by all public headers; plugins and parsers use them by these names too.
#pragma once

#include "NvInferVersion.h"

/// One number for a version: 10.16.0 is 101600.
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*10000L + (minor)*100L + (patch)*1L)
#define NV_TENSORRT_VERSION NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

// Linkage of the C entry points. TENSORRT_BUILD_LIB is set while the library itself is compiled.
#if defined(_WIN32)
#if defined(TENSORRT_BUILD_LIB)
#define TENSORRTAPI __declspec(dllexport)
#else
#define TENSORRTAPI __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TENSORRTAPI __attribute__((visibility("default")))
#else
#define TENSORRTAPI
#endif

#define TRTNOEXCEPT

// Deprecation marks. Code that has to implement or forward old names (this library, bindings) defines
// WOOTZ_NO_DEPRECATION to read the headers without them.
#if defined(WOOTZ_NO_DEPRECATION)
#define TRT_DEPRECATED
#define TRT_DEPRECATED_BECAUSE(msg)
#define TRT_DEPRECATED_API
#else
#define TRT_DEPRECATED [[deprecated]]
#define TRT_DEPRECATED_BECAUSE(msg) [[deprecated(msg)]]
#if defined(_WIN32)
#define TRT_DEPRECATED_API
#else
#define TRT_DEPRECATED_API [[deprecated]]
#endif
#endif
#define TRT_DEPRECATED_ENUM TRT_DEPRECATED

#if defined(__cplusplus) && __cplusplus >= 201703L
#define TRT_NODISCARD [[nodiscard]]
#else
#define TRT_NODISCARD
#endif

// 1 only where one builder also serves the safety runtime, which is not the case here.
#ifndef ENABLE_UNIFIED_BUILDER
#define ENABLE_UNIFIED_BUILDER 0
#endif
