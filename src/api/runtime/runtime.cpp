#include "api/runtime/runtime.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "api/runtime/engine.h"
#include "api/runtime/gpu_allocator.h"
#include "api/runtime/host_memory.h"
#include "api/runtime/lean_runtime.h"
#include "api/runtime/made_here.h"
#include "api/runtime/plugins/carried_libraries.h"
#include "api/runtime/plugins/loader.h"
#include "api/runtime/tensor_formats.h"
#include "backends/plugin_steps.h"
#include "backends/registry.h"
#include "base/thread_pool.h"
#include "plan/format.h"
#include "plan/library_version.h"
#include "plan/read.h"
#include "runtime/adapt.h"
#include "runtime/create_engine.h"
#include "runtime/file_weights.h"
#include "wootz/extensions.h"

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

// 90 of "sm_90a"; 0: no GPU.
int generation_of(const std::string& isa) {
  return isa.starts_with("sm_") ? static_cast<int>(std::strtol(isa.c_str() + 3, nullptr, 10)) : 0;
}

// Whether the plan was built for every generation from Ampere on, and the device is of one.
bool for_every_generation(const Program& program, const std::string& isa) {
  constexpr int kAmpere = 80;
  const auto found = program.properties.find(property::kCompatibility);
  const auto level = static_cast<int>(nvinfer1::HardwareCompatibilityLevel::kAMPERE_PLUS);
  return found != program.properties.end() && found->second == std::to_string(level) && generation_of(isa) >= kAmpere;
}

// Says in one line what the processor at hand changes of a portable plan.
Result<std::shared_ptr<const Program>> adapted(const Program& program, const std::shared_ptr<Device>& device,
                                               const std::vector<const Provider*>& providers, int threads,
                                               const Reporter& reporter) {
  if (!device->host_memory()) return unsupported("the plan is portable, which plans for processors are alone");
  WOOTZ_ASSIGN_OR_RETURN(Adapted made, adapt_to_device(program, device, providers, threads));
  if (made.chosen_anew > 0) {
    const Result<DeviceDescription> built = DeviceDescription::from_json(program.device);
    reporter.warning(fmt::format(
        "the plan was built for {} and this is {}: of its {} layers {} have other kernels here, chosen by estimate",
        built.ok() ? built->isa : "another device", device->describe().isa, made.steps, made.chosen_anew));
  }
  made.program->properties.erase(property::kPortable);  // it is for this processor now
  return std::shared_ptr<const Program>(std::move(made.program));
}

// A plan is for a kind of device, and says which; it runs on any of that kind.
Status check_kind(const Program& program, const Backend& backend, const Device& device, const Reporter& reporter) {
  const Result<DeviceDescription> built = DeviceDescription::from_json(program.device);
  const DeviceDescription& here = device.describe();
  if (!built.ok() || built->isa == here.isa || for_every_generation(program, here.isa)) return Status();
  if (property::is_on(program.properties, property::kPortable)) return Status();
  std::string what = fmt::format("the plan was built for {} ({}), and device {} of backend {} is {} ({})", built->isa,
                                 built->name, device.number(), backend.name, here.isa, here.name);
  if (backend.can.one_isa) return invalid_argument("{}: build it for that one, or load it on the other", what);
  reporter.warning(what);
  return Status();
}

}  // namespace

namespace {
const char* system_directory() {
  const char* system = std::getenv("TMPDIR");
  return system != nullptr && *system != '\0' ? system : "/tmp";
}
}  // namespace

TemporaryFiles system_temporary_files() { return {true, true, system_directory()}; }

