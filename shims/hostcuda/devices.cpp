// Which devices there are: one. What can be set of it is kept and has no effect.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "calls.h"
#include "capture.h"
#include "order.h"
#include "properties.h"

namespace wootz::hostcuda {
namespace {

constexpr int kVersion13 = 13000, kVersion12 = 12080, kVersion11 = 11080;

std::atomic<unsigned> g_flags{cudaDeviceScheduleAuto};
std::atomic<int> g_cache{cudaFuncCachePreferNone};
constexpr int kLimits = cudaLimitPersistingL2CacheSize + 1;
std::atomic<size_t> g_limits[kLimits] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

template <typename T>
cudaError_t tell(T* to, T value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

cudaError_t check_device(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t check_flags(unsigned flags) {
  if ((flags & ~unsigned{cudaDeviceMask}) != 0) return cudaErrorInvalidValue;
  const unsigned how = flags & cudaDeviceScheduleMask;
  return (how & (how - 1)) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) { return tell(count, 1); }
cudaError_t cudaGetDevice(int* device) { return tell(device, 0); }
cudaError_t cudaSetDevice(int device) { return check_device(device); }

cudaError_t cudaSetValidDevices(int* devices, int count) {
  if (count == 0) return cudaSuccess;
  if (devices == nullptr || count < 0) return cudaErrorInvalidValue;
  for (int i = 0; i < count; ++i)
    if (const cudaError_t error = check_device(devices[i]); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  return (flags & cudaInitDeviceFlagsAreValid) != 0 ? cudaSetDeviceFlags(device_flags) : cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  const cudaError_t error = check_flags(flags);
  if (error == cudaSuccess) g_flags = flags;
  return error;
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) { return tell(flags, g_flags | cudaDeviceMapHost); }

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
  return properties == nullptr ? cudaErrorInvalidValue : tell(device, 0);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (text == nullptr || length < static_cast<int>(sizeof(kBusId))) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  std::memcpy(text, kBusId, sizeof(kBusId));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
  return std::string_view(text) == kBusId ? tell(device, 0) : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (limit < 0 || limit >= kLimits) return cudaErrorUnsupportedLimit;
  return tell(value, g_limits[limit].load());
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit < 0 || limit >= kLimits) return cudaErrorUnsupportedLimit;
  g_limits[limit] = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return tell(config, static_cast<cudaFuncCache>(g_cache.load()));
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  g_cache = config;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (device != 0 || peer != 0) return cudaErrorInvalidDevice;
  return tell(can, 0);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned flags) {
  return flags != 0 ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  return value == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
}

// Memory and streams stay: what else would become of those who still use them.
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }

cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return tell(version, kVersion13); }
cudaError_t cudaRuntimeGetVersion(int* version) { return tell(version, kVersion13); }
cudaError_t runtimeVersion12(int* version) { return tell(version, kVersion12); }
cudaError_t runtimeVersion11(int* version) { return tell(version, kVersion11); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // namespace wootz::hostcuda
