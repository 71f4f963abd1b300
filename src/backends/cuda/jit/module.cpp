#include "backends/cuda/jit/module.h"

#include <map>
#include <mutex>

#include "backends/cuda/device/counts.h"
#include "backends/cuda/jit/code_store.h"
#include "backends/cuda/jit/compiler.h"
#include "backends/cuda/targets/devices.h"

namespace wootz::cuda {
namespace {

// Of one GPU.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Module>> by_source;
};

// A kernel that may begin before the one ahead of it has ended lets the next one begin, which waits for it, and waits.
// Some do so by themselves, after what does not depend on it.
std::string with_overlap(const std::string& source, int capability) {
  constexpr const char* kBegin =
      " asm volatile(\"griddepcontrol.launch_dependents;\"); asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");";
  if (capability < 90 || source.find("griddepcontrol.wait") != std::string::npos) return source;  // by itself
  std::string changed = source;
  const size_t name = changed.rfind("wootz_kernel(");
  const size_t body = name == std::string::npos ? name : changed.find('{', name);
  if (body != std::string::npos) changed.insert(body + 1, kBegin);
  return changed;
}

}  // namespace

Result<std::shared_ptr<const Module>> Module::get(const Gpu& gpu, const std::string& source, const char* kernel) {
  const std::string key = digest_text(source) + kernel;
  Loaded& all = gpu.part<Loaded>();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (const auto found = all.by_source.find(key); found != all.by_source.end())
      if (std::shared_ptr<const Module> module = found->second.lock()) return module;
  }
  const GpuScope scope(gpu);
  ++work_counters().modules;
  std::shared_ptr<Module> module(new Module(gpu));
  if (gpu.api->machine_code) {
    WOOTZ_ASSIGN_OR_RETURN(const std::vector<char> code,
                           compile_cuda(with_overlap(source, gpu.arch()), fmt::format("sm_{}", gpu.arch())));
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu.api, cuModuleLoadData, &module->module_, code.data());
  } else {
    WOOTZ_CUDA_RETURN_IF_ERROR(*gpu.api, cuModuleLoadData, &module->module_, source.c_str());
  }
  WOOTZ_CUDA_RETURN_IF_ERROR(*gpu.api, cuModuleGetFunction, &module->function_, module->module_, kernel);
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.by_source[key] = module;
  return std::shared_ptr<const Module>(std::move(module));
}

void prepare_module(const Gpu& gpu, const std::string& source) {
  if (gpu.api->machine_code) (void)compile_cuda(with_overlap(source, gpu.arch()), fmt::format("sm_{}", gpu.arch()));
}

Result<NativeCode> native_module(const std::string& source, const DeviceDescription& device) {
  const std::string whole = with_overlap(source, capability_of(device));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<char> code, compile_cuda(whole, device.isa));
  return make_native(code_key(whole, device.isa), std::move(code));
}

Module::~Module() {
  if (module_ == nullptr) return;
  const GpuScope scope(gpu_);
  gpu_.api->cuModuleUnload(module_);
}

Status Module::allow_shared(unsigned bytes) const {
  constexpr unsigned kAlways = 48 << 10;  // with what the kernel has of its own, which is no more
  if (bytes == 0) return Status();
  WOOTZ_ASSIGN_OR_RETURN(const unsigned own, own_shared());
  if (own + bytes <= kAlways) return Status();
  const GpuScope scope(gpu_);
  return check(
      gpu_.api->cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes)),
      "cuFuncSetAttribute");
}

Status Module::leave_room() const {
  const GpuScope scope(gpu_);
  return check(gpu_.api->cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
               "cuFuncSetAttribute");
}

Status Module::allow_large_clusters() const {
  const GpuScope scope(gpu_);
  return check(gpu_.api->cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
               "cuFuncSetAttribute");
}

Result<unsigned> Module::own_shared() const {
  const GpuScope scope(gpu_);
  int bytes = 0;
  WOOTZ_CUDA_RETURN_IF_ERROR(*gpu_.api, cuFuncGetAttribute, &bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function_);
  return static_cast<unsigned>(bytes);
}

Status Module::launch(const LaunchSize& size, void** arguments, CUstream stream) const {
  if (gpu_.overlap) {
    CUlaunchAttribute overlap{};
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{size.grid_x, size.grid_y, size.grid_z, size.block, 1,
                                1,           size.shared, stream,      &overlap,   1};
    return check(gpu_.api->cuLaunchKernelEx(&config, function_, arguments, nullptr), "cuLaunchKernelEx");
  }
  return check(gpu_.api->cuLaunchKernel(function_, size.grid_x, size.grid_y, size.grid_z, size.block, 1, 1, size.shared,
                                        stream, arguments, nullptr),
               "cuLaunchKernel");
}

}  // namespace wootz::cuda
