// A stub of libcuda: what cuDNN asks of libcuda while it builds plans for a described GPU on a machine that
// has none. Its runtime-compiled engines load what they compiled to see that it can be, and ask nothing more. Opened by
// src/backends/cuda/device/libcuda_stub.cpp where no real driver is, under the real one's name; every other call fails.
#include "backends/cuda/api/driver.h"

#define WOOTZ_EXPORT extern "C" __attribute__((visibility("default")))

using namespace wootz::cuda;

namespace {
constexpr int kVersion = 13000;
int g_something = 0;  // handles point here
}  // namespace

WOOTZ_EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
WOOTZ_EXPORT CUresult cuDriverGetVersion(int* version) { return *version = kVersion, CUDA_SUCCESS; }
WOOTZ_EXPORT CUresult cuGetErrorName(CUresult, const char** text) { return *text = "no device", CUDA_SUCCESS; }
WOOTZ_EXPORT CUresult cuGetErrorString(CUresult, const char** text) {
  return *text = "there is no NVIDIA driver on this machine", CUDA_SUCCESS;
}
WOOTZ_EXPORT CUresult cuLibraryLoadData(void** library, const void*, void*, void**, unsigned, void*, void**, unsigned) {
  return *library = &g_something, CUDA_SUCCESS;
}
WOOTZ_EXPORT CUresult cuLibraryGetKernel(void** kernel, void*, const char*) {
  return *kernel = &g_something, CUDA_SUCCESS;
}
WOOTZ_EXPORT CUresult cuLibraryUnload(void*) { return CUDA_SUCCESS; }

// Looked up when cuDNN opens the driver, and not called.
#define WOOTZ_NONE(name) \
  __asm__(".globl " #name "\n.type " #name ", @function\n.set " #name ", wootz_libcuda_stub_refuses");
extern "C" __attribute__((visibility("default"), used)) CUresult wootz_libcuda_stub_refuses() {
  return CUDA_ERROR_STUB_LIBRARY;
}
WOOTZ_NONE(cuCtxGetCurrent)
WOOTZ_NONE(cuCtxGetLimit)
WOOTZ_NONE(cuCtxPopCurrent)
WOOTZ_NONE(cuCtxPushCurrent)
WOOTZ_NONE(cuDeviceGet)
WOOTZ_NONE(cuDeviceGetCount)
WOOTZ_NONE(cuFuncGetAttribute)
WOOTZ_NONE(cuFuncSetAttribute)
WOOTZ_NONE(cuGetExportTable)
WOOTZ_NONE(cuGetProcAddress)
WOOTZ_NONE(cuGetProcAddress_v2)
WOOTZ_NONE(cuKernelGetAttribute)
WOOTZ_NONE(cuKernelGetFunction)
WOOTZ_NONE(cuKernelSetAttribute)
WOOTZ_NONE(cuLaunchCooperativeKernel)
WOOTZ_NONE(cuLaunchKernel)
WOOTZ_NONE(cuLaunchKernelEx)
WOOTZ_NONE(cuLibraryLoadFromFile)
WOOTZ_NONE(cuLinkAddData)
WOOTZ_NONE(cuLinkComplete)
WOOTZ_NONE(cuLinkCreate)
WOOTZ_NONE(cuLinkDestroy)
WOOTZ_NONE(cuOccupancyMaxPotentialClusterSize)
WOOTZ_NONE(cuStreamGetCtx)
