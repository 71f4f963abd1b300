#include "backends/cuda/device/pointers.h"

#include "base/mapped.h"

namespace wootz::cuda {
namespace {

using GetAttribute = decltype(Driver::cuPointerGetAttribute);

enum class Kind { kUnknown, kHost, kManaged, kDevice };

CUresult find_kind(GetAttribute get, const void* address, Kind* kind) {
  const auto pointer = reinterpret_cast<CUdeviceptr>(address);
  uint64_t type = 0, managed = 0;  // room for whatever width the driver writes
  *kind = Kind::kUnknown;
  const CUresult result = get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (result == CUDA_ERROR_INVALID_VALUE) return CUDA_SUCCESS;  // its answer for what it has never heard of
  if (result != CUDA_SUCCESS) return result;
  if (get(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) != CUDA_SUCCESS) managed = 0;
  *kind = managed != 0 ? Kind::kManaged : type == CU_MEMORYTYPE_HOST ? Kind::kHost : Kind::kDevice;
  return CUDA_SUCCESS;
}

}  // namespace

Status check_pointer(const Gpu& gpu, const void* address) {
  const GpuScope scope(gpu);
  Kind kind = Kind::kUnknown;
  WOOTZ_RETURN_IF_ERROR(check(find_kind(gpu.api->cuPointerGetAttribute, address, &kind), "cuPointerGetAttribute"));
  if (kind == Kind::kDevice) {
    int number = gpu.device;
    const auto pointer = reinterpret_cast<CUdeviceptr>(address);
    if (gpu.api->cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) != CUDA_SUCCESS ||
        number == gpu.device)
      return Status();
    return invalid_argument("{} lies on GPU {}, and the engine is on GPU {}", address, number, gpu.device);
  }
  if (kind != Kind::kUnknown) return Status();
  int reaches_all = 0;
  if (gpu.api->cuDeviceGetAttribute(&reaches_all, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, gpu.device) !=
      CUDA_SUCCESS)
    reaches_all = 0;
  if (!is_mapped(address)) return invalid_argument("there is no memory at {}", address);
  if (reaches_all != 0) return Status();
  return invalid_argument(
      "the GPU cannot reach {}: an engine on a GPU takes addresses of device memory, of managed memory, or of host "
      "memory "
      "that was allocated by or registered with CUDA",
      address);
}

Status check_stream(const Gpu& gpu, CUstream stream) {
  constexpr uintptr_t kLastDefaultStream = 2;  // cudaStreamLegacy, cudaStreamPerThread
  if (reinterpret_cast<uintptr_t>(stream) <= kLastDefaultStream) return Status();
  CUcontext context = nullptr;
  WOOTZ_CUDA_RETURN_IF_ERROR(*gpu.api, cuStreamGetCtx, stream, &context);
  if (context == gpu.context) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const CUdevice device, device_of_context(*gpu.api, context));
  if (device == gpu.device) return Status();  // in a context of the application's own making
  return invalid_argument("the stream is of GPU {}, and the engine is on GPU {}", device, gpu.device);
}

bool holds_pointer(const void* address) {
  const Driver* const api = loaded_driver();
  Kind kind = Kind::kUnknown;
  return api != nullptr && find_kind(api->cuPointerGetAttribute, address, &kind) == CUDA_SUCCESS &&
         kind == Kind::kDevice;
}

}  // namespace wootz::cuda
