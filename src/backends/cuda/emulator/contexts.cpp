#include "backends/cuda/emulator/contexts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

namespace wootz::cuda {
namespace {

std::atomic<int> g_devices{1};
std::array<char, kMostEmulated> g_contexts;  // their addresses are the contexts
thread_local std::vector<int> t_stack;

// kNoDevice: no context of ours.
int device_of(CUcontext context) {
  const auto* const place = reinterpret_cast<const char*>(context);
  return place < g_contexts.data() || place >= g_contexts.data() + emulator_devices()
             ? kNoDevice
             : static_cast<int>(place - g_contexts.data());
}

}  // namespace

void set_emulator_devices(int count) { g_devices = std::clamp(count, 1, kMostEmulated); }
int emulator_devices() { return g_devices; }
int current_emulated() { return t_stack.empty() ? kNoDevice : t_stack.back(); }
CUcontext emulator_context(int device) {
  return reinterpret_cast<CUcontext>(g_contexts.data() + static_cast<size_t>(device));
}

CUresult emulator_device_get(CUdevice* device, int number) {
  if (number < 0 || number >= emulator_devices()) return CUDA_ERROR_INVALID_DEVICE;
  return *device = number, CUDA_SUCCESS;
}
CUresult emulator_device_count(int* count) { return *count = emulator_devices(), CUDA_SUCCESS; }
CUresult emulator_retain(CUcontext* context, CUdevice device) {
  if (device < 0 || device >= emulator_devices()) return CUDA_ERROR_INVALID_DEVICE;
  return *context = emulator_context(device), CUDA_SUCCESS;
}
CUresult emulator_push(CUcontext context) {
  if (device_of(context) == kNoDevice) return CUDA_ERROR_INVALID_CONTEXT;
  return t_stack.push_back(device_of(context)), CUDA_SUCCESS;
}
CUresult emulator_pop(CUcontext* context) {
  if (t_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = emulator_context(t_stack.back());
  return t_stack.pop_back(), CUDA_SUCCESS;
}
CUresult emulator_get_current(CUcontext* context) {
  return *context = t_stack.empty() ? nullptr : emulator_context(t_stack.back()), CUDA_SUCCESS;
}
CUresult emulator_get_device(CUdevice* device) {
  if (t_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  return *device = t_stack.back(), CUDA_SUCCESS;
}

}  // namespace wootz::cuda