Result<std::unique_ptr<EngineImpl>> make_engine(std::shared_ptr<const Program> program, const Reporter& reporter,
                                                nvinfer1::IGpuAllocator* allocator, int device_number,
                                                const std::shared_ptr<PluginRegistry>& registry, bool native,
                                                const TemporaryFiles& temporary_files, int max_threads) {
  WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend(program->backend));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, backend->open(device_number));
  WOOTZ_RETURN_IF_ERROR(check_kind(*program, *backend, *device, reporter));
  if (native) backend->offer_native(program->native);
  device = with_allocator(std::move(device), adopt_allocator(allocator));
  EngineOptions options;
  options.stream_weights = property::is_on(program->properties, property::kStreaming);
  options.temporary_files = temporary_files;
  if (options.stream_weights && device->host_memory()) {
    WOOTZ_ASSIGN_OR_RETURN(program, keep_weights_in_file(std::move(program), temporary_files));
  }
  const std::unique_ptr<const Provider> plugins = plugin_steps_provider(plugin_loader(registry, native));
  std::vector<const Provider*> providers = backend_providers(*backend);
  providers.push_back(plugins.get());
  options.threads = std::min(threads_wanted(*program), ThreadPool::process().size());
  if (max_threads > 0) options.threads = options.threads == 0 ? max_threads : std::min(options.threads, max_threads);
  if (property::is_on(program->properties, property::kPortable)) {
    WOOTZ_ASSIGN_OR_RETURN(program, adapted(*program, device, providers, options.threads, reporter));
  }
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<EngineCore> core,
                         create_engine(std::move(program), std::move(device), std::move(providers), options));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const EngineInfo> info, EngineInfo::create(std::move(core)));
  WOOTZ_RETURN_IF_ERROR(check_formats(*info));
  return std::make_unique<EngineImpl>(std::move(info), reporter, allocator);
}

RuntimeImpl::RuntimeImpl(AppLogger logger)
    : reporter_(logger), registry_(std::make_shared<PluginRegistry>(&PluginRegistry::process(), logger)) {}

Result<ICudaEngine*> RuntimeImpl::load(std::shared_ptr<const Program> program) {
  WOOTZ_RETURN_IF_ERROR(load_plugin_libraries(*program));
  WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<EngineImpl> engine,
                         make_engine(std::move(program), reporter_, allocator_, device_number_, registry_, host_code_,
                                     temporary_files(), max_threads_));
  return engine.release();
}

Result<ICudaEngine*> RuntimeImpl::load_plan(std::span<const std::byte> plan, const std::shared_ptr<const void>& owner,
                                            const char* file) {
  WOOTZ_ASSIGN_OR_RETURN(nvinfer1::IRuntime* const other, runtime_of(plan));
  if (other == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program, read_plan(plan, owner));
    return load(std::move(program));
  }
  void* const load_file = file == nullptr ? nullptr : function_of_maker(other, "wootz_runtime_load_file");
  ICudaEngine* const engine =
      load_file == nullptr
          ? other->deserializeCudaEngine(plan.data(), plan.size())
          : static_cast<ICudaEngine*>(reinterpret_cast<decltype(&wootz_runtime_load_file)>(load_file)(other, file));
  if (engine == nullptr) return make_error(Code::kInvalidState, "the plan's own runtime has refused it, see above");
  return engine;
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&]() -> Result<ICudaEngine*> {
    if (blob == nullptr) return invalid_argument("the plan is null");
    // Not kept: what is needed of the caller's bytes is copied.
    return load_plan({static_cast<const std::byte*>(blob), size}, nullptr);
  });
}

ICudaEngine* RuntimeImpl::load_file(const char* path) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "wootz_runtime_load_file", nullptr, [&]() -> Result<ICudaEngine*> {
    if (path == nullptr) return invalid_argument("the path is null");
    WOOTZ_ASSIGN_OR_RETURN(const MappedFile file, map_plan_file(path));
    Result<ICudaEngine*> engine = load_plan(file.bytes, file.owner, path);
    return engine.ok() ? engine : engine.status().with_prefix(fmt::format("'{}'", path));
  });
}

ICudaEngine* RuntimeImpl::load_memory(nvinfer1::IHostMemory* plan) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "wootz_runtime_load_memory", nullptr, [&]() -> Result<ICudaEngine*> {
    const auto* ours = made_here<HostMemory>(plan);
    if (ours == nullptr) return invalid_argument("the memory was not made by this library");
    return load_plan(*ours->shared(), ours->shared());
  });
}

