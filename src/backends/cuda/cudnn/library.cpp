#include "backends/cuda/cudnn/library.h"

#include "backends/cuda/compiler.h"
#include "backends/cuda/cublaslt/library.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/dynamic_library.h"
#include "backends/cuda/null_driver.h"

namespace wootz::cuda {
namespace {

constexpr size_t kOldest = 90800;  // describes devices that are not there

Result<CudnnLibrary*> open() {
  // One handle for all: in steady state work is replayed from recordings, not put on streams by cuDNN.
  static auto* library = new CudnnLibrary;
  open_null_driver();  // without a driver and without this, engines that compile at run time are not offered
  // cuDNN asks for these by name: what is open already is found by that, wherever it lies.
  (void)compiler_version();
  (void)cublaslt();
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
  if (const Result<const Gpu*> found = gpu(); found.ok() && (*found)->enter().ok())
    if (library->cudnnCreate(&library->handle) != cudnn::kSuccess) library->handle = nullptr;
  return library;
}

}  // namespace

Status CudnnLibrary::error(const char* what, cudnn::Code code) const {
  std::string more(2048, '\0');
  cudnnGetLastErrorString(more.data(), more.size());
  more.resize(std::min(more.find('\0'), size_t{400}));
  return unsupported("cuDNN, {}: {}{}{}", what, cudnnGetErrorString(code), more.empty() ? "" : ": ", more);
}

Result<CudnnLibrary*> cudnn_library() {
  if (driver_is_stand_in()) return unsupported("the stand-in has no cuDNN");
  static const Result<CudnnLibrary*> library = open();
  return library;
}

}  // namespace wootz::cuda
