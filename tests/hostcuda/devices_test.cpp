// Devices, errors, versions of symbols, and what is refused.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "hostcuda/common.h"

namespace hostcuda_test {
namespace {

TEST(Devices, ThereIsOne) {
  int count = 0, device = -1, value = 0, version = 0;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  OK(cudaSetDevice(0));
  FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
  OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  cudaDeviceProp properties{};
  OK(cudaGetDeviceProperties(&properties, 0));
  FAILS(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_NE(std::string(properties.name).find("Wootz host"), std::string::npos);
  EXPECT_GT(properties.totalGlobalMem, 0U);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT_EQ(value, properties.major);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, properties.multiProcessorCount);
  FAILS(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0), cudaErrorInvalidValue);
  OK(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, CUDART_VERSION);
  char id[32] = {};
  OK(cudaDeviceGetPCIBusId(id, sizeof(id), 0));
  OK(cudaDeviceGetByPCIBusId(&device, id));
  size_t limit = 0;
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  EXPECT_EQ(limit, 4096U);
  OK(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  OK(cudaDeviceReset());
}

TEST(Errors, HaveNamesAndBelongToTheirThread) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  int count = 0;
  OK(cudaGetDeviceCount(&count));  // success does not change it
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, KernelsAreRefused) {
  void* const launch = dlsym(RTLD_DEFAULT, "cudaLaunchKernel");
  ASSERT_NE(launch, nullptr);
  testing::internal::CaptureStderr();
  FAILS(reinterpret_cast<cudaError_t (*)(const void*)>(launch)(nullptr), cudaErrorNotSupported);
  FAILS(reinterpret_cast<cudaError_t (*)(const void*)>(launch)(nullptr), cudaErrorNotSupported);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cudaLaunchKernel is not supported"), std::string::npos);
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;  // once
}

template <typename Function>
Function versioned(const char* name, const char* version) {
  void* const found = dlvsym(RTLD_DEFAULT, name, version);
  EXPECT_NE(found, nullptr) << name << "@" << version;
  return reinterpret_cast<Function>(found);
}

// Programs for older versions get their functions, and what they have room for.
TEST(Versions, OlderProgramsFindTheirs) {
  for (const char* version : {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"})
    for (const char* name : {"cudaMalloc", "cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "cudaMemcpy_ptds",
                             "cudaGetLastError", "cudaStreamCreateWithFlags", "cudaGraphInstantiate",
                             "cudaGetDeviceProperties", "cudaLaunchKernel", "__cudaRegisterFatBinary"})
      EXPECT_NE(dlvsym(RTLD_DEFAULT, name, version), nullptr) << name << "@" << version;

  int number = 0;
  EXPECT_EQ(versioned<cudaError_t (*)(int*)>("cudaRuntimeGetVersion", "libcudart.so.12")(&number), cudaSuccess);
  EXPECT_EQ(number / 1000, 12);
  EXPECT_EQ(versioned<cudaError_t (*)(int*)>("cudaRuntimeGetVersion", "libcudart.so.11.0")(&number), cudaSuccess);
  EXPECT_EQ(number / 1000, 11);

  unsigned char room[1100];
  using Properties = cudaError_t (*)(void*, int);
  std::memset(room, 0xee, sizeof(room));
  EXPECT_EQ(versioned<Properties>("cudaGetDeviceProperties_v2", "libcudart.so.12")(room, 0), cudaSuccess);
  EXPECT_EQ(room[1031], 0);
  EXPECT_EQ(room[1032], 0xee);
  EXPECT_EQ(std::strncmp(reinterpret_cast<char*>(room), "Wootz host", 10), 0);
  std::memset(room, 0xee, sizeof(room));
  EXPECT_EQ(versioned<Properties>("cudaGetDeviceProperties", "libcudart.so.11.0")(room, 0), cudaSuccess);
  EXPECT_EQ(room[728], 0xee);
  EXPECT_EQ(versioned<cudaError_t (*)(void*, const void*)>("cudaPointerGetAttributes", "libcudart.so.12")(room, room),
            cudaSuccess);

  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  char log[8];
  using Instantiate11 = cudaError_t (*)(cudaGraphExec_t*, cudaGraph_t, cudaGraphNode_t*, char*, size_t);
  EXPECT_EQ(versioned<Instantiate11>("cudaGraphInstantiate", "libcudart.so.11.0")(&exec, graph, &node, log, 8),
            cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
}  // namespace hostcuda_test
