// Generated kernels with their machine code, ready to be put on a stream.
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda/generate/source.h"

namespace wootz::cuda {

inline constexpr size_t kMostArguments = 512;  // of one kernel

struct LoadedLaunch {
  std::shared_ptr<const Module> module;
  LaunchSize size;
  std::vector<Pointer> pointers;
  std::vector<TensorView> views;
  std::vector<int64_t> numbers;  // that the kernel takes behind the pointers
};

Result<std::vector<LoadedLaunch>> load_launches(const Gpu& gpu, std::vector<Launch> launches);

// The machine code that they need on the device described.
Status add_native_code(const std::vector<Launch>& launches, const DeviceDescription& device,
                       std::vector<NativeCode>* code);

struct LaunchMemory {
  const void* const* inputs;
  void* const* outputs;
  void* workspace;
};
Status run_launches(const std::vector<LoadedLaunch>& launches, const LaunchMemory& memory, CUstream stream);

// Most shared memory of a block of any of them; empty: the driver does not tell.
std::optional<size_t> shared_memory_of(const std::vector<LoadedLaunch>& launches);

// Largest scratch memory of any of them: they run one after the other.
size_t workspace_of(const std::vector<Launch>& launches);

}  // namespace wootz::cuda
