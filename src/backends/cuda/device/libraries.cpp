#include "backends/cuda/device/libraries.h"

#include "backends/cuda/cublaslt/library.h"
#include "backends/cuda/cudnn/plans.h"
#include "backends/cuda/device/driver.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/nccl/library.h"

namespace wootz::cuda {
namespace {

// 13020 as "13.2", and with thousands for each part 91900 as "9.19.0".
std::string driver_text(int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }
std::string cudnn_text(long v) { return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100); }
std::string cublaslt_text(size_t v) {
  const size_t unit = v >= 100000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", v / unit, v % unit / 100, v % 100);
}

Result<std::string> driver_version() {
  WOOTZ_ASSIGN_OR_RETURN(const Driver* const table, driver());
  int version = 0;
  WOOTZ_CUDA_RETURN_IF_ERROR(*table, cuDriverGetVersion, &version);
  return driver_text(version);
}

Result<std::string> cublaslt_version() {
  WOOTZ_ASSIGN_OR_RETURN(const CublasLt* const lt, cublaslt(nullptr));
  return cublaslt_text(lt->cublasLtGetVersion());
}

Result<std::string> cudnn_version_text() {
  WOOTZ_ASSIGN_OR_RETURN(const std::string version, cudnn_version());
  return cudnn_text(std::strtol(version.c_str(), nullptr, 10));
}

std::string remedy(const char* package) {
  return fmt::format("install it (pip install {}), or put its folder into WOOTZ_CUDA_PATH", package);
}

LibraryState state(const char* name, const Result<std::string>& version, bool required, std::string without) {
  LibraryState s{name, "", "", std::move(without), required};
  if (version.ok())
    s.version = *version;
  else
    s.missing = version.status().message();
  return s;
}

}  // namespace

std::vector<LibraryState> library_states(bool elsewhere) {
  if (const Driver* const loaded = loaded_driver(); loaded != nullptr && !loaded->libraries) return {};
  std::vector<LibraryState> all;
  all.push_back(state("driver", driver_version(), !elsewhere, ""));
  all.push_back(state("NVRTC", compiler_version(), true, "no kernel can be made; " + remedy("nvidia-cuda-nvrtc")));
  // It is not asked when building for a device elsewhere: the machine that loads the plan does.
  all.push_back(
      state("cuBLASLt", cublaslt_version(), false,
            elsewhere ? "" : "products by our own general kernels, many times slower; " + remedy("nvidia-cublas")));
  all.push_back(
      state("cuDNN", cudnn_version_text(), false,
            "convolutions and attention by our own general kernels, ResNet-50 in FP16 about 7 times slower; " +
                remedy("nvidia-cudnn-cu13")));
  // A build does not miss it, and an inference on one device neither.
  all.push_back(state("NCCL", nccl_version(), false, ""));
  if (std::string& missing = all.back().missing; !missing.empty())
    missing += "; layers that span devices cannot run: " + remedy("nvidia-nccl-cu13");
  return all;
}

}  // namespace wootz::cuda