// Reads the plan and nothing after it. How long it is, its header says; what the reader does not have is not allocated.
// What is no plan is given back to the reader, where it can go back.
Result<ICudaEngine*> RuntimeImpl::load_stream(const ReadSome& read, const std::function<void(int64_t)>& back) {
  constexpr size_t kChunk = size_t{8} << 20, kHead = sizeof(plan_format::Header);
  RawBytes bytes;
  size_t whole = kHead;
  while (bytes.size() < whole) {
    const size_t have = bytes.size(), wanted = std::min(kChunk, whole - have);
    if (bytes.capacity() < have + wanted) bytes.reserve(std::min(whole, std::max(have + wanted, have * 2)));
    bytes.resize(have + wanted);
    const int64_t got = read(bytes.data() + have, static_cast<int64_t>(wanted));
    if (got < 0 || got > static_cast<int64_t>(wanted))
      return make_error(Code::kIo, "the stream reader answered {} when asked for {} bytes", got, wanted);
    bytes.resize(have + static_cast<size_t>(got));
    if (got < static_cast<int64_t>(wanted)) break;
    if (have == 0) {
      plan_format::Header header;
      std::memcpy(&header, bytes.data(), kHead);
      const bool plan = std::memcmp(header.magic, plan_format::kMagic, sizeof(header.magic)) == 0;
      if (plan) whole = std::max<size_t>(kHead, header.file_bytes);
      if (!plan) back(-static_cast<int64_t>(bytes.size()));
    }
  }
  const auto plan = std::make_shared<const RawBytes>(std::move(bytes));
  return load_plan(*plan, plan);
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(nvinfer1::IStreamReader& streamReader) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&] {
    return load_stream([&](void* destination, int64_t bytes) { return streamReader.read(destination, bytes); },
                       [](int64_t) {});
  });
}

ICudaEngine* RuntimeImpl::deserializeCudaEngine(nvinfer1::IStreamReaderV2& streamReader) noexcept {
  return attempt_or<ICudaEngine*>(reporter_, "IRuntime::deserializeCudaEngine", nullptr, [&] {
    return load_stream([&](void* destination, int64_t bytes) { return streamReader.read(destination, bytes, nullptr); },
                       [&](int64_t bytes) { streamReader.seek(bytes, nvinfer1::SeekPosition::kCUR); });
  });
}

void RuntimeImpl::setDLACore(int32_t dlaCore) noexcept {
  attempt(reporter_, "IRuntime::setDLACore", [&]() -> Status {
    if (dlaCore != dla_core_) return invalid_argument("there is no DLA core {}: this machine has none", dlaCore);
    return Status();
  });
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
    const std::string wanted = path == nullptr ? "" : path;
    std::error_code none;
    if (!wanted.empty() && !std::filesystem::is_directory(wanted, none))
      return invalid_argument("'{}' is no folder; temporary files stay in '{}'", wanted, getTemporaryDirectory());
    if (!wanted.empty() && ::access(wanted.c_str(), W_OK | X_OK) != 0)
      return invalid_argument("'{}' cannot be written to; temporary files stay in '{}'", wanted,
                              getTemporaryDirectory());
    temporary_directory_ = wanted;
    return Status();
  });
}

void RuntimeImpl::setTempfileControlFlags(nvinfer1::TempfileControlFlags flags) noexcept {
  attempt(reporter_, "IRuntime::setTempfileControlFlags", [&]() -> Status {
    constexpr uint32_t kAll = (1U << nvinfer1::EnumMax<nvinfer1::TempfileControlFlag>()) - 1;
    if ((flags & ~kAll) != 0) return invalid_argument("flags {:#x}: there is none beyond {:#x}", flags, kAll);
    tempfile_flags_ = flags;
    return Status();
  });
}

const char* RuntimeImpl::getTemporaryDirectory() const noexcept {
  return temporary_directory_.empty() ? system_directory() : temporary_directory_.c_str();
}

TemporaryFiles RuntimeImpl::temporary_files() const {
  const auto allowed = [&](nvinfer1::TempfileControlFlag flag) {
    return (tempfile_flags_ >> static_cast<uint32_t>(flag) & 1U) != 0;
  };
  return {allowed(nvinfer1::TempfileControlFlag::kALLOW_IN_MEMORY_FILES),
          allowed(nvinfer1::TempfileControlFlag::kALLOW_TEMPORARY_FILES), getTemporaryDirectory()};
}

