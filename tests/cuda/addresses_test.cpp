// Addresses that a caller passes by mistake are refused with the tensor's name, whichever side they are of.
#include <sys/mman.h>

#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

constexpr size_t kBytes = 4 * 512 * sizeof(float);

// Whether kernels reach any memory of the host: then host addresses are no mistake.
bool gpu_reaches_all() {
  int reaches = 0;
  const cuda::Gpu& gpu = **cuda::gpu();
  driver().cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, gpu.device);
  return reaches != 0;
}

// Memory of one page that cuda knows nothing of, and that is not there any more.
void* nothing() {
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::munmap(page, 4096);
  return page;
}

bool told(Bench& bench, std::initializer_list<const char*> words) {
  const std::string errors = bench.logger.take_errors();
  for (const char* word : words)
    if (errors.find(word) == std::string::npos) {
      ADD_FAILURE() << "no '" << word << "' in: " << errors;
      return false;
    }
  return true;
}

TEST(CudaAddresses, AnEngineOnTheGpuRefusesWhatItCannotReach) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch good(*net.engine, 4);
  ASSERT_TRUE(good.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const std::vector<float> want = good.results();
  std::vector<float> host(kBytes / sizeof(float), 1);
  std::vector<void*> wrong{reinterpret_cast<void*>(uintptr_t{16}), nothing()};
  if (!gpu_reaches_all()) wrong.push_back(host.data());
  const void* const x = context->getTensorAddress("x");
  for (void* address : wrong) {
    EXPECT_FALSE(context->setTensorAddress("x", address));
    EXPECT_TRUE(told(net.bench, {"setTensorAddress", "input 'x'"}));
    EXPECT_FALSE(context->setInputTensorAddress("x", address));
    EXPECT_TRUE(told(net.bench, {"setInputTensorAddress", "input 'x'"}));
    EXPECT_FALSE(context->setOutputTensorAddress("y", address));
    EXPECT_TRUE(told(net.bench, {"setOutputTensorAddress", "output 'y'"}));
    void* bindings[2] = {const_cast<void*>(x), address};
    EXPECT_FALSE(context->executeV2(bindings));
    EXPECT_TRUE(told(net.bench, {"executeV2", "output 'y'"}));
    EXPECT_EQ(context->getTensorAddress("x"), x) << "what was there is kept";
  }
  good.clear();
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
  EXPECT_EQ(good.results(), want);
}

TEST(CudaAddresses, EveryKindOfMemoryThatTheGpuReachesPasses) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch good(*net.engine, 4);
  ASSERT_TRUE(good.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const std::vector<float> want = good.results();
  void* const pinned = wootz_device_allocate_host(net.engine.get(), kBytes);
  ASSERT_NE(pinned, nullptr);
  ASSERT_TRUE(context->setTensorAddress("y", pinned)) << net.bench.logger.errors();
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
  ASSERT_EQ(wootz_device_synchronize(net.engine.get()), 0);
  EXPECT_EQ(std::vector<float>(static_cast<float*>(pinned), static_cast<float*>(pinned) + want.size()), want);
  ASSERT_TRUE(context->setTensorAddress("y", nullptr)) << "null takes the address away";
  wootz_device_free_host(net.engine.get(), pinned);
  if (real_gpu()) return;
  std::vector<float> host(kBytes / sizeof(float));
  for (const auto kind : {cuda::EmulatorMemory::kManaged, cuda::EmulatorMemory::kHost}) {
    cuda::emulator_register({host.data(), kBytes, kind});
    EXPECT_TRUE(context->setTensorAddress("y", host.data() + 16)) << net.bench.logger.errors();
    EXPECT_TRUE(context->setTensorAddress("y", nullptr));
  }
  cuda::emulator_register({host.data(), kBytes, cuda::EmulatorMemory::kOtherDevice});
  EXPECT_FALSE(context->setTensorAddress("y", host.data()));
  EXPECT_TRUE(told(net.bench, {"output 'y'", "lies on GPU 1", "on GPU 0"}));
  cuda::emulator_unregister(host.data());
}

TEST(CudaAddresses, OnesBetweenWhatIsReadAtOnceAreRefused) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch good(*net.engine, 4);
  ASSERT_TRUE(good.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const std::vector<float> want = good.results();
  for (const char* name : {"x", "y"}) {
    const auto address = reinterpret_cast<uintptr_t>(context->getTensorAddress(name));
    ASSERT_TRUE(context->setTensorAddress(name, reinterpret_cast<void*>(address + 4))) << net.bench.logger.errors();
    EXPECT_FALSE(context->enqueueV3(nullptr)) << name;
    EXPECT_TRUE(told(net.bench, {"enqueueV3", name, "multiple of 16 bytes"}));
    ASSERT_TRUE(context->setTensorAddress(name, reinterpret_cast<void*>(address)));
  }
  good.clear();
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
  EXPECT_EQ(good.results(), want);
}

