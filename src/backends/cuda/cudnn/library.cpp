#include "backends/cuda/cudnn/library.h"

#include <vector>

#include "backends/cuda/cublaslt/library.h"
#include "backends/cuda/device/dynamic_library.h"
#include "backends/cuda/device/gpu.h"
#include "backends/cuda/device/libcuda_stub.h"
#include "backends/cuda/jit/compiler.h"

namespace wootz::cuda {
namespace {

constexpr size_t kOldest = 90800;  // describes devices that are not there

Status open(CudnnLibrary* library) {
  open_libcuda_stub();  // without a driver and without this, engines that compile at run time are not offered
  // cuDNN asks for these by name: what is open already is found by that, wherever it lies.
  (void)compiler_version();
  (void)cublaslt(nullptr);
  WOOTZ_ASSIGN_OR_RETURN(void* opened, open_library({"libcudnn.so.9"}));
#define FN(name, ...) \
  if (!find_symbol(opened, #name, &library->name)) return unsupported("libcudnn.so.9 has no function " #name);
#include "backends/cuda/api/cudnn_functions.def"
  FN(cudnnGetVersion)
  FN(cudnnGetErrorString)
  FN(cudnnGetLastErrorString)
#undef FN
  library->version = library->cudnnGetVersion();
  if (library->version < kOldest) return unsupported("cuDNN {} is too old; {} is needed", library->version, kOldest);
  return Status();
}

struct Opened {
  CudnnLibrary library;
  Status status;
  std::once_flag once;
};

Status make_handle(const Gpu& gpu, const CudnnLibrary& library, CudnnLibrary* own) {
  static_cast<cudnn::Functions&>(*own) = library;
  own->version = library.version;
  const GpuScope scope(gpu);
  if (own->cudnnCreate(&own->handle) == cudnn::kSuccess) return Status();
  return unsupported("cuDNN cannot be used on GPU {}: cudnnCreate failed", gpu.device);
}

}  // namespace

Status CudnnLibrary::error(const char* what, cudnn::Code code) const {
  std::string more(2048, '\0');
  cudnnGetLastErrorString(more.data(), more.size());
  more.resize(std::min(more.find('\0'), size_t{400}));
  return unsupported("cuDNN, {}: {}{}{}", what, cudnnGetErrorString(code), more.empty() ? "" : ": ", more);
}

Result<const CudnnLibrary*> cudnn_library(const Gpu* gpu) {
  if (const Driver* const loaded = loaded_driver(); loaded != nullptr && !loaded->libraries)
    return unsupported("an emulated GPU has no cuDNN");
  static auto* const all = new Opened;
  std::call_once(all->once, [] { all->status = open(&all->library); });
  if (!all->status.ok()) return all->status;
  if (gpu == nullptr) return &all->library;
  auto& own = gpu->part<Opened>();
  // One handle for all that runs. In steady state work is replayed from recordings, not put on streams by cuDNN.
  std::call_once(own.once, [&] { own.status = make_handle(*gpu, all->library, &own.library); });
  if (!own.status.ok()) return own.status;
  return &own.library;
}

// Those of a GPU that were made for building: as many as ever built at once.
struct CudnnLease::Handles {
  std::mutex mutex;
  std::vector<std::unique_ptr<CudnnLibrary>> all;
  std::vector<const CudnnLibrary*> free;
};

Result<CudnnLease> CudnnLease::take(const Gpu* gpu) {
  WOOTZ_ASSIGN_OR_RETURN(const CudnnLibrary* const library, cudnn_library(gpu));
  if (gpu == nullptr) return CudnnLease(library, nullptr);
  Handles& handles = gpu->part<Handles>();
  const auto lent = [&handles](const CudnnLibrary* own) {
    return CudnnLease(own, std::shared_ptr<const CudnnLibrary>(own, [&handles](const CudnnLibrary* back) {
                        const std::lock_guard<std::mutex> lock(handles.mutex);
                        handles.free.push_back(back);
                      }));
  };
  {
    const std::lock_guard<std::mutex> lock(handles.mutex);
    if (!handles.free.empty()) {
      const CudnnLibrary* const own = handles.free.back();
      handles.free.pop_back();
      return lent(own);
    }
  }
  auto made = std::make_unique<CudnnLibrary>();
  WOOTZ_RETURN_IF_ERROR(make_handle(*gpu, *library, made.get()));
  const CudnnLibrary* const own = made.get();
  const std::lock_guard<std::mutex> lock(handles.mutex);
  handles.all.push_back(std::move(made));
  return lent(own);
}

}  // namespace wootz::cuda
