// A generated kernel ready to launch. Equal sources are loaded once on a GPU.
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"
#include "backends/cuda/device/gpu.h"

namespace wootz::cuda {

struct LaunchSize {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block = 256;
  unsigned shared = 0;   // dynamic shared memory, bytes
  unsigned cluster = 1;  // blocks of a cluster, along z: the kernel's source says so too
  unsigned at_once = 0;  // blocks of a multiprocessor that registers are to suffice for; 0: the compiler decides
  bool beside = false;   // the next kernel's blocks are to have shared memory beside its own
};

class Module {
 public:
  // `source` defines extern "C" __global__ void `kernel`. Thread-safe; may take tens of milliseconds.
  static Result<std::shared_ptr<const Module>> get(const Gpu& gpu, const std::string& source,
                                                   const char* kernel = "wootz_kernel");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // To be called before a launch with so many bytes of shared memory, which beside its own may be more than 48 KiB.
  Status allow_shared(unsigned bytes) const;
  // To be called before a launch beside which other kernels' blocks are to have room: all memory that the L1 need not
  // have is shared. A multiprocessor divides it anew only where nothing is running.
  Status leave_room() const;
  // To be called before a launch of clusters of more than 8 blocks.
  Status allow_large_clusters() const;
  // What it declares by itself, beside what a launch adds.
  Result<unsigned> own_shared() const;
  // With the GPU's context current.
  Status launch(const LaunchSize& size, void** arguments, CUstream stream) const;

 private:
  explicit Module(const Gpu& gpu) : gpu_(gpu) {}
  const Gpu& gpu_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// Compiles what Module::get() will need and loads nothing, for who holds on to it (hold_compiled). Thread-safe. What is
// refused is refused again then.
void prepare_module(const Gpu& gpu, const std::string& source);

// The machine code that Module::get() will need for `source` on such a device, made here.
Result<NativeCode> native_module(const std::string& source, const DeviceDescription& device);

}  // namespace wootz::cuda
