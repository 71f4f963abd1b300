#include "backends/cuda/device/images.h"

namespace wootz::cuda {
namespace {

struct LoadedImage {
  const Gpu& gpu;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ~LoadedImage() {
    if (module == nullptr) return;
    const GpuScope scope(gpu);
    gpu.api->cuModuleUnload(module);
  }
};

constexpr unsigned kSharedAlways = 48 << 10;  // more must be asked for

Status load(const Gpu& gpu, const KernelImage& image, LoadedImage* loaded) {
  const Driver& api = *gpu.api;
  if (!api.machine_code && image.code.find("wootz_kernel(") == std::string::npos)
    return unsupported("the emulator runs no PTX and no machine code");
  // Loading is no work of the stream, which may be captured.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  WOOTZ_CUDA_RETURN_IF_ERROR(api, cuThreadExchangeStreamCaptureMode, &mode);
  CUresult result = api.cuModuleLoadData(&loaded->module, image.code.c_str());
  const char* call = "cuModuleLoadData";
  if (result == CUDA_SUCCESS) {
    result = api.cuModuleGetFunction(&loaded->function, loaded->module, image.name.c_str());
    call = "cuModuleGetFunction";
  }
  WOOTZ_CUDA_RETURN_IF_ERROR(api, cuThreadExchangeStreamCaptureMode, &mode);
  return check(result, call);
}

}  // namespace

Status launch_image(const Gpu& gpu, KernelImage& image, const KernelLaunch& launch, CUstream stream) {
  const Driver& api = *gpu.api;
  const GpuScope scope(gpu);
  std::shared_ptr<LoadedImage> loaded;
  {
    const std::lock_guard<std::mutex> lock(image.mutex);
    std::shared_ptr<void>& kept = image.loaded[&gpu];
    if (kept == nullptr) {
      auto made = std::make_shared<LoadedImage>(LoadedImage{gpu});
      WOOTZ_RETURN_IF_ERROR(load(gpu, image, made.get()));
      kept = std::move(made);
    }
    loaded = std::static_pointer_cast<LoadedImage>(kept);
  }
  const std::array<unsigned, 3>&grid = launch.grid, &block = launch.block;
  if (!api.machine_code && (block[1] != 1 || block[2] != 1))
    return unsupported("the emulator runs blocks of one dimension");
  if (launch.shared > kSharedAlways)
    WOOTZ_CUDA_RETURN_IF_ERROR(api, cuFuncSetAttribute, loaded->function,
                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(launch.shared));
  return check(api.cuLaunchKernel(loaded->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                  launch.shared, stream, launch.arguments, nullptr),
               "cuLaunchKernel");
}

}  // namespace wootz::cuda
