// NvInferRuntime.h by itself: the callbacks of a program that runs engines.
#include "NvInferRuntime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

namespace {

using namespace nvinfer1;

static_assert(int(TensorFormat::kLINEAR) == 0);
static_assert(int(TensorFormat::kCHW32) == 5);
static_assert(int(TensorFormat::kHWC) == 8);
static_assert(int(TensorFormat::kDHWC) == 12);
static_assert(EnumMax<TensorFormat>() == 13);
static_assert(int(TensorLocation::kHOST) == 1);
static_assert(int(WeightsRole::kANY) == 5);
static_assert(int(OptProfileSelector::kMAX) == 2);
static_assert(int(TacticSource::kEDGE_MASK_CONVOLUTIONS) == 3);
static_assert(int(TacticSource::kJIT_CONVOLUTIONS) == 4);
static_assert(int(ProfilingVerbosity::kDETAILED) == 2);
static_assert(int(ExecutionContextAllocationStrategy::kUSER_MANAGED) == 2);
static_assert(int(SerializationFlag::kINCLUDE_REFIT) == 2);
static_assert(int(LayerInformationFormat::kJSON) == 1);
static_assert(int(DimensionOperation::kCEIL_DIV) == 8);
static_assert(int(EngineCapability::kDLA_STANDALONE) == 2);
static_assert(int(SeekPosition::kEND) == 2);
static_assert(int(EngineStat::kSTRIPPED_WEIGHTS_SIZE) == 1);
static_assert(int(TempfileControlFlag::kALLOW_TEMPORARY_FILES) == 1);
static_assert(int(PluginFieldType::kFP4) == 13);
static_assert(int(PluginCapabilityType::kRUNTIME) == 2);

// Held in unique_ptr by every client, and ended by delete.
template <typename T>
constexpr bool kOwnable = std::has_virtual_destructor_v<T>&& std::is_nothrow_destructible_v<T>&& std::is_abstract_v<T>;
static_assert(kOwnable<IRuntime> && kOwnable<ICudaEngine> && kOwnable<IExecutionContext> && kOwnable<IHostMemory>);
static_assert(kOwnable<IRefitter> && kOwnable<IEngineInspector> && kOwnable<ISerializationConfig>);
static_assert(kOwnable<IRuntimeConfig>);

class Profiler final : public IProfiler {
 public:
  void reportLayerTime(const char* layerName, float ms) noexcept override { times[layerName] += ms; }
  std::map<std::string, float> times;
};

class OutputAllocator final : public IOutputAllocator {
 public:
  ~OutputAllocator() override { std::free(memory_); }
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    return memory_ = std::realloc(memory_, size);
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = dims; }
  Dims shape{};

 private:
  void* memory_ = nullptr;
};

// The stream-ordered form only; without noexcept, which clients may leave out there.
class AsyncOutputAllocator final : public IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void* current, uint64_t, uint64_t, cudaStream_t) override { return current; }
  void notifyShape(const char*, const Dims&) noexcept override {}
};

class AsyncAllocator final : public IGpuAsyncAllocator {
 public:
  void* allocateAsync(uint64_t size, uint64_t, AllocatorFlags, cudaStream_t) noexcept override {
    return std::malloc(size);
  }
  bool deallocateAsync(void* memory, cudaStream_t) noexcept override {
    std::free(memory);
    return true;
  }
};

class Reader final : public IStreamReader {
 public:
  int64_t read(void*, int64_t nbBytes) override { return nbBytes; }
};

class ReaderV2 final : public IStreamReaderV2 {
 public:
  int64_t read(void*, int64_t, cudaStream_t) noexcept override { return 0; }
  bool seek(int64_t, SeekPosition) noexcept override { return true; }
};

class Writer final : public IStreamWriter {
 public:
  int64_t write(const void*, int64_t nbBytes) override { return nbBytes; }
};

class Listener final : public IDebugListener {
 public:
  bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*, cudaStream_t) override {
    return true;
  }
};

TEST(Runtime, ProfilerAddsUp) {
  Profiler profiler;
  static_cast<IProfiler&>(profiler).reportLayerTime("conv", 1.5F);
  static_cast<IProfiler&>(profiler).reportLayerTime("conv", 0.5F);
  EXPECT_FLOAT_EQ(profiler.times["conv"], 2.F);
}

TEST(Runtime, AsyncOutputAllocationFallsBackToTheSynchronousForm) {
  OutputAllocator allocator;
  IOutputAllocator& a = allocator;
  EXPECT_NE(a.reallocateOutputAsync("y", nullptr, 64, 16, nullptr), nullptr);
  a.notifyShape("y", Dims{1, {16}});
  EXPECT_EQ(allocator.shape.d[0], 16);
}

TEST(Runtime, AsyncAllocatorAnswersTheSynchronousCalls) {
  AsyncAllocator allocator;
  IGpuAllocator& a = allocator;
  void* block = a.allocateAsync(8, 0, 0, nullptr);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(a.reallocate(block, 0, 16), nullptr);
  EXPECT_TRUE(a.deallocateAsync(block, nullptr));
}

TEST(Runtime, InterfacesNameThemselves) {
  EXPECT_STREQ(AsyncOutputAllocator().getInterfaceInfo().kind, "IOutputAllocator");
  EXPECT_STREQ(AsyncAllocator().getInterfaceInfo().kind, "IGpuAllocator");
  EXPECT_STREQ(Reader().getInterfaceInfo().kind, "IStreamReader");
  EXPECT_STREQ(ReaderV2().getInterfaceInfo().kind, "IStreamReaderV2");
  EXPECT_STREQ(Writer().getInterfaceInfo().kind, "IStreamWriter");
  EXPECT_STREQ(Listener().getInterfaceInfo().kind, "IDebugListener");
}

}  // namespace
