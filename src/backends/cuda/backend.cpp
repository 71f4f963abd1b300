#include "backends/cuda/backend.h"

#include <algorithm>

#include "backend/concurrent.h"
#include "backends/cuda/device/counts.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/device/images.h"
#include "backends/cuda/device/libraries.h"
#include "backends/cuda/device/pointers.h"
#include "backends/cuda/jit/code_store.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/targets/devices.h"

namespace wootz {
namespace cuda {
namespace {

size_t device_attribute(const Gpu& gpu, CUdevice_attribute which) {
  int value = 0;
  const bool known = gpu.api->cuDeviceGetAttribute(&value, which, gpu.device) == CUDA_SUCCESS;
  return known && value > 0 ? static_cast<size_t>(value) : 0;
}

class CudaEvent final : public Event {
 public:
  CudaEvent(const Gpu& gpu, CUevent event) : gpu_(gpu), event_(event) {}
  ~CudaEvent() override {
    const GpuScope scope(gpu_);
    gpu_.api->cuEventDestroy_v2(event_);
  }
  CUevent handle() const { return event_; }
  Status wait() override {
    const GpuScope scope(gpu_);
    return check(gpu_.api->cuEventSynchronize(event_), "cuEventSynchronize");
  }
  Result<double> ms_since(const Event& earlier) const override {
    const GpuScope scope(gpu_);
    float ms = 0;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuEventElapsedTime, &ms, static_cast<const CudaEvent&>(earlier).event_,
                               event_);
    return static_cast<double>(ms);
  }

 private:
  const Gpu& gpu_;
  CUevent event_;
};

class CudaStream final : public Stream, public KernelLauncher {
 public:
  CudaStream(const Gpu& gpu, CUstream stream, bool own) : gpu_(gpu), stream_(stream), own_(own) {}
  ~CudaStream() override {
    if (!own_) return;
    const GpuScope scope(gpu_);
    gpu_.api->cuStreamDestroy_v2(stream_);
  }
  Status enqueue(std::function<Status()>) override { return unsupported("a CUDA stream takes no host work here"); }
  Status synchronize() override {
    const GpuScope scope(gpu_);
    return check(gpu_.api->cuStreamSynchronize(stream_), "cuStreamSynchronize");
  }
  bool capturing() const override {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return gpu_.api->cuStreamIsCapturing(stream_, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
  }
  Status record(Event& event) override {
    return check(gpu_.api->cuEventRecord(static_cast<CudaEvent&>(event).handle(), stream_), "cuEventRecord");
  }
  Status record_handle(void* event) override {
    const GpuScope scope(gpu_);
    return check(gpu_.api->cuEventRecord(static_cast<CUevent>(event), stream_), "cuEventRecord");
  }
  Status mark(Event& event) override {
    return check(gpu_.api->cuEventRecordWithFlags(static_cast<CudaEvent&>(event).handle(), stream_,
                                                  capturing() ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_DEFAULT),
                 "cuEventRecordWithFlags");
  }
  Status persist(const void* memory, size_t bytes, size_t share) override {
    const size_t most = device_attribute(gpu_, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
    if (most == 0) return Status();
    CUlaunchAttributeValue value{};
    CUaccessPolicyWindow& window = value.accessPolicyWindow;
    window.base_ptr = const_cast<void*>(memory);
    window.num_bytes = share == 0 ? 0 : std::min(bytes, most);
    if (window.num_bytes != 0) {
      WOOTZ_RETURN_IF_ERROR(set_aside(share));
      window.hitRatio = std::min(1.0F, static_cast<float>(share) / static_cast<float>(window.num_bytes));
      window.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
      window.missProp = CU_ACCESS_PROPERTY_STREAMING;
    }
    return check(gpu_.api->cuStreamSetAttribute(stream_, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
                 "cuStreamSetAttribute");
  }
  Status wait_for(Event& event) override {
    return check(gpu_.api->cuStreamWaitEvent(stream_, static_cast<CudaEvent&>(event).handle(), 0), "cuStreamWaitEvent");
  }
  void* native() const override { return stream_; }
  Status launch(KernelImage& image, const KernelLaunch& launch) override {
    return launch_image(gpu_, image, launch, stream_).with_prefix(fmt::format("kernel '{}'", image.name));
  }

 private:
  // The device's share of its cache for all of the process: it only grows.
  Status set_aside(size_t bytes) {
    size_t now = 0;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuCtxGetLimit, &now, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
    if (now >= bytes) return Status();
    // Not allowed while a stream is captured, except to a thread that knows what it does: this is no work of a stream.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuThreadExchangeStreamCaptureMode, &mode);
    const CUresult set = gpu_.api->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes);
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuThreadExchangeStreamCaptureMode, &mode);
    return check(set, "cuCtxSetLimit");
  }

  const Gpu& gpu_;
  CUstream stream_;
  bool own_;
};

class CudaGraph final : public Recording {
 public:
  CudaGraph(const Gpu& gpu, CUgraphExec exec) : gpu_(gpu), exec_(exec) {}
  ~CudaGraph() override {
    const GpuScope scope(gpu_);
    gpu_.api->cuGraphExecDestroy(exec_);
  }
  Status replay(Stream& stream) override {
    ++work_counters().replayed;
    return check(gpu_.api->cuGraphLaunch(exec_, static_cast<CUstream>(stream.native())), "cuGraphLaunch");
  }
  // Takes over the addresses of `graph`, which has the same nodes; false: it does not fit.
  bool update(CUgraph graph) {
    CUgraphExecUpdateResultInfo info{};
    return gpu_.api->cuGraphExecUpdate_v2(exec_, graph, &info) == CUDA_SUCCESS;
  }