TEST(CudaAddresses, OneLookAtAnAddressAndNoneInAnInference) {
  if (real_gpu()) GTEST_SKIP() << "counted on the emulator";
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch a(*net.engine, 4), b(*net.engine, 4);
  ASSERT_TRUE(a.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const long first = cuda::emulator_counts().pointers;
  EXPECT_GT(first, 0);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(a.enqueue(*context, nullptr));
  EXPECT_EQ(cuda::emulator_counts().pointers, first) << "the addresses are the same";
  ASSERT_TRUE(b.enqueue(*context, nullptr));
  EXPECT_GT(cuda::emulator_counts().pointers, first);
}

// Gives memory of the host until it is told otherwise.
class Output final : public IOutputAllocator {
 public:
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    if (address != nullptr) return address;
    host.resize(size);
    return host.data();
  }
  void notifyShape(const char*, const Dims&) noexcept override {}
  void* address = nullptr;
  std::vector<char> host;
};

TEST(CudaAddresses, WhatAnOutputAllocatorGivesIsLookedAt) {
  SmallNet net;
  if (gpu_reaches_all()) GTEST_SKIP() << "this GPU reaches memory of the host";
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch good(*net.engine, 4);
  ASSERT_TRUE(good.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const std::vector<float> want = good.results();
  good.clear();
  Output output;
  ASSERT_TRUE(context->setOutputAllocator("y", &output));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(told(net.bench, {"enqueueV3", "allocator of output 'y'"}));
  output.address = const_cast<void*>(context->getTensorAddress("y"));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
  EXPECT_EQ(good.results(), want);
}

TEST(CudaAddresses, MemoryForActivationsAndAllocatorsAreLookedAt) {
  SmallNet net;
  if (gpu_reaches_all()) GTEST_SKIP() << "this GPU reaches memory of the host";
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  {  // what is of the engine goes before it
    Owned<IExecutionContext> context(
        net.engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
    ASSERT_NE(context, nullptr);
    Batch good(*net.engine, 4);
    ASSERT_TRUE(good.set(*context));
    const size_t need = context->updateDeviceMemorySizeForShapes();
    const std::unique_ptr<void, decltype(&std::free)> host(std::aligned_alloc(256, (need + 511) / 256 * 256),
                                                           std::free);
    context->setDeviceMemoryV2(host.get(), static_cast<int64_t>(need));
    EXPECT_TRUE(told(net.bench, {"setDeviceMemoryV2", "device memory"}));
    EXPECT_FALSE(context->enqueueV3(nullptr)) << "it was taken";
    net.bench.logger.take_errors();
    void* const memory = wootz_device_allocate(net.engine.get(), need);
    context->setDeviceMemory(memory);
    EXPECT_TRUE(context->enqueueV3(nullptr)) << net.bench.logger.errors();
    EXPECT_EQ(wootz_device_synchronize(net.engine.get()), 0);
    context.reset();
    wootz_device_free(net.engine.get(), memory);
  }

  class HostMemory final : public IGpuAllocator {
   public:
    void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
      ++live;
      return std::aligned_alloc(256, (size + 255) / 256 * 256);
    }
    bool deallocate(void* m) noexcept override {
      --live;
      std::free(m);
      return true;
    }
    int live = 0;
  } allocator;
  EXPECT_FALSE(net.load(&allocator));
  EXPECT_TRUE(told(net.bench, {"application's allocator"}));
  EXPECT_EQ(allocator.live, 0) << "it gets back what was refused";
}

TEST(CudaAddresses, AStreamOfTheHostIsRefused) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch good(*net.engine, 4);
  void* const stream = wootz_stream_create();
  ASSERT_NE(stream, nullptr);
  EXPECT_FALSE(good.enqueue(*context, static_cast<CUstream>(stream)));
  EXPECT_TRUE(told(net.bench, {"enqueueV3", "wootz_stream_create", "cudaStream_t"}));
  EXPECT_EQ(wootz_stream_destroy(stream), 0);
  EXPECT_TRUE(good.enqueue(*context, nullptr)) << net.bench.logger.errors();
}

