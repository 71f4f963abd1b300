// IRuntime: plans to engines.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/runtime/plugin_registry.h"
#include "api/runtime/reporter.h"
#include "backend/backend.h"
#include "backend/program.h"
#include "base/temporary_file.h"

namespace wootz::api {

class EngineImpl;

// What the environment says, for files of this library.
TemporaryFiles system_temporary_files();

// Makes an engine of a verified program: a device (Backend::open) and providers of its backend, kernels of its steps.
// `allocator` may be null and must outlive the engine. `registry`: where its plugins' creators are. `native`: machine
// code that came with the program may be run. `max_threads`: most threads of an inference, the caller's included; 0: as
// many as the plan and the process allow.
Result<std::unique_ptr<EngineImpl>> make_engine(std::shared_ptr<const Program> program, const Reporter& reporter,
                                                nvinfer1::IGpuAllocator* allocator, int device_number,
                                                const std::shared_ptr<PluginRegistry>& registry, bool native,
                                                const TemporaryFiles& temporary_files = system_temporary_files(),
                                                int max_threads = 0);

class RuntimeImpl final : public nvinfer1::IRuntime {
 public:
  explicit RuntimeImpl(AppLogger logger);
  // The file is mapped: its weights are shared by all who load it.
  nvinfer1::ICudaEngine* load_file(const char* path) noexcept;
  // A plan of this library in memory, which the engine shares.
  nvinfer1::ICudaEngine* load_memory(nvinfer1::IHostMemory* plan) noexcept;
  // wootz_runtime_set_device().
  void set_device(int number) { device_number_ = number; }
  // wootz_runtime_use_plans_runtime().
  void use_plans_runtime(bool on) { plans_runtime_ = on; }

  void setDLACore(int32_t dlaCore) noexcept override;
  int32_t getDLACore() const noexcept override { return dla_core_; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override { allocator_ = allocator; }
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  nvinfer1::ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept override;
  nvinfer1::ICudaEngine* deserializeCudaEngine(nvinfer1::IStreamReader& streamReader) noexcept override;
  nvinfer1::ICudaEngine* deserializeCudaEngine(nvinfer1::IStreamReaderV2& streamReader) noexcept override;
  nvinfer1::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override { return std::max(1, max_threads_); }
  void setTemporaryDirectory(const char* path) noexcept override;
  const char* getTemporaryDirectory() const noexcept override;
  void setTempfileControlFlags(nvinfer1::TempfileControlFlags flags) noexcept override;
  nvinfer1::TempfileControlFlags getTempfileControlFlags() const noexcept override { return tempfile_flags_; }
  nvinfer1::IPluginRegistry& getPluginRegistry() noexcept override { return *registry_; }
  nvinfer1::IRuntime* loadRuntime(const char* path) noexcept override;
  void setEngineHostCodeAllowed(bool allowed) noexcept override { host_code_ = allowed; }
  bool getEngineHostCodeAllowed() const noexcept override { return host_code_; }

 private:
  using ReadSome = std::function<int64_t(void* destination, int64_t bytes)>;
  Result<nvinfer1::ICudaEngine*> load(std::shared_ptr<const Program> program);
  // A plan in memory that `owner`, unless it is null, keeps; of a file, unless that is null.
  Result<nvinfer1::ICudaEngine*> load_plan(std::span<const std::byte> plan, const std::shared_ptr<const void>& owner,
                                           const char* file = nullptr);
  // What runs the plan in this runtime's place, with its settings; null: this one does. Errors: neither may.
  Result<nvinfer1::IRuntime*> runtime_of(std::span<const std::byte> plan);
  TemporaryFiles temporary_files() const;
  Result<nvinfer1::ICudaEngine*> load_stream(const ReadSome& read, const std::function<void(int64_t)>& back);
  // Plugin libraries that the plan carries, into our registry, where that is allowed.
  Status load_plugin_libraries(const Program& program);

  Reporter reporter_;
  std::shared_ptr<PluginRegistry> registry_;  // engines keep it, for their plugins
  nvinfer1::IGpuAllocator* allocator_ = nullptr;
  int device_number_ = kCurrentDevice;  // of engines to come
  int32_t dla_core_ = 0;
  int32_t max_threads_ = 0;  // of inferences of engines to come; 0: as many as there are
  std::string temporary_directory_;
  nvinfer1::TempfileControlFlags tempfile_flags_ = 3;
  bool host_code_ = false, plans_runtime_ = false;
  std::set<std::string> carried_;                            // digests of plugin libraries that came with plans
  std::mutex others_mutex_;
  std::vector<std::unique_ptr<nvinfer1::IRuntime>> others_;  // of other versions; they last as long as this one
};

}  // namespace wootz::api
