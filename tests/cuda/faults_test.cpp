// What goes wrong on a GPU is an error with a code and a place, and the process goes on where CUDA lets it.
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

class Recorder final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors.size()); }
  ErrorCode getErrorCode(int32_t i) const noexcept override { return errors[static_cast<size_t>(i)].first; }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override { return errors[static_cast<size_t>(i)].second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors.clear(); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    errors.emplace_back(code, text);
    return true;
  }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }
  std::vector<std::pair<ErrorCode, std::string>> errors;
};

// Hands memory of the device out, until it does not.
class Allocator final : public IGpuAsyncAllocator {
 public:
  void* allocateAsync(uint64_t const size, uint64_t const, AllocatorFlags const, cudaStream_t) noexcept override {
    if (granted == allowed) return nullptr;
    ++granted;
    CUdeviceptr memory = 0;
    return driver().cuMemAlloc_v2(&memory, size) == CUDA_SUCCESS ? reinterpret_cast<void*>(memory) : nullptr;
  }
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override {
    ++returned;
    return driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory)) == CUDA_SUCCESS;
  }
  int allowed = -1, granted = 0, returned = 0;
};

struct Restore {
  ~Restore() {
    if (!real_gpu()) cuda::emulator_fail({});
  }
};

TEST(CudaFaults, AnAllocatorIsAskedForEveryByteAndGetsItBack) {
  real_gpu();
  Allocator allocator;
  {
    SmallNet net(&allocator);
    ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
    const int weights = allocator.granted;
    EXPECT_GT(weights, 0);
    const long before = real_gpu() ? 0 : cuda::emulator_counts().allocations - allocator.granted;
    Owned<IExecutionContext> context(net.engine->createExecutionContext());
    ASSERT_NE(context, nullptr) << net.bench.logger.errors();
    EXPECT_GT(allocator.granted, weights) << "activations came from elsewhere";
    if (!real_gpu()) EXPECT_EQ(cuda::emulator_counts().allocations - allocator.granted, before);
  }
  EXPECT_EQ(allocator.returned, allocator.granted);
}

TEST(CudaFaults, AnAllocatorThatRefusesIsAnErrorAndNothingIsLost) {
  real_gpu();
  Allocator allocator;
  allocator.allowed = 0;
  SmallNet net(&allocator);
  EXPECT_EQ(net.engine, nullptr);
  EXPECT_NE(net.bench.logger.take_errors().find("weights: the application's allocator refused"), std::string::npos);
  allocator.allowed = 1;
  ASSERT_TRUE(net.load(&allocator)) << net.bench.logger.errors();
  Recorder recorder;
  net.engine->setErrorRecorder(&recorder);
  EXPECT_EQ(net.engine->createExecutionContext(), nullptr);
  ASSERT_FALSE(recorder.errors.empty());
  EXPECT_EQ(recorder.errors[0].first, ErrorCode::kFAILED_ALLOCATION);
  EXPECT_NE(recorder.errors[0].second.find("activation memory"), std::string::npos) << recorder.errors[0].second;
  allocator.allowed = -1;
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  ASSERT_NE(context, nullptr) << net.bench.logger.errors();
  Batch b(*net.engine, 2);
  EXPECT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
}

TEST(CudaFaults, OutOfMemoryIsAnErrorAndTheProcessGoesOn) {
  const bool real = real_gpu();
  const Restore restore;
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Recorder recorder;
  net.engine->setErrorRecorder(&recorder);
  std::vector<void*> hoard;
  if (real) {  // all of it, in ever smaller pieces
    for (size_t piece = size_t{1} << 34; piece >= 1024; piece /= 2)
      while (void* memory = wootz_device_allocate(net.engine.get(), piece)) hoard.push_back(memory);
    net.bench.logger.take_errors();
    recorder.clear();
  } else {
    cuda::emulator_fail({cuda::EmulatorCall::kAllocate, 0, CUDA_ERROR_OUT_OF_MEMORY});
  }
  EXPECT_EQ(net.engine->createExecutionContext(), nullptr);
  for (void* memory : hoard) wootz_device_free(net.engine.get(), memory);
  ASSERT_FALSE(recorder.errors.empty());
  EXPECT_EQ(recorder.errors[0].first, ErrorCode::kFAILED_ALLOCATION);
  EXPECT_NE(recorder.errors[0].second.find("OUT_OF_MEMORY"), std::string::npos) << recorder.errors[0].second;
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  ASSERT_NE(context, nullptr) << net.bench.logger.errors();
  Batch b(*net.engine, 2);
  EXPECT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
}

