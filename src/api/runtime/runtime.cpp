#include "api/runtime/runtime.h"

#include <cstdlib>
#include <cstring>

#include "api/runtime/engine.h"
#include "api/runtime/gpu_allocator.h"
#include "api/runtime/host_memory.h"
#include "backends/registry.h"
#include "base/thread_pool.h"
#include "plan/read.h"
#include "runtime/create_engine.h"

namespace wootz::api {

using nvinfer1::ICudaEngine;

namespace {

// The program's own wish, which the environment may override.
int threads_wanted(const Program& program) {
  const auto number = [](const char* text) {
    const long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
    return value >= 1 && value <= 4096 ? static_cast<int>(value) : 0;
  };
  if (const int threads = number(std::getenv("WOOTZ_THREADS"))) return threads;
  const auto found = program.properties.find(property::kThreads);
  return found == program.properties.end() ? 0 : number(found->second.c_str());
}

// A plan is for a kind of device, and says which; it runs on any of that kind.
Status check_kind(const Program& program, const Backend& backend, const Device& device, const Reporter& reporter) {
  const Result<DeviceDescription> built = DeviceDescription::from_json(program.device);
  const DeviceDescription& here = device.describe();
  if (!built.ok() || built->isa == here.isa) return Status();
  std::string what = fmt::format("the plan was built for {} ({}), and device {} of backend {} is {} ({})", built->isa,
                                 built->name, device.number(), backend.name, here.isa, here.name);
  if (backend.can.one_isa) return invalid_argument("{}: build it for that one, or load it on the other", what);
  reporter.warning(what);
  return Status();
}

}  // namespace

Result<std::unique_ptr<EngineImpl>> make_engine(std::shared_ptr<const Program> program, const Reporter& reporter,
                                                nvinfer1::IGpuAllocator* allocator, int device_number, bool native) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(program->backend));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, backend->open(device_number));
  WOOTZ_RETURN_IF_ERROR(check_kind(*program, *backend, *device, reporter));
  if (native) backend->offer_native(program->native);
  device = with_allocator(std::move(device), adopt_allocator(allocator));
  EngineOptions options;
  options.threads = std::min(threads_wanted(*program), ThreadPool::process().size());
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> core,
                         create_engine(std::move(program), std::move(device), backend_providers(*backend), options));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const EngineInfo> info, EngineInfo::create(std::move(core)));
  return std::make_unique<EngineImpl>(std::move(info), reporter);
}

RuntimeImpl::RuntimeImpl(AppLogger logger)
    : reporter_(logger), registry_(std::make_unique<PluginRegistry>(&PluginRegistry::process())) {}

Result<ICudaEngine*> RuntimeImpl::load(std::shared_ptr<const Program> program) {
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<EngineImpl> engine,
                         make_engine(std::move(program), reporter_, allocator_, device_number_, host_code_));
  return engine.release();
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&]() -> Result<ICudaEngine*> {
    if (blob == nullptr) return invalid_argument("the plan is null");
    // Not kept: what is needed of the caller's bytes is copied.
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                           read_plan({static_cast<const std::byte*>(blob), size}));
    return load(std::move(program));
  });
}

ICudaEngine* RuntimeImpl::load_file(const char* path) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "wootz_runtime_load_file", nullptr, [&]() -> Result<ICudaEngine*> {
    if (path == nullptr) return invalid_argument("the path is null");
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, read_plan_file(path));
    return load(std::move(program));
  });
}

ICudaEngine* RuntimeImpl::load_memory(nvinfer1::IHostMemory* plan) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "wootz_runtime_load_memory", nullptr, [&]() -> Result<ICudaEngine*> {
    const auto* ours = dynamic_cast<const HostMemory*>(plan);
    if (ours == nullptr) return invalid_argument("the memory was not made by this library");
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, read_plan(*ours->shared(), ours->shared()));
    return load(std::move(program));
  });
}

// The reader tells the end by a short read, never the size.
Result<ICudaEngine*> RuntimeImpl::load_stream(const ReadSome& read) {
  constexpr size_t kChunk = size_t{8} << 20;
  RawBytes bytes;
  for (;;) {
    const size_t have = bytes.size();
    if (bytes.capacity() < have + kChunk) bytes.reserve(std::max(have + kChunk, have * 2));
    bytes.resize(have + kChunk);
    const int64_t got = read(bytes.data() + have, static_cast<int64_t>(kChunk));
    if (got < 0 || got > static_cast<int64_t>(kChunk))
      return make_error(Code::kIo, "the stream reader answered {} when asked for {} bytes", got, kChunk);
    bytes.resize(have + static_cast<size_t>(got));
    if (got < static_cast<int64_t>(kChunk)) break;
  }
  const auto plan = std::make_shared<const RawBytes>(std::move(bytes));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, read_plan(*plan, plan));
  return load(std::move(program));
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(nvinfer1::IStreamReader& streamReader) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&] {
    return load_stream([&](void* destination, int64_t bytes) { return streamReader.read(destination, bytes); });
  });
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(nvinfer1::IStreamReaderV2& streamReader) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&] {
    return load_stream(
        [&](void* destination, int64_t bytes) { return streamReader.read(destination, bytes, nullptr); });
  });
}

void RuntimeImpl::setDLACore(int32_t dlaCore) noexcept {
  dla_core_ = dlaCore;
  reporter_.verbose("IRuntime::setDLACore: there is no DLA here; the number is kept and has no effect");
}

bool RuntimeImpl::setMaxThreads(int32_t maxThreads) noexcept {
  return attempt(reporter_, "IRuntime::setMaxThreads", [&]() -> Status {
    if (maxThreads < 1) return invalid_argument("{} threads", maxThreads);
    max_threads_ = maxThreads;
    return Status();
  });
}

void RuntimeImpl::setTemporaryDirectory(const char* path) noexcept {
  attempt(reporter_, "IRuntime::setTemporaryDirectory", [&]() -> Status {
    temporary_directory_ = path == nullptr ? "" : path;
    return Status();
  });
}

const char* RuntimeImpl::getTemporaryDirectory() const noexcept {
  if (!temporary_directory_.empty()) return temporary_directory_.c_str();
  const char* system = std::getenv("TMPDIR");
  return system != nullptr && *system != '\0' ? system : "/tmp";
}

nvinfer1::IRuntime* RuntimeImpl::loadRuntime(const char*) noexcept {
  attempt(reporter_, "IRuntime::loadRuntime",
          [] { return unsupported("plans of other versions are not loaded through their runtime; rebuild them"); });
  return nullptr;
}

}  // namespace wootz::api
