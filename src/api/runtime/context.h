// IExecutionContext. The setters change the bindings and the options of the next inference. An inference that is done
// before enqueueV3 returns uses them as they are; one that waits in a host stream takes along a copy, made when
// something changed.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/runtime/configs.h"
#include "api/runtime/convert.h"
#include "api/runtime/memory_log.h"
#include "api/runtime/plugins/services.h"
#include "api/runtime/reporter.h"
#include "backend/device.h"
#include "runtime/executor.h"
#include "runtime/report/engine_info.h"

namespace wootz::api {

class ContextImpl final : public nvinfer1::IExecutionContext {
 public:
  // `engine`: who says that it is this context's engine. `allocator`: lent to plugins; may be null.
  static Result<std::unique_ptr<ContextImpl>> create(const nvinfer1::ICudaEngine& engine,
                                                     std::shared_ptr<const EngineInfo> info, const Reporter& reporter,
                                                     nvinfer1::ExecutionContextAllocationStrategy strategy,
                                                     nvinfer1::IGpuAllocator* allocator);
  ~ContextImpl() noexcept override;  // waits for its inferences
  // What its engine knows by that it exists.
  void keep(std::shared_ptr<const void> sign) { sign_ = std::move(sign); }

  // Of the shapes that were resolved last; null: none were.
  const ShapePlan* shape_plan() const { return runner_->bindings.plan().get(); }
  const EngineInfo& whole() const { return *whole_; }
  // Of the program that runs the profile.
  const EngineInfo& info() const { return *info_; }
  const Reporter& reporter() const { return reporter_; }

  const nvinfer1::ICudaEngine& getEngine() const noexcept override { return engine_; }
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  int32_t getOptimizationProfile() const noexcept override { return static_cast<int32_t>(profile_); }
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
  void setPersistentCacheLimit(size_t size) noexcept override;
  size_t getPersistentCacheLimit() const noexcept override { return persistent_cache_; }
  void setProfiler(nvinfer1::IProfiler* profiler) noexcept override { profiler_ = {profiler, reporter_.level()}; }
  nvinfer1::IProfiler* getProfiler() const noexcept override { return profiler_.object; }
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
  // wootz_context_replay().
  void set_replay(bool on);
  nvinfer1::IRuntimeConfig* getRuntimeConfig() const noexcept override { return &config_; }
  bool setCommunicator(void* communicator) noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
    services_.recorder = recorder;
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }

 private:
  // An output whose memory an IOutputAllocator gives.
  class Sink final : public OutputSink {
   public:
    Sink(const ContextImpl& context, const char* name, nvinfer1::IOutputAllocator* allocator)
        : context_(context), name_(name), allocator_(allocator) {}
    nvinfer1::IOutputAllocator* allocator() const { return allocator_; }
    void* reallocate(int output, void* current, size_t bytes, const Dims& dims) override;
    void notify(const Dims& dims) const;
    // Why what the allocator gave in the inference at hand is not usable. Ok the next time.
    Status take_refusal() { return std::exchange(refused_, Status()); }

   private:
    const ContextImpl& context_;
    const char* name_;
    nvinfer1::IOutputAllocator* allocator_;
    void* checked_ = nullptr;  // what the allocator gave last, known to be usable
    Status refused_;
  };
  // A value of the model that the listener is to see, under its own name.
  struct Tap {
    std::string name;
    TensorIndex tensor;
    bool written = true;  // by a step; otherwise an input, a constant, or worked out with the shapes
  };
  // What the context keeps for a program: profiles that were tuned by themselves have their own.
  struct Runner {
    Runner(std::shared_ptr<const EngineInfo> of, const std::shared_ptr<GrowingBuffer>& arena)
        : info(std::move(of)),
          bindings(info->core_ptr()),
          executor(info->core_ptr(), arena),
          step_ms(info->program().steps.size(), 0) {}
    std::shared_ptr<const EngineInfo> info;
    Bindings bindings;  // of the next inference; questions about shapes resolve them
    Executor executor;
    std::map<std::string, Tap, std::less<>> taps;
    IndexedVector<StepIndex, float> step_ms;
    bool tapped = false, observed = false;
  };
  // What one inference takes along beside its bindings.
  struct Job {
    Runner* runner = nullptr;
    std::vector<TensorIndex> taps;    // tensors to watch
    std::vector<TensorIndex> marked;  // of them, debug tensors
    std::vector<Tap> named;           // taps of the model's values
    bool profile_steps = false;
    bool wait_for_steps = false;
    cudaStream_t stream = nullptr;
    uint64_t settings = 0;  // settings_ when it was made
  };

  // From least to most: kNONE (1), kLAYER_NAMES_ONLY (0), kDETAILED (2).
  static Executor::Ranges ranges_of(nvinfer1::ProfilingVerbosity verbosity) {
    using nvinfer1::ProfilingVerbosity;
    return verbosity == ProfilingVerbosity::kNONE       ? Executor::Ranges::kNone
           : verbosity == ProfilingVerbosity::kDETAILED ? Executor::Ranges::kTactics
                                                        : Executor::Ranges::kNames;
  }