TEST(CudaFaults, MachineCodeThatDoesNotLoadAndLaunchesThatFailNameTheLayer) {
  if (real_gpu()) GTEST_SKIP() << "provoked on the emulator";
  const Restore restore;
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch b(*net.engine, 7);
  for (const cuda::EmulatorCall call : {cuda::EmulatorCall::kLoadModule, cuda::EmulatorCall::kLaunch}) {
    cuda::emulator_fail(
        {call, 0, call == cuda::EmulatorCall::kLaunch ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_ERROR_OUT_OF_MEMORY});
    EXPECT_FALSE(b.enqueue(*context, nullptr));
    const std::string errors = net.bench.logger.take_errors();
    EXPECT_NE(errors.find("layer 'the_conv"), std::string::npos) << errors;
    cuda::emulator_fail({});
  }
  EXPECT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
}

// A kernel that touches memory that is not there. The context is lost with it: on a GPU this runs in a process of its
// own.
void provoke(bool wait_for_steps, std::string* told, std::string* told_again) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  context->setDebugSync(wait_for_steps);
  Batch b(*net.engine, 2);
  ASSERT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
  driver().cuStreamSynchronize(nullptr);
  ASSERT_TRUE(b.set(*context));
  if (real_gpu()) {  // an address that is known to be nothing is refused: one that was memory
    void* const gone = wootz_device_allocate(net.engine.get(), size_t{1} << 30);
    EXPECT_TRUE(context->setTensorAddress("y", gone));
    wootz_device_free(net.engine.get(), gone);
  } else {
    cuda::emulator_fail({cuda::EmulatorCall::kRunKernel, 1, CUDA_ERROR_ILLEGAL_ADDRESS});
  }
  // The error of work that nobody waited for is that of a later call.
  for (int i = 0; i < 3 && told->empty(); ++i) {
    if (!context->enqueueV3(nullptr)) *told = net.bench.logger.take_errors();
    driver().cuStreamSynchronize(nullptr);
  }
  EXPECT_FALSE(context->enqueueV3(nullptr));
  *told_again = net.bench.logger.take_errors();
  EXPECT_FALSE(b.set(*context) && context->enqueueV3(nullptr)) << "it goes on as if nothing had happened";
}

TEST(CudaFaults, ALostContextIsToldOnceAndWithTheLayerWhereStepsAreWaitedFor) {
  const auto body = [] {
    std::string told, again;
    provoke(true, &told, &again);
    const char* layer = real_gpu() ? "layer 'the_softmax" : "layer '";
    const bool good = told.find(layer) != std::string::npos && told.find("ILLEGAL_ADDRESS") != std::string::npos &&
                      again.find("reported before") != std::string::npos;
    std::fprintf(stderr, "first: %s\nthen: %s\n%s", told.c_str(), again.c_str(),
                 good ? "as it should be\n" : "WRONG\n");
    std::_Exit(good && !testing::Test::HasFailure() ? 0 : 1);
  };
  real_gpu();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "as it should be");
}

TEST(CudaFaults, ALostContextIsToldByTheNextCallOtherwise) {
  const auto body = [] {
    std::string told, again;
    provoke(false, &told, &again);
    const bool good = told.find("ILLEGAL_ADDRESS") != std::string::npos &&
                      told.find("setDebugSync") != std::string::npos && told.find("network '") != std::string::npos &&
                      again.find("reported before") != std::string::npos;
    std::fprintf(stderr, "first: %s\nthen: %s\n%s", told.c_str(), again.c_str(),
                 good ? "as it should be\n" : "WRONG\n");
    std::_Exit(good && !testing::Test::HasFailure() ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "as it should be");
}

}  // namespace
}  // namespace wootz_test
