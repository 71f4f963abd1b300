#include "backends/cuda/device/gpu.h"

#include <charconv>
#include <cstdlib>
#include <map>

namespace wootz::cuda {
namespace {

Result<int> count_gpus(const Driver& d) {
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuInit, 0);
  int count = 0;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGetCount, &count);
  return count;
}

// All that is known of a GPU without a context of its.
Status describe_gpu(const Driver& d, int number, Gpu* gpu) {
  gpu->api = &d;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGet, &gpu->device, number);
  const auto attribute = [&](CUdevice_attribute which, int* value) {
    return check(d.cuDeviceGetAttribute(value, which, gpu->device), "cuDeviceGetAttribute");
  };
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &gpu->major));
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &gpu->minor));
  WOOTZ_RETURN_IF_ERROR(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu->multiprocessors));
  char name[256] = "";
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceGetName, name, static_cast<int>(sizeof name), gpu->device);
  gpu->name = name;
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDeviceTotalMem_v2, &gpu->memory, gpu->device);
  return Status();
}

Status open_gpu(const Driver& d, int number, Gpu* gpu) {
  WOOTZ_RETURN_IF_ERROR(describe_gpu(d, number, gpu));
  if (gpu->arch() < 80)
    return unsupported("{} has compute capability {}.{}; the cuda backend needs 8.0", gpu->name, gpu->major,
                       gpu->minor);
  const char* overlap = std::getenv("WOOTZ_CUDA_PDL");
  gpu->overlap = gpu->arch() >= 90 && d.machine_code && (overlap == nullptr || *overlap != '0');
  WOOTZ_CUDA_RETURN_IF_ERROR(d, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device);
  return Status();
}

// Opened once for each driver: an emulated one may take the place of one that is not there.
struct Opened {
  Gpu gpu;
  Status status;
};
struct Gpus {
  std::mutex mutex;
  std::map<std::pair<const Driver*, int>, std::unique_ptr<Opened>> opened;
};
Gpus& gpus() {
  static auto* all = new Gpus;  // outlives engines that static objects hold
  return *all;
}

int current_on_thread(const Driver& d) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (d.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return kCurrentDevice;
  return d.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : kCurrentDevice;
}

// Of a thread that has no current GPU.
Result<int> usual_gpu() {
  const char* text = std::getenv("WOOTZ_DEVICE");
  if (text == nullptr || *text == '\0') return 0;
  const char* const end = text + std::string_view(text).size();
  int number = 0;
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0)
    return invalid_argument("WOOTZ_DEVICE: '{}' is not the number of a GPU", text);
  return number;
}

}  // namespace

DeviceDescription Gpu::describe() const {
  DeviceDescription d;
  d.backend = "cuda";
  d.name = name;
  d.isa = fmt::format("sm_{}", arch());
  d.memory = memory;
  return d;
}

// What fails here fails again, and is reported, in the calls that follow.
bool Gpu::enter() const {
  CUcontext current = nullptr;
  if (api->cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == context) return false;
  return api->cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

void Gpu::leave() const {
  CUcontext ours = nullptr;
  api->cuCtxPopCurrent_v2(&ours);
}

Result<const Gpu*> gpu(int number) {
  WOOTZ_ASSIGN_OR_RETURN(const Driver* const d, driver());
  WOOTZ_ASSIGN_OR_RETURN(const int count, count_gpus(*d));
  if (number == kCurrentDevice) number = current_on_thread(*d);
  if (number == kCurrentDevice) {
    WOOTZ_ASSIGN_OR_RETURN(number, usual_gpu());
  }
  if (number < 0 || number >= count) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<DeviceDescription> all, list_gpus());
    return check_device_number("cuda", all, number);
  }
  Gpus& all = gpus();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::unique_ptr<Opened>& opened = all.opened[{d, number}];
  if (opened == nullptr) {
    opened = std::make_unique<Opened>();
    opened->status = open_gpu(*d, number, &opened->gpu);
  }
  if (!opened->status.ok()) return opened->status;
  return &opened->gpu;
}

Result<const Gpu*> gpu_of(const Limits& limits) {
  if (limits.at == nullptr) return unsupported("the GPU is not here");
  if (limits.at->describe().backend != "cuda")
    return invalid_argument("a device of backend '{}' in place of a GPU", limits.at->describe().backend);
  return gpu(limits.at->number());
}

int current_gpu() {
  const Driver* const d = loaded_driver();
  return d == nullptr ? kCurrentDevice : current_on_thread(*d);
}

Result<std::vector<DeviceDescription>> list_gpus() {
  WOOTZ_ASSIGN_OR_RETURN(const Driver* const d, driver());
  WOOTZ_ASSIGN_OR_RETURN(const int count, count_gpus(*d));
  std::vector<DeviceDescription> all;
  for (int number = 0; number < count; ++number) {
    Gpu found;
    WOOTZ_RETURN_IF_ERROR(describe_gpu(*d, number, &found));
    all.push_back(found.describe());
  }
  return all;
}

Result<CUdevice> device_of_context(const Driver& api, CUcontext context) {
  WOOTZ_CUDA_RETURN_IF_ERROR(api, cuCtxPushCurrent_v2, context);
  CUdevice device = 0;
  const Status found = check(api.cuCtxGetDevice(&device), "cuCtxGetDevice");
  CUcontext popped = nullptr;
  api.cuCtxPopCurrent_v2(&popped);
  WOOTZ_RETURN_IF_ERROR(found);
  return device;
}

}  // namespace wootz::cuda
