// No memory on the device: whichever allocation of an application's allocator fails, from the engine's weights to an
// inference, a call fails with a reason, and everything is given back.
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

class FailingMemory final : public IGpuAllocator {
 public:
  explicit FailingMemory(int number) : fails_(number) {}
  void* allocate(const uint64_t size, const uint64_t, const AllocatorFlags) noexcept override {
    CUdeviceptr block = 0;
    if (++asked == fails_ || driver().cuMemAlloc_v2(&block, size) != CUDA_SUCCESS) return nullptr;
    ++live;
    return reinterpret_cast<void*>(block);
  }
  bool deallocate(void* const memory) noexcept override {
    if (memory == nullptr) return true;
    --live;
    return driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory)) == CUDA_SUCCESS;
  }
  int asked = 0, live = 0;

 private:
  int fails_;
};

// The call that failed; null: none did.
const char* live(const SmallNet& net, Logger& logger, IGpuAllocator& memory, const Batch& batch) {
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  runtime->setGpuAllocator(&memory);
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(net.plan->data(), net.plan->size()));
  if (engine == nullptr) return "deserializeCudaEngine";
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  if (context == nullptr) return "createExecutionContext";
  Stream stream;
  for (int i = 0; i < 2; ++i)  // the second from what the first recorded
    if (!batch.enqueue(*context, stream.handle)) return "enqueueV3";
  stream.wait();
  return nullptr;
}

TEST(CudaNoMemory, WhicheverAllocationFails) {
  const SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Batch batch(*net.engine, 3);
  FailingMemory enough(0);
  Logger quiet;
  ASSERT_EQ(live(net, quiet, enough, batch), nullptr) << quiet.errors();
  const std::vector<float> want = batch.results();
  ASSERT_GE(enough.asked, 2) << "weights and activations";
  EXPECT_EQ(enough.live, 0);
  for (int number = 1; number <= enough.asked; ++number) {
    SCOPED_TRACE(number);
    FailingMemory memory(number);
    Logger logger;
    batch.clear();
    const char* const failed = live(net, logger, memory, batch);
    EXPECT_NE(failed, nullptr) << "there was no memory";
    if (failed != nullptr) EXPECT_NE(logger.errors(), "") << failed << " failed without a word";
    EXPECT_EQ(memory.live, 0);
  }
  batch.clear();
  ASSERT_EQ(live(net, quiet, enough, batch), nullptr) << quiet.errors();
  EXPECT_EQ(batch.results(), want);
}

}  // namespace
}  // namespace wootz_test
