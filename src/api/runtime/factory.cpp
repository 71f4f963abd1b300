// The C entry points of the deployment half.
#include <cstdlib>

#include "api/runtime/context.h"
#include "api/runtime/device_of.h"
#include "api/runtime/engine.h"
#include "api/runtime/host_stream.h"
#include "api/runtime/lean_runtime.h"
#include "api/runtime/made_here.h"
#include "api/runtime/runtime.h"
#include "api/runtime/version.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "plan/format.h"
#include "plan/library_version.h"
#include "plan/read.h"
#include "runtime/report/properties.h"
#include "wootz/extensions.h"

namespace wootz::api {

std::optional<AppLogger> admit(void* logger, int32_t version) noexcept {
  if (logger == nullptr) return std::nullopt;
  AppLogger app{static_cast<nvinfer1::ILogger*>(logger), level_of(version)};
  if (app.level != ApiLevel::kUnknown) {
    note_logger(app);
    return app;
  }
  // Loggers have a version of their own since 11.
  app.level = version / 10000 > NV_TENSORRT_MAJOR ? ApiLevel::k11 : ApiLevel::k10;
  attempt(Reporter(app), "version check", [&] {
    const auto text = [](int32_t v) { return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100); };
    return invalid_argument("the program was compiled for version {} of the API, the library offers {} and {}",
                            text(version), text(version_at(ApiLevel::k10)), text(version_at(ApiLevel::k11)));
  });
  return std::nullopt;
}

}  // namespace wootz::api

using wootz::api::attempt;
using wootz::api::attempt_or;
using wootz::api::device_call;
using wootz::api::device_of;
using wootz::api::process_logger;
using wootz::api::Reporter;

extern "C" {

TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  const std::optional<wootz::api::AppLogger> app = wootz::api::admit(logger, version);
  if (!app) return nullptr;
  return attempt_or<nvinfer1::IRuntime*>(
      Reporter(*app), "createInferRuntime", nullptr,
      [&]() -> wootz::Result<nvinfer1::IRuntime*> { return new wootz::api::RuntimeImpl(*app); });
}

// Of libraries without a compiler, which a refit runs: the whole library's own takes this one's place
// (api/factory.cpp).
__attribute__((weak)) TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                                                     int32_t version) noexcept {
  const std::optional<wootz::api::AppLogger> app = wootz::api::admit(logger, version);
  if (!app) return nullptr;
  attempt(Reporter(*app), "createInferRefitter", [&]() -> wootz::Status {
    if (engine == nullptr) return wootz::invalid_argument("the engine is null");
    return wootz::unsupported("the runtime alone cannot refit an engine: link the whole library (libwootz)");
  });
  return nullptr;
}

// The level that the process has shown to speak, 10 before its first factory.
TENSORRTAPI int32_t getInferLibVersion() noexcept { return wootz::api::version_at(wootz::api::process_logger().level); }
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept { return getInferLibVersion() / 10000; }
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept { return getInferLibVersion() / 100 % 100; }
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept { return getInferLibVersion() % 100; }
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept { return NV_TENSORRT_BUILD; }

void* wootz_stream_create(void) noexcept {
  return attempt_or<cudaStream_t>(Reporter(process_logger()), "wootz_stream_create", nullptr,
                                  [] { return wootz::api::create_host_stream(); });
}

int wootz_stream_destroy(void* stream) noexcept {
  return attempt(Reporter(process_logger()), "wootz_stream_destroy",
                 [&] { return wootz::api::destroy_host_stream(static_cast<cudaStream_t>(stream)); })
             ? 0
             : 1;
}

int wootz_stream_synchronize(void* stream) noexcept {
  return attempt(Reporter(process_logger()), "wootz_stream_synchronize",
                 [&] { return wootz::api::synchronize_host_stream(static_cast<cudaStream_t>(stream)); })
             ? 0
             : 1;
}

namespace {
wootz::Status wait_for_stream(wootz::Device& device, void* handle) {
  if (device.host_memory()) {
    const auto stream = static_cast<cudaStream_t>(handle);
    return wootz::api::is_immediate(stream) ? wootz::Status() : wootz::api::synchronize_host_stream(stream);
  }
  WOOTZ_ASSIGN_OR_RETURN(const std::unique_ptr<wootz::Stream> stream, device.adopt_stream(handle));
  return stream->synchronize();
}
wootz::Status wait_for(wootz::Device& device) { return wait_for_stream(device, nullptr); }
}  // namespace

