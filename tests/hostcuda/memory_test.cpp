// Memory: what addresses are, copies and fills, pools, and what is refused.
#include <cstring>
#include <numeric>
#include <vector>

#include "hostcuda/common.h"

namespace hostcuda_test {
namespace {

cudaPointerAttributes attributes(const void* address) {
  cudaPointerAttributes found{};
  EXPECT_EQ(cudaPointerGetAttributes(&found, address), cudaSuccess);
  return found;
}

TEST(Memory, AddressesAreKnown) {
  char *device = nullptr, *host = nullptr, *managed = nullptr;
  char stack[64] = {};
  OK(cudaMalloc(&device, 1000));
  OK(cudaMallocHost(&host, 1000));
  OK(cudaMallocManaged(&managed, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % 256, 0U);
  EXPECT_EQ(attributes(device + 999).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes(device + 999).devicePointer, device + 999);
  EXPECT_EQ(attributes(device).hostPointer, nullptr);
  EXPECT_EQ(attributes(host).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes(host).hostPointer, host);
  EXPECT_EQ(attributes(managed).type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributes(stack).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes(device + 1000).type == cudaMemoryTypeDevice && attributes(device + 1000).devicePointer == device,
            false);
  OK(cudaHostRegister(stack, sizeof(stack), cudaHostRegisterMapped));
  EXPECT_EQ(attributes(stack + 1).type, cudaMemoryTypeHost);
  void* there = nullptr;
  OK(cudaHostGetDevicePointer(&there, stack + 1, 0));
  EXPECT_EQ(there, stack + 1);
  FAILS(cudaHostRegister(stack + 8, 8, 0), cudaErrorHostMemoryAlreadyRegistered);
  OK(cudaHostUnregister(stack));
  FAILS(cudaHostUnregister(stack), cudaErrorHostMemoryNotRegistered);
  unsigned flags = 1;
  OK(cudaHostGetFlags(&flags, host));
  EXPECT_EQ(flags, 0U);
  OK(cudaFree(device));
  OK(cudaFreeHost(host));
  OK(cudaFree(managed));
  EXPECT_EQ(attributes(device).type, cudaMemoryTypeUnregistered);
}

TEST(Memory, MisuseIsAnError) {
  void *device = nullptr, *host = nullptr, *other = nullptr;
  FAILS(cudaMalloc(static_cast<void**>(nullptr), 8), cudaErrorInvalidValue);
  OK(cudaMalloc(&other, 0));
  EXPECT_EQ(other, nullptr);
  FAILS(cudaMalloc(&other, size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_EQ(other, nullptr);
  OK(cudaFree(nullptr));
  OK(cudaFreeHost(nullptr));
  OK(cudaMalloc(&device, 64));
  OK(cudaMallocHost(&host, 64));
  FAILS(cudaFree(static_cast<char*>(device) + 8), cudaErrorInvalidValue);
  FAILS(cudaFree(host), cudaErrorInvalidValue);
  FAILS(cudaFreeHost(device), cudaErrorInvalidValue);
  FAILS(cudaFree(&device), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(nullptr, device, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(host, nullptr, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost));
  FAILS(cudaMemcpy(host, device, 8, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  FAILS(cudaMemcpy(host, device, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(device, host, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  FAILS(cudaMemcpy(device, host, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  FAILS(cudaMemcpyAsync(host, static_cast<char*>(device) + 60, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  FAILS(cudaMemset(device, 0, 65), cudaErrorInvalidValue);
  FAILS(cudaMemset(nullptr, 0, 1), cudaErrorInvalidValue);
  FAILS(cudaMemcpy2D(host, 4, device, 8, 8, 2, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
  FAILS(cudaHostAlloc(&other, 8, 0x80), cudaErrorInvalidValue);
  FAILS(cudaPointerGetAttributes(nullptr, device), cudaErrorInvalidValue);
  OK(cudaFree(device));
  FAILS(cudaFree(device), cudaErrorInvalidValue);
  OK(cudaFreeHost(host));
  FAILS(cudaFreeHost(host), cudaErrorInvalidValue);
}

TEST(Memory, CopiesRows) {
  std::vector<int> in(12 * 5), out(12 * 5, -1);
  std::iota(in.begin(), in.end(), 0);
  char* device = nullptr;
  size_t pitch = 0;
  OK(cudaMallocPitch(&device, &pitch, 12 * sizeof(int), 5));
  EXPECT_GE(pitch, 12 * sizeof(int));
  OK(cudaMemset2D(device, pitch, 0xff, 12 * sizeof(int), 5));
  OK(cudaMemcpy2D(device, pitch, in.data(), 12 * sizeof(int), 12 * sizeof(int), 4, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(out.data(), 12 * sizeof(int), device, pitch, 12 * sizeof(int), 5, cudaMemcpyDeviceToHost));
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 48), std::vector<int>(in.begin(), in.begin() + 48));
  EXPECT_EQ(out[48], -1);
  // A block out of the middle, by the three-dimensional form.
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(device, pitch, 12 * sizeof(int), 2);  // two slices of two rows
  copy.srcPos = make_cudaPos(4, 1, 0);
  std::vector<int> cut(2 * 3);
  copy.dstPtr = make_cudaPitchedPtr(cut.data(), 3 * sizeof(int), 3 * sizeof(int), 1);
  copy.extent = make_cudaExtent(3 * sizeof(int), 1, 2);
  copy.kind = cudaMemcpyDefault;
  OK(cudaMemcpy3D(&copy));
  EXPECT_EQ(cut, (std::vector<int>{13, 14, 15, 37, 38, 39}));
  OK(cudaFree(device));
}

TEST(Memory, ASourceOfTheHostMayChangeAtOnce) {
  const Stream stream;
  Gate gate;
  char *device = nullptr, *pinned = nullptr;
  OK(cudaMalloc(&device, 64));
  OK(cudaMallocHost(&pinned, 64));
  gate.hold(stream);
  char source[64];
  std::memset(source, 5, sizeof(source));
  OK(cudaMemcpyAsync(device, source, 64, cudaMemcpyHostToDevice, stream));
  std::memset(source, 6, sizeof(source));
  OK(cudaMemcpyAsync(pinned, device, 64, cudaMemcpyDeviceToHost, stream));
  gate.open();
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(pinned[63], 5);
  OK(cudaFree(device));
  OK(cudaFreeHost(pinned));
}

TEST(Memory, PoolsCount) {
  const Stream stream;
  cudaMemPool_t pool = nullptr, same = nullptr;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaDeviceGetMemPool(&same, 0));
  EXPECT_EQ(pool, same);
  unsigned long long threshold = 1 << 20, found = 0, used = 0;
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &found));
  EXPECT_EQ(found, threshold);
  char* memory = nullptr;
  OK(cudaMallocAsync(&memory, 4096, stream));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 4096U);
  OK(cudaMemsetAsync(memory, 3, 4096, stream));
  char last = 0;
  OK(cudaMemcpyAsync(&last, memory + 4095, 1, cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(memory, stream));
  FAILS(cudaFreeAsync(memory, stream), cudaErrorInvalidValue);
  FAILS(cudaFree(memory), cudaErrorInvalidValue);
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(last, 3);
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 0U);
  OK(cudaMemPoolTrimTo(pool, 0));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own = nullptr;
  OK(cudaMemPoolCreate(&own, &properties));
  OK(cudaMallocFromPoolAsync(&memory, 10, own, stream));
  OK(cudaFree(memory));
  OK(cudaMemPoolDestroy(own));
  FAILS(cudaMemPoolDestroy(own), cudaErrorInvalidValue);
  FAILS(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
}

TEST(Memory, FreeWaitsForWhatUsesIt) {
  const Stream stream(cudaStreamNonBlocking);
  Gate gate;
  char* memory = nullptr;
  OK(cudaMalloc(&memory, 1 << 20));
  gate.hold(stream);
  OK(cudaMemsetAsync(memory, 1, 1 << 20, stream));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  OK(cudaFree(memory));
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  opener.join();
}

TEST(Memory, TheMachineSays) {
  size_t available = 0, total = 0;
  OK(cudaMemGetInfo(&available, &total));
  EXPECT_GT(available, 0U);
  EXPECT_GE(total, available);
}

}  // namespace
}  // namespace hostcuda_test
