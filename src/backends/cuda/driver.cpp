#include "backends/cuda/driver.h"

#include <atomic>
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
#define FN(name, ...)                             \
  if (!find_symbol(*library, #name, &table.name)) \
    return unsupported("the NVIDIA driver is too old: no " #name " in libcuda.so.1");
#include "backends/cuda/api/driver_functions.def"
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
  const char* overlap = std::getenv("WOOTZ_CUDA_PDL");
  gpu.overlap = gpu.arch() >= 90 && !driver_is_stand_in() && (overlap == nullptr || *overlap != '0');
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDevicePrimaryCtxRetain, &gpu.context, gpu.device);
  return gpu;
}

// After these no call of the process works any more.
bool breaks_context(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED: return true;
    default: return false;
  }
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
  std::string what = fmt::format("{}: {} ({})", call, name == nullptr ? "error" : name,
                                 text == nullptr ? std::to_string(static_cast<int>(result)) : text);
  if (!breaks_context(result)) {
    const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::kResourceExhausted : Code::kInternal;
    return Status(code, std::move(what));
  }
  // Work is asynchronous: the call that reports it is seldom the one that did it.
  static std::atomic<bool> told{false};
  what += told.exchange(true) ? ": the GPU's context was lost by the error told before; only a new process gets another"
                              : ": work on the GPU failed, and every later call of this process will. A context with "
                                "setDebugSync(true), or the environment variable WOOTZ_DEBUG_SYNC=1, tells the layer";
  return Status(Code::kInternal, std::move(what));
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