int wootz_engine_on_device(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_engine_on_device, engine);
  const wootz::Device* device = device_of(engine);
  return device != nullptr && !device->host_memory() ? 1 : 0;
}

void* wootz_device_allocate(void* engine, size_t bytes) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_allocate, engine, bytes);
  void* memory = nullptr;
  device_call(engine, "wootz_device_allocate", [&](wootz::Device& device) -> wootz::Status {
    WOOTZ_ASSIGN_OR_RETURN(memory, device.allocate(bytes, 64));
    return wootz::Status();
  });
  return memory;
}

void* wootz_device_allocate_managed(void* engine, size_t bytes) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_allocate_managed, engine, bytes);
  void* memory = nullptr;
  device_call(engine, "wootz_device_allocate_managed", [&](wootz::Device& device) -> wootz::Status {
    WOOTZ_ASSIGN_OR_RETURN(memory, device.allocate_managed(bytes));
    return wootz::Status();
  });
  return memory;
}

size_t wootz_device_persisting_cache(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_persisting_cache, engine);
  const wootz::Device* device = device_of(engine);
  return device == nullptr ? 0 : device->persisting_cache();
}

void wootz_device_free(void* engine, void* memory) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_free, engine, memory);
  if (wootz::Device* device = device_of(engine); device != nullptr && memory != nullptr) device->free(memory);
}

int wootz_device_copy(void* engine, void* to, const void* from, size_t bytes) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_copy, engine, to, from, bytes);
  return device_call(engine, "wootz_device_copy", [&](wootz::Device& device) -> wootz::Status {
    WOOTZ_RETURN_IF_ERROR(wait_for(device));
    return device.copy(to, from, bytes, nullptr);
  });
}

int wootz_device_synchronize(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_synchronize, engine);
  return device_call(engine, "wootz_device_synchronize", [](wootz::Device& device) { return wait_for(device); });
}

int wootz_device_wait(void* engine, void* stream) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_device_wait, engine, stream);
  return device_call(engine, "wootz_device_wait",
                     [&](wootz::Device& device) { return wait_for_stream(device, stream); });
}

void* wootz_runtime_load_file(void* runtime, const char* path) noexcept {
  WOOTZ_LET_MAKER_OF_RUNTIME(runtime, wootz_runtime_load_file, runtime, path);
  auto* ours = wootz::api::made_here<wootz::api::RuntimeImpl>(static_cast<nvinfer1::IRuntime*>(runtime));
  return ours == nullptr ? nullptr : ours->load_file(path);
}

void* wootz_runtime_load_memory(void* runtime, void* plan) noexcept {
  WOOTZ_LET_MAKER_OF_RUNTIME(runtime, wootz_runtime_load_memory, runtime, plan);
  auto* ours = wootz::api::made_here<wootz::api::RuntimeImpl>(static_cast<nvinfer1::IRuntime*>(runtime));
  return ours == nullptr ? nullptr : ours->load_memory(static_cast<nvinfer1::IHostMemory*>(plan));
}

int wootz_plan_version(const void* plan, size_t bytes) noexcept {
  return attempt_or<int>(Reporter(process_logger()), "wootz_plan_version", -1, [&]() -> wootz::Result<int> {
    if (plan == nullptr) return wootz::invalid_argument("the plan is null");
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<const wootz::Program> program,
                           wootz::read_plan({static_cast<const std::byte*>(plan), bytes}));
    const auto found = program->properties.find(wootz::property::kApiVersion);
    return found == program->properties.end() ? 0 : std::atoi(found->second.c_str());
  });
}

const char* wootz_plan_header(const void* plan, size_t bytes) noexcept {
  thread_local std::string text;
  const bool known = attempt(Reporter(process_logger()), "wootz_plan_header", [&]() -> wootz::Status {
    if (plan == nullptr) return wootz::invalid_argument("the plan is null");
    WOOTZ_ASSIGN_OR_RETURN(const wootz::plan_format::Outline outline,
                           wootz::plan_format::outline({static_cast<const std::byte*>(plan), bytes}));
    wootz::OrderedJson json = {{"format", outline.format}, {"version_compatible", outline.writer != 0}};
    if (outline.writer != 0) {
      json["library_version"] = wootz::version_text(outline.writer);
      json["runtime_bytes"] = outline.runtime.length;
    }
    text = json.dump();
    return wootz::Status();
  });
  return known ? text.c_str() : nullptr;
}

