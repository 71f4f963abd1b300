// IExecutionContext. The setters change the front: shapes, addresses and options for the next inference. An inference
// takes a copy of it to the back, an executor of its own, when its turn in the stream comes.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/runtime/configs.h"
#include "api/runtime/engine.h"
#include "backend/device.h"
#include "runtime/executor.h"

namespace wootz::api {

class ContextImpl final : public nvinfer1::IExecutionContext {
 public:
  static Result<std::unique_ptr<ContextImpl>> create(const EngineImpl& engine,
                                                     nvinfer1::ExecutionContextAllocationStrategy strategy);
  ~ContextImpl() noexcept override;  // waits for its inferences

  // The executor that answers for shapes.
  const Executor& front() const { return *front_; }
  const EngineInfo& info() const { return *info_; }
  const Reporter& reporter() const { return reporter_; }

  const nvinfer1::ICudaEngine& getEngine() const noexcept override { return engine_; }
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  int32_t getOptimizationProfile() const noexcept override { return static_cast<int32_t>(front_->profile()); }
  bool setInputShape(const char* tensorName, const nvinfer1::Dims& dims) noexcept override;
  bool allInputDimensionsSpecified() const noexcept override;
  bool allInputShapesSpecified() const noexcept override;
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept override;
  nvinfer1::Dims getTensorShape(const char* tensorName) const noexcept override;
  nvinfer1::Dims getTensorStrides(const char* tensorName) const noexcept override;
  int64_t getMaxOutputSize(const char* tensorName) const noexcept override;
  bool setTensorAddress(const char* tensorName, void* data) noexcept override;
  const void* getTensorAddress(const char* tensorName) const noexcept override;
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept override;
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept override;
  void* getOutputTensorAddress(const char* tensorName) const noexcept override;
  bool setOutputAllocator(const char* tensorName, nvinfer1::IOutputAllocator* outputAllocator) noexcept override;
  nvinfer1::IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept override;
  bool enqueueV3(cudaStream_t stream) noexcept override;
  bool executeV2(void* const* bindings) noexcept override;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override;
  cudaEvent_t getInputConsumedEvent() const noexcept override { return consumed_event_; }
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
  void setDeviceMemory(void* memory) noexcept override;
  size_t updateDeviceMemorySizeForShapes() noexcept override;
  bool setTemporaryStorageAllocator(nvinfer1::IGpuAllocator* allocator) noexcept override;
  nvinfer1::IGpuAllocator* getTemporaryStorageAllocator() const noexcept override { return temporary_allocator_; }
  void setPersistentCacheLimit(size_t size) noexcept override { persistent_cache_ = size; }
  size_t getPersistentCacheLimit() const noexcept override { return persistent_cache_; }
  void setProfiler(nvinfer1::IProfiler* profiler) noexcept override { profiler_ = profiler; }
  nvinfer1::IProfiler* getProfiler() const noexcept override { return profiler_; }
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept override { emits_profile_ = enqueueEmitsProfile; }
  bool getEnqueueEmitsProfile() const noexcept override { return emits_profile_; }
  bool reportToProfiler() const noexcept override;
  bool setNvtxVerbosity(nvinfer1::ProfilingVerbosity verbosity) noexcept override;
  nvinfer1::ProfilingVerbosity getNvtxVerbosity() const noexcept override { return nvtx_verbosity_; }
  void setDebugSync(bool sync) noexcept override { debug_sync_ = sync; }
  bool getDebugSync() const noexcept override { return debug_sync_; }
  bool setDebugListener(nvinfer1::IDebugListener* listener) noexcept override;
  nvinfer1::IDebugListener* getDebugListener() noexcept override { return listener_; }
  bool setTensorDebugState(const char* name, bool flag) noexcept override;
  bool getDebugState(const char* name) const noexcept override;
  bool setAllTensorsDebugState(bool flag) noexcept override;
  bool setUnfusedTensorsDebugState(bool flag) noexcept override;
  bool getUnfusedTensorsDebugState() const noexcept override { return unfused_debug_; }
  // wootz_context_tap().
  Status tap(const char* name, bool on);
  nvinfer1::IRuntimeConfig* getRuntimeConfig() const noexcept override { return &config_; }
  bool setCommunicator(void* communicator) noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override { reporter_.set_recorder(recorder); }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

