#include "backends/cuda/pointers.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <string>

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

// The driver among the libraries that the process has loaded, by its file name: one that is not there yet may come
// later, so nothing is searched again until another library was loaded.
struct Search {
  unsigned long long loads = 0;
  std::string path;
};
int look_at(dl_phdr_info* library, size_t, void* data) {
  static std::atomic<unsigned long long> seen{0};
  auto& search = *static_cast<Search*>(data);
  if (search.loads == 0) {
    search.loads = library->dlpi_adds;
    if (seen.exchange(search.loads) == search.loads) return 1;
  }
  const char* slash = std::strrchr(library->dlpi_name, '/');
  const char* name = slash == nullptr ? library->dlpi_name : slash + 1;
  if (std::strncmp(name, "libcuda.so", 10) != 0) return 0;
  search.path = library->dlpi_name;
  seen = 0;  // for a thread that looks while this one opens it
  return 1;
}

GetAttribute loaded_driver() {
  if (driver_is_stand_in()) return (*driver())->cuPointerGetAttribute;
  static std::atomic<GetAttribute> found{nullptr};
  if (const GetAttribute get = found.load(std::memory_order_acquire)) return get;
  Search search;
  dl_iterate_phdr(look_at, &search);
  if (search.path.empty()) return nullptr;
  void* library = dlopen(search.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<GetAttribute>(dlsym(library, "cuPointerGetAttribute"));
  found.store(get, std::memory_order_release);
  return get;
}

}  // namespace

Status check_pointer(const Gpu& gpu, const void* address) {
  Kind kind = Kind::kUnknown;
  WOOTZ_RETURN_IF_ERROR(check(find_kind(gpu.api->cuPointerGetAttribute, address, &kind), "cuPointerGetAttribute"));
  if (kind == Kind::kDevice) {
    int number = gpu.device;
    const auto pointer = reinterpret_cast<CUdeviceptr>(address);
    if (gpu.api->cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) != CUDA_SUCCESS ||
        number == gpu.device)
      return Status();
    return invalid_argument("{} is memory of GPU {}, and this engine is on GPU {}", address, number, gpu.device);
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

bool holds_pointer(const void* address) {
  const GetAttribute get = loaded_driver();
  Kind kind = Kind::kUnknown;
  return get != nullptr && find_kind(get, address, &kind) == CUDA_SUCCESS && kind == Kind::kDevice;
}

}  // namespace wootz::cuda