 private:
  const Gpu& gpu_;
  CUgraphExec exec_;
};

class CudaDevice final : public Device, public LockedDevice {
 public:
  explicit CudaDevice(const Gpu& gpu) : gpu_(gpu), description_(gpu.describe()) {}
  const DeviceDescription& describe() const override { return description_; }
  int number() const override { return gpu_.device; }
  bool enter() const override { return gpu_.enter(); }
  void leave() const override { gpu_.leave(); }
  bool host_memory() const override { return false; }

  Result<size_t> free_memory() const override {
    const GpuScope scope(gpu_);
    size_t free = 0, total = 0;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuMemGetInfo_v2, &free, &total);
    return free;
  }
  Result<void*> allocate(size_t bytes, size_t alignment) override {
    if ((alignment & (alignment - 1)) != 0 || alignment > 256)
      return invalid_argument("cuda: alignment {}; device memory is aligned to 256 bytes", alignment);
    const GpuScope scope(gpu_);
    CUdeviceptr memory = 0;
    if (Status status = check(gpu_.api->cuMemAlloc_v2(&memory, bytes == 0 ? 1 : bytes), "cuMemAlloc"); !status.ok())
      return status.with_prefix(fmt::format("{} bytes of device memory", bytes));
    return reinterpret_cast<void*>(memory);
  }
  void free(void* memory) override {
    if (memory == nullptr) return;
    const GpuScope scope(gpu_);
    gpu_.api->cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory));
  }
  Status copy(void* to, const void* from, size_t bytes, Stream* stream) override {
    if (bytes == 0) return Status();
    const GpuScope scope(gpu_);
    const auto target = reinterpret_cast<CUdeviceptr>(to), source = reinterpret_cast<CUdeviceptr>(from);
    if (stream == nullptr) return check(gpu_.api->cuMemcpy(target, source, bytes), "cuMemcpy");
    return check(gpu_.api->cuMemcpyAsync(target, source, bytes, static_cast<CUstream>(stream->native())),
                 "cuMemcpyAsync");
  }
  Result<std::unique_ptr<Stream>> create_stream() override {
    const GpuScope scope(gpu_);
    CUstream stream = nullptr;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(gpu_, stream, true));
  }
  // By its number that no other GPU has; a part of a GPU has its own.
  std::string lock_name() const override {
    CUuuid id{};
    if (!gpu_.api->machine_code || gpu_.api->cuDeviceGetUuid_v2(&id, gpu_.device) != CUDA_SUCCESS) return "";
    std::string name = "gpu-";
    for (const char byte : id.bytes) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return name;
  }
  size_t cache_bytes() const override { return device_attribute(gpu_, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE); }
  size_t persisting_cache() const override {
    return device_attribute(gpu_, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  }
  Result<void*> allocate_managed(size_t bytes) override {
    const GpuScope scope(gpu_);
    CUdeviceptr memory = 0;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuMemAllocManaged, &memory, bytes == 0 ? 1 : bytes, CU_MEM_ATTACH_GLOBAL);
    return reinterpret_cast<void*>(memory);
  }
  Result<std::unique_ptr<Event>> create_event(bool tells_time, bool sleeps) override {
    const GpuScope scope(gpu_);
    CUevent event = nullptr;
    const unsigned flags = (tells_time ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING) |
                           (sleeps ? CU_EVENT_BLOCKING_SYNC : CU_EVENT_DEFAULT);
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuEventCreate, &event, flags);
    return std::unique_ptr<Event>(std::make_unique<CudaEvent>(gpu_, event));
  }
  Result<void*> allocate_host(size_t bytes) override {
    const GpuScope scope(gpu_);
    void* memory = nullptr;
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuMemHostAlloc, &memory, bytes == 0 ? 1 : bytes, 0U);
    return memory;
  }
  void free_host(void* memory) override {
    if (memory == nullptr) return;
    const GpuScope scope(gpu_);
    gpu_.api->cuMemFreeHost(memory);
  }
  Status check_address(const void* address) const override { return check_pointer(gpu_, address); }
  size_t alignment() const override { return 16; }  // what kernels and libraries read at once
  Result<std::unique_ptr<Stream>> adopt_stream(void* native) override {
    WOOTZ_RETURN_IF_ERROR(check_stream(gpu_, static_cast<CUstream>(native)));
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(gpu_, static_cast<CUstream>(native), false));
  }

  // The work is captured from a stream of our own: the default stream cannot be captured, and nothing of the
  // application's is caught up in it.
  Result<std::unique_ptr<Recording>> record(Stream&, FunctionRef<Status(Stream&)> work,
                                            std::unique_ptr<Recording> previous) override {
    const GpuScope scope(gpu_);
    const Driver& api = *gpu_.api;
    CUstream own = nullptr;
    WOOTZ_CUDA_RETURN_IF_ERROR(api, cuStreamCreate, &own, CU_STREAM_NON_BLOCKING);
    CudaStream recorder(gpu_, own, true);
    WOOTZ_CUDA_RETURN_IF_ERROR(api, cuStreamBeginCapture_v2, own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    const Status done = work(recorder);
    CUgraph graph = nullptr;
    const Status ended = check(api.cuStreamEndCapture(own, &graph), "cuStreamEndCapture");
    if (!done.ok() || !ended.ok()) {
      if (graph != nullptr) api.cuGraphDestroy(graph);
      return done.ok() ? ended : done;
    }
    if (previous != nullptr && static_cast<CudaGraph*>(previous.get())->update(graph)) {
      api.cuGraphDestroy(graph);
      ++work_counters().updated;
      return previous;
    }
    previous.reset();
    CUgraphExec exec = nullptr;
    const Status made = check(api.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
    api.cuGraphDestroy(graph);
    WOOTZ_RETURN_IF_ERROR(made);
    ++work_counters().made;
    return std::unique_ptr<Recording>(std::make_unique<CudaGraph>(gpu_, exec));
  }

 private:
  const Gpu& gpu_;
  DeviceDescription description_;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend()
      : Backend("cuda", {.own_memory = true,
                         .chains = true,
                         .squeeze_excite = true,
                         .patch_products = true,
                         .gate_sums = true,
                         .convolution_pairs = true,
                         .convolution_sums = true,
                         .fused_moves = true,
                         .norm_products = true,
                         .siblings = true,
                         .stems = true,
                         .by_default = true,
                         .one_isa = true}) {}

  Result<std::shared_ptr<Device>> open(int number) const override {
    const Result<const Gpu*> found = gpu(number);
    if (!found.ok()) return found.status().with_prefix("the cuda backend is not offered");
    return std::shared_ptr<Device>(std::make_shared<CudaDevice>(**found));
  }
  Result<std::vector<DeviceDescription>> devices() const override { return list_gpus(); }
  int current() const override { return current_gpu(); }
  std::vector<const Provider*> providers() const override {
    return {&cublaslt_provider(),  &cudnn_provider(),     &apart_provider(),
            &generated_provider(), &selecting_provider(), &nccl_provider()};
  }
  Status ready() const override {
    WOOTZ_ASSIGN_OR_RETURN(const Gpu* const found, gpu());
    return found->api->machine_code ? compiler_version().status() : Status();
  }
  bool computes_fast_in(DType type) const override {
    return type == DType::kF16 || type == DType::kBF16 || type == DType::kF8E4M3;
  }
  std::vector<DeviceDescription> known_devices() const override { return cuda::known_devices(); }
  void offer_native(const std::vector<NativeCode>& code) const override { cuda::offer_native(code); }
  bool holds(const void* address) const override { return holds_pointer(address); }
  std::vector<LibraryState> libraries(bool elsewhere) const override { return library_states(elsewhere); }
};

}  // namespace

}  // namespace cuda

const Backend& cuda_backend() {
  static const cuda::CudaBackend backend;
  return backend;
}

}  // namespace wootz
