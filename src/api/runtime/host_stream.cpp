#include "api/runtime/host_stream.h"

#include <map>
#include <memory>
#include <mutex>

#include "api/runtime/hostcuda.h"
#include "backends/registry.h"

namespace wootz::api {
namespace {

// Live streams. Looked up at every use, so that a handle from elsewhere is never taken for ours.
class Streams {
 public:
  static Streams& get() {
    static Streams streams;
    return streams;
  }

  Result<cudaStream_t> create() {
    WOOTZ_ASSIGN_OR_RETURN(const Backend* backend, find_backend("cpu"));
    WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, backend->open());
    WOOTZ_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device->create_stream());
    std::shared_ptr<Stream> shared = std::move(stream);
    auto* handle = reinterpret_cast<cudaStream_t>(shared.get());
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.emplace(handle, std::move(shared));
    return handle;
  }
  std::shared_ptr<Stream> find(cudaStream_t handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = streams_.find(handle);
    return it == streams_.end() ? nullptr : it->second;
  }
  std::shared_ptr<Stream> remove(cudaStream_t handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = streams_.find(handle);
    if (it == streams_.end()) return nullptr;
    std::shared_ptr<Stream> stream = std::move(it->second);
    streams_.erase(it);
    return stream;
  }

 private:
  std::mutex mutex_;
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
};

Status not_ours(cudaStream_t stream) {
  return invalid_argument("{} is no host stream: make one by wootz_stream_create, or pass null",
                          static_cast<const void*>(stream));
}

// cudaLaunchHostFunc of whatever CUDA runtime the program has loaded, if any.
using HostFunction = void (*)(void*);
using LaunchHostFunction = int (*)(cudaStream_t, HostFunction, void*);
LaunchHostFunction find_launcher() { return reinterpret_cast<LaunchHostFunction>(cuda_function("cudaLaunchHostFunc")); }

// cudaStreamLegacy and cudaStreamPerThread: fixed handles that stand for default streams.
bool is_default_stream(cudaStream_t stream) {
  const auto number = reinterpret_cast<uintptr_t>(stream);
  return number == 1 || number == 2;
}

// What is captured is done whenever its graph is launched, and this inference's work is there for one time only. Graphs
// of hostcuda's streams take inferences; other libraries have no call for that.
Status refuse_capture(cudaStream_t stream) {
  using IsCapturing = int (*)(cudaStream_t, int*);
  const auto ask = reinterpret_cast<IsCapturing>(cuda_function("cudaStreamIsCapturing"));
  int capturing = 0;
  const int error = ask == nullptr ? 0 : ask(stream, &capturing);
  if (error == 0 && capturing == 0) return Status();
  return unsupported(
      "the stream is being captured into a graph{}, and an inference of a CPU engine cannot be: end the capture, or "
      "let "
      "libwootz_hostcuda be the program's CUDA runtime library, whose graphs take inferences",
      error == 0 ? std::string() : fmt::format(" or cannot be asked (CUDA error {})", error));
}

void run_foreign(void* work) {
  (void)static_cast<StreamWork*>(work)->run();  // tells its failure itself: a host function has no result
}

}  // namespace

Result<cudaStream_t> create_host_stream() { return Streams::get().create(); }

Status destroy_host_stream(cudaStream_t stream) {
  const std::shared_ptr<Stream> found = Streams::get().remove(stream);
  if (found == nullptr) return not_ours(stream);
  return found->synchronize();
}

Status synchronize_host_stream(cudaStream_t stream) {
  const std::shared_ptr<Stream> found = Streams::get().find(stream);
  if (found != nullptr) return found->synchronize();
  return hostcuda_loaded() ? synchronize_hostcuda(stream) : not_ours(stream);
}

bool is_host_stream(cudaStream_t stream) { return stream != nullptr && Streams::get().find(stream) != nullptr; }

bool is_immediate(cudaStream_t stream) {
  if (hostcuda_loaded()) return false;
  return stream == nullptr || (is_default_stream(stream) && find_launcher() == nullptr);
}

Status run_in_stream(cudaStream_t stream, StreamWork* work) {
  if (const std::shared_ptr<Stream> found = Streams::get().find(stream)) return found->enqueue_kept(work);
  if (hostcuda_loaded()) return run_in_hostcuda(stream, work);
  const LaunchHostFunction launch = find_launcher();
  if (launch == nullptr) return not_ours(stream);
  WOOTZ_RETURN_IF_ERROR(refuse_capture(stream));
  if (const int error = launch(stream, run_foreign, work); error != 0)
    return make_error(Code::kInvalidState, "cudaLaunchHostFunc refused the inference: CUDA error {}", error);
  return Status();
}

namespace {
using EventRecord = int (*)(cudaEvent_t, cudaStream_t);
EventRecord find_recorder() { return reinterpret_cast<EventRecord>(cuda_function("cudaEventRecord")); }
}  // namespace

Status can_record_events() {
  return find_recorder() != nullptr ? Status() : unsupported("events need a CUDA runtime library, and none is loaded");
}

Status record_event(cudaEvent_t event, cudaStream_t stream) {
  WOOTZ_RETURN_IF_ERROR(can_record_events());
  const int error = find_recorder()(event, stream);
  return error == 0 ? Status() : make_error(Code::kInvalidState, "cudaEventRecord failed: CUDA error {}", error);
}

}  // namespace wootz::api
