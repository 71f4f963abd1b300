#include "backends/cuda/driver.h"

#include <cstdlib>
#include <mutex>

#include "backends/cuda/dynamic_library.h"

namespace wootz::cuda {
namespace {

const Driver* g_stand_in = nullptr;

Result<Driver> open_driver() {
  Result<void*> library = open_library({"libcuda.so.1"});
  if (!library.ok()) return unsupported("no NVIDIA driver: libcuda.so.1 cannot be opened");
  Driver table;
#define FN(symbol)                                                                         \
  table.symbol = reinterpret_cast<decltype(table.symbol)>(find_symbol(*library, #symbol)); \
  if (table.symbol == nullptr) return unsupported("the NVIDIA driver is too old: no " #symbol " in libcuda.so.1");
#include "backends/cuda/driver_functions.def"
#undef FN
  return table;
}

Result<Gpu> open_gpu() {
  WOOTZ_ASSIGN_OR_RETURN(const Driver* table, driver());
  const Driver& d = *table;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuInit, 0);
  int count = 0;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGetCount, &count);
  const char* wanted = std::getenv("WOOTZ_CUDA_DEVICE");
  const long number = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
  if (number < 0 || number >= count)
    return unsupported("CUDA device {} (WOOTZ_CUDA_DEVICE) of {} devices", number, count);
  Gpu gpu;
  gpu.api = table;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGet, &gpu.device, static_cast<int>(number));
  const auto attribute = [&](CUdevice_attribute which, int* value) {
    return check(d.cuDeviceGetAttribute(value, which, gpu.device), "cuDeviceGetAttribute");
  };
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &gpu.major));
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &gpu.minor));
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu.multiprocessors));
  char name[256] = "";
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGetName, name, static_cast<int>(sizeof name), gpu.device);
  gpu.name = name;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceTotalMem_v2, &gpu.memory, gpu.device);
  if (gpu.arch() < 80)
    return unsupported("{} has compute capability {}.{}; the cuda backend needs 8.0", gpu.name, gpu.major, gpu.minor);
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDevicePrimaryCtxRetain, &gpu.context, gpu.device);
  return gpu;
}

}  // namespace

Result<const Driver*> driver() {
  if (g_stand_in != nullptr) return g_stand_in;
  static const Result<Driver> table = open_driver();
  if (!table.ok()) return table.status();
  return &*table;
}

void set_driver_for_tests(const Driver* table) { g_stand_in = table; }
bool driver_is_stand_in() { return g_stand_in != nullptr; }

Status check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) [[likely]]
    return Status();
  const Result<const Driver*> table = driver();
  const char *name = nullptr, *text = nullptr;
  if (table.ok()) {
    (*table)->cuGetErrorName(result, &name);
    (*table)->cuGetErrorString(result, &text);
  }
  const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal;
  return make_error(code, "{}: {} ({})", call, name == nullptr ? "error" : name,
                    text == nullptr ? std::to_string(static_cast<int>(result)) : text);
}

Status Gpu::enter() const {
  CUcontext current = nullptr;
  WOOTZ_CUDA_RETURN_IF_ERROR(*api, cuCtxGetCurrent, &current);
  if (current == context) return Status();
  WOOTZ_CUDA_RETURN_IF_ERROR(*api, cuCtxSetCurrent, context);
  return Status();
}

Result<const Gpu*> gpu() {
  if (driver_is_stand_in()) {
    static const Result<Gpu> made = open_gpu();
    if (!made.ok()) return made.status();
    return &*made;
  }
  static const Result<Gpu> made = open_gpu();
  if (!made.ok()) return made.status();
  return &*made;
}

}  // namespace wootz::cuda
