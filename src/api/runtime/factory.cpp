// The C entry points of the deployment half.
#include <cstring>

#include "api/runtime/context.h"
#include "api/runtime/host_stream.h"
#include "api/runtime/runtime.h"
#include "api/runtime/version.h"
#include "base/thread_pool.h"
#include "wootz/extensions.h"

namespace wootz::api {

bool version_fits(nvinfer1::ILogger* logger, int32_t version) noexcept {
  const bool fits = version / 10000 == NV_TENSORRT_MAJOR;
  const Reporter reporter(logger);
  if (!fits)
    attempt(reporter, "version check", [&] {
      return invalid_argument("the program was compiled for version {}.{}.{} of the API, the library offers {}.{}.{}",
                              version / 10000, version / 100 % 100, version % 100, NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR,
                              NV_TENSORRT_PATCH);
    });
  return fits;
}

}  // namespace wootz::api

using wootz::api::attempt;
using wootz::api::attempt_or;
using wootz::api::Reporter;

extern "C" {

TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  auto* sink = static_cast<nvinfer1::ILogger*>(logger);
  if (sink == nullptr || !wootz::api::version_fits(sink, version)) return nullptr;
  wootz::api::note_logger(sink);
  return attempt_or<nvinfer1::IRuntime*>(
      Reporter(sink), "createInferRuntime", nullptr,
      [&]() -> wootz::Result<nvinfer1::IRuntime*> { return new wootz::api::RuntimeImpl(*sink); });
}

TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  auto* sink = static_cast<nvinfer1::ILogger*>(logger);
  if (sink == nullptr || !wootz::api::version_fits(sink, version)) return nullptr;
  attempt(Reporter(sink), "createInferRefitter", [&]() -> wootz::Status {
    if (engine == nullptr) return wootz::invalid_argument("the engine is null");
    return wootz::unsupported("the engine was not built refittable");
  });
  return nullptr;
}

TENSORRTAPI int32_t getInferLibVersion() noexcept { return NV_TENSORRT_VERSION; }
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept { return NV_TENSORRT_MAJOR; }
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept { return NV_TENSORRT_MINOR; }
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept { return NV_TENSORRT_PATCH; }
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept { return NV_TENSORRT_BUILD; }

void* wootz_stream_create(void) noexcept {
  return attempt_or<cudaStream_t>(Reporter(getLogger()), "wootz_stream_create", nullptr,
                                  [] { return wootz::api::create_host_stream(); });
}

int wootz_stream_destroy(void* stream) noexcept {
  return attempt(Reporter(getLogger()), "wootz_stream_destroy",
                 [&] { return wootz::api::destroy_host_stream(static_cast<cudaStream_t>(stream)); })
             ? 0
             : 1;
}

int wootz_stream_synchronize(void* stream) noexcept {
  return attempt(Reporter(getLogger()), "wootz_stream_synchronize",
                 [&] { return wootz::api::synchronize_host_stream(static_cast<cudaStream_t>(stream)); })
             ? 0
             : 1;
}

void* wootz_runtime_load_file(void* runtime, const char* path) noexcept {
  auto* ours = dynamic_cast<wootz::api::RuntimeImpl*>(static_cast<nvinfer1::IRuntime*>(runtime));
  return ours == nullptr ? nullptr : ours->load_file(path);
}

int wootz_context_tap(void* context, const char* name, int on) noexcept {
  auto* ours = dynamic_cast<wootz::api::ContextImpl*>(static_cast<nvinfer1::IExecutionContext*>(context));
  return attempt(ours != nullptr ? ours->reporter() : Reporter(getLogger()), "wootz_context_tap",
                 [&]() -> wootz::Status {
                   if (ours == nullptr) return wootz::invalid_argument("the context is null");
                   return ours->tap(name, on != 0);
                 })
             ? 0
             : 1;
}

int wootz_set_thread_pool(int threads, int spin_us, const int* affinity, int affinity_count) noexcept {
  return attempt(Reporter(getLogger()), "wootz_set_thread_pool",
                 [&]() -> wootz::Status {
                   if (threads < 0 || affinity_count < 0 || (affinity == nullptr && affinity_count > 0))
                     return wootz::invalid_argument("{} threads, {} CPU numbers", threads, affinity_count);
                   wootz::ThreadPoolOptions options;
                   options.threads = threads;
                   if (spin_us >= 0) options.spin_us = spin_us;
                   if (affinity_count > 0) options.affinity.assign(affinity, affinity + affinity_count);
                   return wootz::ThreadPool::process().configure(options);
                 })
             ? 0
             : 1;
}

}  // extern "C"
