#include "properties.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "calls.h"
#include "memory.h"
#include "old_properties.h"

namespace wootz::hostcuda {
namespace {

// Limits that programs divide by or compare with; no kernel will meet them.
constexpr size_t kSharedBytes = 48 << 10, kSharedPerProcessor = 64 << 10, kConstantBytes = 64 << 10;
constexpr int kWarp = 32, kThreadsPerBlock = 1024, kThreadsPerProcessor = 2048, kRegisters = 64 << 10;
constexpr int kTexture = 16384, kGridX = 2147483647, kGridYZ = 65535, kClockKilohertz = 1000000;
constexpr size_t kPitch = 2147483647;

// What all layouts have, by name. Arrays and what only one of them has stay zero unless it is set after this.
template <typename Properties>
void fill_common(Properties* p) {
  std::memset(p, 0, sizeof(*p));
  const std::string name = device_name();
  std::memcpy(p->name, name.c_str(), std::min(name.size(), sizeof(p->name) - 1));
  std::memcpy(&p->uuid, "wootz-hostcuda-0", 16);
  p->totalGlobalMem = machine_memory();
  p->sharedMemPerBlock = p->sharedMemPerBlockOptin = kSharedBytes;
  p->sharedMemPerMultiprocessor = kSharedPerProcessor;
  p->regsPerBlock = p->regsPerMultiprocessor = kRegisters;
  p->warpSize = kWarp;
  p->memPitch = kPitch;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = kThreadsPerBlock;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = kGridX;
  p->maxGridSize[1] = p->maxGridSize[2] = kGridYZ;
  p->totalConstMem = kConstantBytes;
  p->major = kComputeMajor;
  p->minor = kComputeMinor;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = processors();
  p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
  p->concurrentKernels = p->asyncEngineCount = p->streamPrioritiesSupported = 1;
  p->memoryBusWidth = 64;
  p->l2CacheSize = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  p->maxThreadsPerMultiProcessor = kThreadsPerProcessor;
  p->maxBlocksPerMultiProcessor = 16;
  p->hostNativeAtomicSupported = p->pageableMemoryAccess = p->pageableMemoryAccessUsesHostPageTables = 1;
  p->concurrentManagedAccess = p->directManagedMemAccessFromHost = p->canUseHostPointerForRegisteredMem = 1;
  p->hostRegisterSupported = p->hostRegisterReadOnlySupported = p->memoryPoolsSupported = 1;
}

void fill_old(DeviceProp12* p) {
  fill_common(p);
  p->clockRate = p->memoryClockRate = kClockKilohertz;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->deviceOverlap = 1;
}

struct Attribute {
  cudaDeviceAttr attribute;
  int value;
};
// Those that are not zero and not in the properties under one name.
constexpr Attribute kFixed[] = {
    {cudaDevAttrMaxThreadsPerBlock, kThreadsPerBlock},
    {cudaDevAttrMaxBlockDimX, kThreadsPerBlock},
    {cudaDevAttrMaxBlockDimY, kThreadsPerBlock},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, kGridX},
    {cudaDevAttrMaxGridDimY, kGridYZ},
    {cudaDevAttrMaxGridDimZ, kGridYZ},
    {cudaDevAttrMaxSharedMemoryPerBlock, kSharedBytes},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, kSharedBytes},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, kSharedPerProcessor},
    {cudaDevAttrTotalConstantMemory, kConstantBytes},
    {cudaDevAttrWarpSize, kWarp},
    {cudaDevAttrMaxPitch, kPitch},
    {cudaDevAttrMaxRegistersPerBlock, kRegisters},
    {cudaDevAttrMaxRegistersPerMultiprocessor, kRegisters},
    {cudaDevAttrClockRate, kClockKilohertz},
    {cudaDevAttrMemoryClockRate, kClockKilohertz},
    {cudaDevAttrGlobalMemoryBusWidth, 64},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrIntegrated, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrMaxTexture1DWidth, kTexture},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrAsyncEngineCount, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrMaxThreadsPerMultiProcessor, kThreadsPerProcessor},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 16},
    {cudaDevAttrComputeCapabilityMajor, kComputeMajor},
    {cudaDevAttrComputeCapabilityMinor, kComputeMinor},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrHostNativeAtomicSupported, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrPageableMemoryAccess, 1},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrHostRegisterReadOnlySupported, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
};

}  // namespace

std::string device_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (const size_t at = line.find(": "); line.starts_with("model name") && at != std::string::npos)
      return "Wootz host: " + line.substr(at + 2);
  return "Wootz host";
}

int processors() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  fill_common(properties);
  properties->maxTexture1D = kTexture;
  return cudaSuccess;
}

cudaError_t deviceProperties12(void* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  fill_old(static_cast<DeviceProp12*>(properties));
  return cudaSuccess;
}

cudaError_t deviceProperties11(void* properties, int device) {
  DeviceProp12 made;
  const cudaError_t error = properties == nullptr ? cudaErrorInvalidValue : deviceProperties12(&made, device);
  if (error == cudaSuccess) std::memcpy(properties, &made, kDeviceProp11Bytes);
  return error;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr || attribute < cudaDevAttrMaxThreadsPerBlock || attribute > 255) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *value = 0;
  if (attribute == cudaDevAttrMultiProcessorCount) *value = processors();
  if (attribute == cudaDevAttrL2CacheSize) *value = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  if (attribute == cudaDevAttrHostNumaId || attribute == cudaDevAttrNumaId) *value = -1;
  for (const Attribute& fixed : kFixed)
    if (fixed.attribute == attribute) *value = fixed.value;
  return cudaSuccess;
}

}  // namespace wootz::hostcuda