  // An inference that waits in a stream. The context keeps those that are done for the next ones.
  struct Queued final : StreamWork {
    Queued(ContextImpl* of, std::shared_ptr<const EngineCore> engine) : context(of), bindings(std::move(engine)) {}
    ContextImpl* context;
    const char* call = "";
    Job job;
    Bindings bindings;
    Status run() override;
    void drop() override { context->done(this); }
  };

  // An inference that a graph replays, with what was set when it was captured. The graph may outlive the context.
  struct Owner {
    std::mutex mutex;  // held while it runs
    ContextImpl* context;
  };
  struct Replay;

  ContextImpl(const nvinfer1::ICudaEngine& engine, std::shared_ptr<const EngineInfo> info, const Reporter& reporter,
              nvinfer1::ExecutionContextAllocationStrategy strategy);
  Result<const IoInfo*> input(const char* name) const;
  Result<const IoInfo*> output(const char* name) const;
  const void* address_of(const IoInfo& io) const;
  Status set_address(const IoInfo& io, const void* address);
  // The one that runs a profile, made when it is first asked for.
  Result<Runner*> runner_of(size_t profile);
  Status prepare(Runner& runner);
  Status reserve_for(size_t profile);
  bool all_inputs_specified() const;
  Sink* sink(const Bindings& bindings, size_t output) const { return static_cast<Sink*>(bindings.output_sink(output)); }
  void fill_job(cudaStream_t stream, Job* job) const;
  Status run_in_turn(const Job& job, Bindings& bindings);
  Status run_now(const Job& job, Bindings& bindings);
  void observe_steps(Runner& runner, bool on) const;
  Status finish_outputs(const Runner& runner, const Status& ran, const Bindings& bindings);
  Status adopt(cudaStream_t stream);
  void set_tap(const Job& job);
  static Result<Tap> find_tap(const EngineInfo& whole, const EngineInfo& info, const char* name);
  Status show(const char* name, const PlanTensor& tensor, const void* data, const Dims& dims,
              cudaStream_t stream) const;
  Status show_unwritten(const Job& job);
  Status report_times() const;
  Status enqueue(const char* call, cudaStream_t stream);
  Status enqueue_on_device(cudaStream_t stream);
  Status enqueue_on_host_stream(const char* call, cudaStream_t stream);
  Status capture(const char* call, cudaStream_t stream);
  void wait_idle();
  Queued* take_queued();
  void done(Queued* queued);

  const nvinfer1::ICudaEngine& engine_;
  std::shared_ptr<const EngineInfo> whole_, info_;  // of the engine; of the program that runs the profile
  std::shared_ptr<const void> sign_;
  Reporter reporter_;
  std::string name_;

  const bool on_device_;  // of a device with memory of its own: its stream takes the work, not the host's
  Job job_;               // reused by inferences that are run at once
  size_t profile_ = 0;
  // Grows whenever something is set: extents that the last inference found say nothing about the next one then.
  uint64_t settings_ = 1;

  mutable std::mutex run_mutex_;  // guards what follows
  PluginServices services_;       // outlives what the executor keeps
  std::shared_ptr<GrowingBuffer> arena_;
  std::vector<std::unique_ptr<Runner>> runners_;  // of the profiles that were set so far
  Runner* runner_ = nullptr;                      // of the profile that is set
  cudaStream_t running_in_ = nullptr;             // the stream of the inference at hand
  std::unique_ptr<Stream> adopted_;  // of a device with memory of its own: the application's stream, as it was last
  cudaStream_t adopted_handle_ = nullptr;
  std::vector<std::unique_ptr<Stream>> aux_streams_;  // the application's
  uint64_t found_for_ = 0;   // the settings whose inference was the last one; 0: it failed, or there was none
  Runner* timed_ = nullptr;  // whose times are to be reported
  mutable bool times_pending_ = false;
  bool times_captured_ = false;  // graphs of the application's tell times when they run

  std::mutex pending_mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<Queued>> queued_;  // the first pending_ of them are in streams
  size_t pending_ = 0;
  std::shared_ptr<Owner> owner_;  // null: nothing was captured

  mutable RuntimeConfig config_;
  cudaEvent_t consumed_event_ = nullptr;
  nvinfer1::IGpuAllocator* temporary_allocator_ = nullptr;
  size_t persistent_cache_ = 0;
  AppProfiler profiler_;
  bool emits_profile_ = true;
  nvinfer1::ProfilingVerbosity nvtx_verbosity_;
  bool debug_sync_ = false;
  nvinfer1::IDebugListener* listener_ = nullptr;
  std::set<std::string, std::less<>> debug_on_;
  bool unfused_debug_ = false;
  HeldMemory held_;
  bool replay_ = true;
};

}  // namespace wootz::api