 private:
  // An output whose memory an IOutputAllocator gives.
  class Sink final : public OutputSink {
   public:
    nvinfer1::IOutputAllocator* allocator = nullptr;
    const char* name = "";
    void* current = nullptr;
    cudaStream_t stream = nullptr;
    const Device* device = nullptr;
    void* checked = nullptr;  // what the allocator gave last, known to be usable
    Status refused;           // of the inference at hand: it gave what is not
    void* reallocate(int output, size_t bytes, const Dims& dims) override;
  };
  // A value of the model that the listener is to see, under its own name.
  struct Tap {
    std::string name;
    int32_t tensor = -1;
    bool written = true;  // by a step; otherwise an input, a constant, or worked out with the shapes
  };
  // What one inference takes along.
  struct Job {
    size_t profile = 0;
    std::vector<Dims> input_dims;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<nvinfer1::IOutputAllocator*> allocators;
    std::vector<int32_t> taps;  // tensors to watch
    std::vector<Tap> named;     // taps of the model's values
    void* arena = nullptr;
    size_t arena_bytes = 0;
    bool profile_steps = false;
    bool wait_for_steps = false;
    cudaStream_t stream = nullptr;
    uint64_t settings = 0;  // settings_ when it was made
  };

  // An inference that waits in a stream. The context keeps those that are done for the next ones.
  struct Queued final : StreamWork {
    ContextImpl* context = nullptr;
    const char* call = "";
    Job job;
    Status run() override;
    void drop() override { context->done(this); }
  };

  ContextImpl(const EngineImpl& engine, nvinfer1::ExecutionContextAllocationStrategy strategy);
  Result<const IoInfo*> input(const char* name) const;
  Result<const IoInfo*> output(const char* name) const;
  Status set_address(const IoInfo& io, const void* address);
  Status reserve_for(size_t profile);
  Status check_ready();
  Status fill_job(cudaStream_t stream, Job* job);
  Status run_job(const Job& job);
  Status run_back(const Job& job);
  Status adopt(cudaStream_t stream);
  void set_tap(const Job& job);
  Status show(const char* name, int32_t tensor, const void* data, const Dims& dims, cudaStream_t stream) const;
  Status show_unwritten(const Job& job);
  void report_times() const;
  Status enqueue(const char* call, cudaStream_t stream);
  void wait_idle();
  Queued* take_queued();
  void done(Queued* queued);

  const EngineImpl& engine_;  // only for getEngine()
  std::shared_ptr<const EngineInfo> info_;
  Reporter reporter_;
  std::string name_;

  std::unique_ptr<Executor> front_;
  std::vector<const void*> input_address_;
  std::vector<void*> output_address_;
  std::vector<nvinfer1::IOutputAllocator*> allocators_;
  void* user_memory_ = nullptr;
  size_t user_memory_bytes_ = 0;
  Job job_;  // reused by inferences that are run at once
  // Grows whenever something is set: extents that the last inference found say nothing about the next one then.
  uint64_t settings_ = 1;

  mutable std::mutex run_mutex_;  // guards what follows
  Executor back_;
  std::unique_ptr<Stream> adopted_;  // of a device with memory of its own: the application's stream, as it was last
  cudaStream_t adopted_handle_ = nullptr;
  std::vector<std::unique_ptr<Stream>> aux_streams_;  // the application's
  std::vector<Sink> sinks_;
  uint64_t found_for_ = 0;  // the settings whose inference was the last one; 0: it failed, or there was none
  bool tapped_ = false;
  mutable std::vector<float> step_ms_;
  mutable bool times_pending_ = false;

  std::mutex pending_mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<Queued>> queued_;  // the first pending_ of them are in streams
  size_t pending_ = 0;

  mutable RuntimeConfig config_;
  cudaEvent_t consumed_event_ = nullptr;
  nvinfer1::IGpuAllocator* temporary_allocator_ = nullptr;
  size_t persistent_cache_ = 0;
  nvinfer1::IProfiler* profiler_ = nullptr;
  bool emits_profile_ = true;
  nvinfer1::ProfilingVerbosity nvtx_verbosity_;
  bool debug_sync_ = false;
  nvinfer1::IDebugListener* listener_ = nullptr;
  std::vector<uint8_t> debug_on_;  // by plan tensor
  bool unfused_debug_ = false;
  std::map<std::string, Tap, std::less<>> taps_;
};

}  // namespace wootz::api
