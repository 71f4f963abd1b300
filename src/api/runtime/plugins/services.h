// What an execution context lends its plugins.
#pragma once

#include "api/runtime/level.h"
#include "api/runtime/public.h"
#include "backend/plugin.h"

namespace wootz::api {

struct PluginServices final : ContextServices {
  nvinfer1::IGpuAllocator* allocator = nullptr;
  nvinfer1::IErrorRecorder* recorder = nullptr;
  AppLogger logger;
  cudaStream_t stream = nullptr;  // of a CPU engine's inference at hand; written by the context
};

// Of the context; null: there is none.
inline AppLogger logger_of(const PluginServices* services) { return services == nullptr ? AppLogger() : services->logger; }
// What a plugin gets for its stream.
cudaStream_t stream_for_plugin(Stream* stream, const PluginServices* services);
// After its work: what a plugin of a CPU engine has put on a stream of libwootz_hostcuda is done.
void settle_plugin(Stream* stream, cudaStream_t given);

}  // namespace wootz::api
