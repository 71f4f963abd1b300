#include "backends/cuda/generate/launches.h"

#include <algorithm>

namespace wootz::cuda {
namespace {

constexpr size_t kMostViews = 4;  // of one kernel

Status make_maps(const std::vector<TensorView>& views, const void* const* values, CUtensorMap* maps) {
  if (views.empty()) return Status();
  if (views.size() > kMostViews) return internal_error("{} maps of one kernel", views.size());
  WOOTZ_ASSIGN_OR_RETURN(const Driver* table, driver());
  for (size_t i = 0; i < views.size(); ++i) {
    WOOTZ_ASSIGN_OR_RETURN(maps[i], tensor_map(*table, views[i], values[views[i].pointer]));
  }
  return Status();
}

// Of few blocks that use shared memory: those of the next kernel, which bring their weights before this one has ended,
// then find room beside them. The L1 has what is left, which such kernels hardly use.
bool leaves_room(const LaunchSize& size) {
  constexpr size_t kMostBlocks = 2 * 132;
  return size.shared > 0 && size_t{size.grid_x} * size.grid_y * size.grid_z <= kMostBlocks;
}

}  // namespace

Result<std::vector<LoadedLaunch>> load_launches(const Gpu& gpu, std::vector<Launch> launches) {
  std::vector<LoadedLaunch> all;
  for (Launch& l : launches) {
    LoadedLaunch loaded;
    loaded.numbers = std::move(l.numbers);
    WOOTZ_ASSIGN_OR_RETURN(loaded.module, Module::get(gpu, l.source));
    WOOTZ_RETURN_IF_ERROR(loaded.module->allow_shared(l.size.shared));
    if (l.size.beside || leaves_room(l.size)) WOOTZ_RETURN_IF_ERROR(loaded.module->leave_room());
    if (l.size.cluster > 8) WOOTZ_RETURN_IF_ERROR(loaded.module->allow_large_clusters());
    loaded.size = l.size;
    loaded.pointers = std::move(l.pointers);
    loaded.views = std::move(l.views);
    all.push_back(std::move(loaded));
  }
  return all;
}

Status add_native_code(const std::vector<Launch>& launches, const DeviceDescription& device,
                       std::vector<NativeCode>* code) {
  for (const Launch& l : launches) {
    WOOTZ_ASSIGN_OR_RETURN(NativeCode made, native_module(l.source, device));
    code->push_back(std::move(made));
  }
  return Status();
}

Status run_launches(const std::vector<LoadedLaunch>& launches, const LaunchMemory& memory, CUstream stream) {
  for (const LoadedLaunch& l : launches) {
    const void* values[kMostArguments];
    void* addresses[kMostArguments];
    for (size_t i = 0; i < l.pointers.size(); ++i) {
      const int k = l.pointers[i].index;
      values[i] = k < 0                  ? static_cast<char*>(memory.workspace) + l.pointers[i].offset
                  : l.pointers[i].output ? memory.outputs[k]
                                         : memory.inputs[k];
      addresses[i] = static_cast<void*>(&values[i]);
    }
    CUtensorMap maps[kMostViews];
    WOOTZ_RETURN_IF_ERROR(make_maps(l.views, values, maps));
    for (size_t i = 0; i < l.views.size(); ++i) addresses[l.views[i].pointer] = &maps[i];
    for (size_t i = 0; i < l.numbers.size(); ++i)
      addresses[l.pointers.size() + i] = const_cast<int64_t*>(&l.numbers[i]);
    WOOTZ_RETURN_IF_ERROR(l.module->launch(l.size, addresses, stream));
  }
  return Status();
}

std::optional<size_t> shared_memory_of(const std::vector<LoadedLaunch>& launches) {
  size_t bytes = 0;
  for (const LoadedLaunch& l : launches) {
    const Result<unsigned> own = l.module->own_shared();
    if (!own.ok()) return std::nullopt;
    bytes = std::max(bytes, size_t{*own} + l.size.shared);
  }
  return bytes;
}

size_t workspace_of(const std::vector<Launch>& launches) {
  size_t bytes = 0;
  for (const Launch& l : launches) bytes = std::max(bytes, l.workspace);
  return bytes;
}

}  // namespace wootz::cuda
