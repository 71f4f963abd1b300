// The GPUs of this process. Each has its primary context, which is shared with the application's own CUDA code.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "backends/cuda/device/driver.h"

namespace wootz::cuda {

// Lives as long as the process.
class Gpu {
 public:
  const Driver* api = nullptr;
  CUdevice device = 0;  // its number
  CUcontext context = nullptr;
  int major = 0, minor = 0, multiprocessors = 0;
  size_t memory = 0;
  std::string name;
  // Kernels of ours begin while the one before them ends (programmatic dependent launch), unless WOOTZ_CUDA_PDL=0.
  bool overlap = false;
  int arch() const { return major * 10 + minor; }
  DeviceDescription describe() const;

  // Makes the context current on this thread. True: it was not, and leave() brings back what was.
  bool enter() const;
  void leave() const;

  // What others keep for this GPU, one of each type, made when it is first asked for: library handles, loaded modules.
  template <typename T>
  T& part() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<void>& kept = parts_[typeid(T)];
    if (kept == nullptr) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }

 private:
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::type_index, std::shared_ptr<void>> parts_;
};

// While it lives, a GPU's context is the calling thread's current one.
class GpuScope {
 public:
  explicit GpuScope(const Gpu& gpu) : GpuScope(&gpu) {}
  explicit GpuScope(const Gpu* gpu) : gpu_(gpu != nullptr && gpu->enter() ? gpu : nullptr) {}  // null: none
  ~GpuScope() {
    if (gpu_ != nullptr) gpu_->leave();
  }
  GpuScope(const GpuScope&) = delete;
  GpuScope& operator=(const GpuScope&) = delete;

 private:
  const Gpu* gpu_;
};

// A GPU by its number. kCurrentDevice: the one whose context is current on this thread; where none is, the one that
// WOOTZ_DEVICE names, or the first. Errors: no driver, no such device, one below compute capability 8.0.
Result<const Gpu*> gpu(int number = kCurrentDevice);
// That of Limits::at. Errors: there is none.
Result<const Gpu*> gpu_of(const Limits& limits);
// Whose context is current on this thread; kCurrentDevice: none's. Loads no driver.
int current_gpu();
// Those of this machine, by number. Errors: no driver.
Result<std::vector<DeviceDescription>> list_gpus();
// The number of the GPU that a context belongs to.
Result<CUdevice> device_of_context(const Driver& api, CUcontext context);

}  // namespace wootz::cuda