// The other way round: y = relu(x) of 8 floats on the processor.
struct OnCpu {
  OnCpu() {
    real_gpu();
    bench.output(bench.network->addActivation(*bench.input("x", {8}), ActivationType::kRELU), "y");
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cpu"), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    engine = bench.engine();
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
    context.reset(engine->createExecutionContext());
  }
  Bench bench;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;
};

TEST(CudaAddresses, AnEngineOnTheProcessorRefusesMemoryOfTheGpu) {
  OnCpu cpu;
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  void* const device = wootz_device_allocate(net.engine.get(), 4096);
  ASSERT_NE(device, nullptr);
  std::vector<float> x{-1, 2, -3, 4, -5, 6, -7, 8}, y(8);
  for (void* wrong : {device, static_cast<void*>(static_cast<char*>(device) + 64), nothing()}) {
    EXPECT_FALSE(cpu.context->setTensorAddress("x", wrong));
    EXPECT_TRUE(told(cpu.bench, {"input 'x'", wrong == device ? "memory of a GPU" : "memory"}));
    void* bindings[2] = {x.data(), wrong};
    EXPECT_FALSE(cpu.context->executeV2(bindings));
    EXPECT_TRUE(told(cpu.bench, {"output 'y'"}));
  }
  Output output;
  output.address = device;
  ASSERT_TRUE(cpu.context->setTensorAddress("x", x.data())) << cpu.bench.logger.errors();
  ASSERT_TRUE(cpu.context->setOutputAllocator("y", &output));
  EXPECT_FALSE(cpu.context->enqueueV3(nullptr));
  EXPECT_TRUE(told(cpu.bench, {"allocator of output 'y'", "memory of a GPU"}));
  ASSERT_TRUE(cpu.context->setOutputAllocator("y", nullptr));
  // Memory of the host that CUDA knows too is memory of the host.
  auto* const pinned = static_cast<float*>(wootz_device_allocate_host(net.engine.get(), 4096));
  ASSERT_NE(pinned, nullptr);
  ASSERT_TRUE(cpu.context->setTensorAddress("y", pinned)) << cpu.bench.logger.errors();
  ASSERT_TRUE(cpu.context->enqueueV3(nullptr)) << cpu.bench.logger.errors();
  EXPECT_EQ(std::vector<float>(pinned, pinned + 8), (std::vector<float>{0, 2, 0, 4, 0, 6, 0, 8}));
  wootz_device_free_host(net.engine.get(), pinned);
  wootz_device_free(net.engine.get(), device);
}

// Values of shape tensors are read by the host, on a GPU too.
TEST(CudaAddresses, ShapeTensorsAreInMemoryOfTheHost) {
  real_gpu();
  Bench bench;
  ITensor* x = bench.input("x", {6});
  ITensor* shape = bench.input("shape", {2}, DataType::kINT32);
  IShuffleLayer* shuffle = bench.network->addShuffle(*x);
  shuffle->setInput(1, *shape);
  bench.output(bench.network->addActivation(*shuffle->getOutput(0), ActivationType::kRELU), "y");
  IOptimizationProfile* profile = bench.builder->createOptimizationProfile();
  const int32_t low[] = {1, 1}, opt[] = {2, 3}, high[] = {6, 6};
  ASSERT_TRUE(profile->setShapeValues("shape", OptProfileSelector::kMIN, low, 2));
  ASSERT_TRUE(profile->setShapeValues("shape", OptProfileSelector::kOPT, opt, 2));
  ASSERT_TRUE(profile->setShapeValues("shape", OptProfileSelector::kMAX, high, 2));
  ASSERT_GE(bench.config->addOptimizationProfile(profile), 0);
  ASSERT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
  ASSERT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
  const Owned<ICudaEngine> engine = bench.engine();
  ASSERT_NE(engine, nullptr) << bench.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_EQ(engine->getTensorLocation("shape"), TensorLocation::kHOST);
  void* const device = wootz_device_allocate(engine.get(), 64);
  EXPECT_FALSE(context->setTensorAddress("shape", device));
  EXPECT_TRUE(told(bench, {"input 'shape'", "memory of a GPU"}));
  int32_t values[] = {3, 2};
  EXPECT_TRUE(context->setTensorAddress("shape", values)) << bench.logger.errors();
  EXPECT_TRUE(context->setTensorAddress("x", device)) << bench.logger.errors();
  EXPECT_EQ(context->inferShapes(0, nullptr), 0) << bench.logger.errors();
  EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{3, 2}));
  wootz_device_free(engine.get(), device);
}

}  // namespace
}  // namespace wootz_test