int wootz_library_version(void) noexcept { return static_cast<int>(wootz::library_version()); }

const char* wootz_runtime_library(void) noexcept {
  thread_local std::string path;
  const bool found = attempt(Reporter(process_logger()), "wootz_runtime_library", [&]() -> wootz::Status {
    WOOTZ_ASSIGN_OR_RETURN(path, wootz::api::lean_library());
    return wootz::Status();
  });
  return found ? path.c_str() : nullptr;
}

int wootz_runtime_use_plans_runtime(void* runtime, int on) noexcept {
  WOOTZ_LET_MAKER_OF_RUNTIME(runtime, wootz_runtime_use_plans_runtime, runtime, on);
  auto* ours = wootz::api::made_here<wootz::api::RuntimeImpl>(static_cast<nvinfer1::IRuntime*>(runtime));
  return attempt(Reporter(process_logger()), "wootz_runtime_use_plans_runtime",
                 [&]() -> wootz::Status {
                   if (ours == nullptr) return wootz::invalid_argument("not a runtime of this library");
                   ours->use_plans_runtime(on != 0);
                   return wootz::Status();
                 })
             ? 0
             : 1;
}

int wootz_runtime_set_device(void* runtime, int number) noexcept {
  WOOTZ_LET_MAKER_OF_RUNTIME(runtime, wootz_runtime_set_device, runtime, number);
  auto* ours = wootz::api::made_here<wootz::api::RuntimeImpl>(static_cast<nvinfer1::IRuntime*>(runtime));
  return attempt(Reporter(process_logger()), "wootz_runtime_set_device",
                 [&]() -> wootz::Status {
                   if (ours == nullptr) return wootz::invalid_argument("not a runtime of this library");
                   if (number < wootz::kCurrentDevice) return wootz::invalid_argument("device {}", number);
                   ours->set_device(number);
                   return wootz::Status();
                 })
             ? 0
             : 1;
}

int wootz_engine_device(void* engine) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_engine_device, engine);
  const wootz::Device* device = device_of(engine);
  return device == nullptr ? -1 : device->number();
}

int wootz_context_replay(void* context, int on) noexcept {
  WOOTZ_LET_MAKER_OF_CONTEXT(context, wootz_context_replay, context, on);
  auto* ours = wootz::api::made_here<wootz::api::ContextImpl>(static_cast<nvinfer1::IExecutionContext*>(context));
  const bool ok = attempt(Reporter(process_logger()), "wootz_context_replay", [&]() -> wootz::Status {
    if (ours == nullptr) return wootz::invalid_argument("the context is null");
    ours->set_replay(on != 0);
    return wootz::Status();
  });
  return ok ? 0 : 1;
}

int wootz_context_tap(void* context, const char* name, int on) noexcept {
  WOOTZ_LET_MAKER_OF_CONTEXT(context, wootz_context_tap, context, name, on);
  auto* ours = wootz::api::made_here<wootz::api::ContextImpl>(static_cast<nvinfer1::IExecutionContext*>(context));
  return attempt(ours != nullptr ? ours->reporter() : Reporter(process_logger()), "wootz_context_tap",
                 [&]() -> wootz::Status {
                   if (ours == nullptr) return wootz::invalid_argument("the context is null");
                   return ours->tap(name, on != 0);
                 })
             ? 0
             : 1;
}

int wootz_set_thread_pool(int threads, int spin_us, const int* affinity, int affinity_count) noexcept {
  return attempt(Reporter(process_logger()), "wootz_set_thread_pool",
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

int wootz_engine_set_thread_pool(void* engine, int threads, int spin_us, const int* affinity,
                                 int affinity_count) noexcept {
  WOOTZ_LET_MAKER_OF_ENGINE(engine, wootz_engine_set_thread_pool, engine, threads, spin_us, affinity, affinity_count);
  const bool ours = attempt(Reporter(process_logger()), "wootz_engine_set_thread_pool", [&]() -> wootz::Status {
    if (wootz::api::made_here<wootz::api::EngineImpl>(static_cast<nvinfer1::ICudaEngine*>(engine)) != nullptr)
      return wootz::Status();
    return wootz::invalid_argument(
        "the engine is null, or of a library that cannot do this: one of another version, perhaps");
  });
  return ours ? wootz_set_thread_pool(threads, spin_us, affinity, affinity_count) : 1;
}

}  // extern "C"