Status RuntimeImpl::load_plugin_libraries(const Program& program) {
  for (const NativeCode* library : carried_libraries(program)) {
    if (!host_code_) {
      reporter_.warning(
          fmt::format("the plan carries the plugin library '{}', which is not loaded: "
                      "IRuntime::setEngineHostCodeAllowed permits it",
                      carried_name(*library)));
      continue;
    }
    if (!carried_.insert(carried_digest(*library)).second) continue;
    const Status opened = open_carried(*library, temporary_files(), *registry_);
    if (opened.ok()) continue;
    carried_.erase(carried_digest(*library));
    return opened;
  }
  return Status();
}

namespace {

// Why a plan's own runtime is wanted and not there.
Status without_runtime(const plan_format::Outline& plan) {
  if (plan.writer == 0)
    return invalid_argument("the plan holds no runtime: it was not built with BuilderFlag::kVERSION_COMPATIBLE");
  return unsupported(
      "the plan was made by version {} of the library, in plan format {} (this is version {}, format {}), and holds no "
      "runtime (BuilderFlag::kEXCLUDE_LEAN_RUNTIME): load that version's by IRuntime::loadRuntime",
      version_text(plan.writer), plan.format, version_text(library_version()), plan_format::kVersion);
}

}  // namespace

Result<nvinfer1::IRuntime*> RuntimeImpl::runtime_of(std::span<const std::byte> plan) {
  const Result<plan_format::Outline> found = plan_format::outline(plan);
  if (!found.ok()) return nullptr;  // reading it says why
  const plan_format::Outline& outline = *found;
  const bool of_another = outline.writer != 0 && outline.writer != library_version();
  const bool readable = outline.format == plan_format::kVersion;
  if (!plans_runtime_ && !of_another) return nullptr;
  if (outline.runtime.length == 0) {
    if (!plans_runtime_ && readable) return nullptr;
    return without_runtime(outline);
  }
  if (!host_code_)
    return make_error(Code::kInvalidState,
                      "the plan was made by version {} of the library, and is run by the runtime that it holds "
                      "({} bytes of code): IRuntime::setEngineHostCodeAllowed permits it",
                      version_text(outline.writer), outline.runtime.length);
  if (outline.file_bytes != plan.size()) return corrupt("plan: {} bytes of {}", plan.size(), outline.file_bytes);
  const std::span<const std::byte> section = plan.subspan(outline.runtime.offset, outline.runtime.length);
  if (tree_digest(section) != outline.runtime.digest)
    return corrupt("plan: the runtime section is damaged (its digest does not match)");
  WOOTZ_ASSIGN_OR_RETURN(nvinfer1::IRuntime* const other,
                         open_carried_runtime(section, outline, temporary_files(), reporter_));
  {
    const std::lock_guard<std::mutex> lock(others_mutex_);
    others_.emplace_back(other);
  }
  other->setErrorRecorder(reporter_.recorder());
  other->setGpuAllocator(allocator_);
  if (!temporary_directory_.empty()) other->setTemporaryDirectory(temporary_directory_.c_str());
  other->setTempfileControlFlags(tempfile_flags_);
  other->setEngineHostCodeAllowed(true);
  if (max_threads_ > 0) other->setMaxThreads(max_threads_);
  using SetDevice = decltype(&wootz_runtime_set_device);
  if (const auto set = reinterpret_cast<SetDevice>(function_of_maker(other, "wootz_runtime_set_device")))
    set(other, device_number_);
  registry_->lend_creators(other->getPluginRegistry());
  reporter_.log(Reporter::Severity::kINFO,
                fmt::format("the plan is run by the runtime that it holds, version {}", version_text(outline.writer)));
  return other;
}

// The library stays open: its runtime and all that it makes live in it.
nvinfer1::IRuntime* RuntimeImpl::loadRuntime(const char* path) noexcept {
  return attempt_or<nvinfer1::IRuntime*>(
      reporter_, "IRuntime::loadRuntime", nullptr, [&]() -> Result<nvinfer1::IRuntime*> {
        if (path == nullptr || *path == '\0') return invalid_argument("the path of the runtime is empty");
        void* const library = ::dlopen(beside_this_library(path).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return make_error(Code::kIo, "cannot open the runtime '{}': {}", path, ::dlerror());
        Result<nvinfer1::IRuntime*> runtime = create_runtime(library, path, reporter_);
        if (!runtime.ok()) ::dlclose(library);
        return runtime;
      });
}

}  // namespace wootz::api
