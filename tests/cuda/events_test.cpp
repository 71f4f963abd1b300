// IExecutionContext::setInputConsumedEvent on a GPU: events of the driver are those of CUDA's runtime, which need not
// be there.
#include <memory>

#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

struct Mark {
  Mark() { EXPECT_EQ(driver().cuEventCreate(&handle, CU_EVENT_DEFAULT), CUDA_SUCCESS); }
  ~Mark() { driver().cuEventDestroy_v2(handle); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  cudaEvent_t event() const { return reinterpret_cast<cudaEvent_t>(handle); }
  // Whether it was recorded after the other one.
  bool after(const Mark& other) const {
    float ms = -1;
    return driver().cuEventElapsedTime(&ms, other.handle, handle) == CUDA_SUCCESS && ms >= 0;
  }
  CUevent handle = nullptr;
};

TEST(CudaEvents, TheConsumedEventIsRecordedAfterEachInference) {
  SmallNet net;
  const Owned<IExecutionContext> context(net.engine->createExecutionContext());
  const Stream stream;
  const Batch batch(*net.engine, 1 + static_cast<int64_t>(wootz::test_seed() % 32));
  const Mark consumed, before;
  ASSERT_TRUE(context->setInputConsumedEvent(consumed.event())) << net.bench.logger.errors();
  EXPECT_EQ(context->getInputConsumedEvent(), consumed.event());
  ASSERT_TRUE(batch.enqueue(*context, stream.handle));
  stream.wait();
  const std::vector<float> want = batch.results();
  for (int i = 0; i < 4; ++i) {  // recorded and replayed
    ASSERT_EQ(driver().cuEventRecord(before.handle, stream.handle), CUDA_SUCCESS);
    EXPECT_FALSE(consumed.after(before)) << "of the inference before";
    ASSERT_TRUE(batch.enqueue(*context, stream.handle));
    EXPECT_EQ(driver().cuEventSynchronize(consumed.handle), CUDA_SUCCESS);
    EXPECT_TRUE(consumed.after(before));
    EXPECT_EQ(batch.results(), want);
  }
  // None any more.
  ASSERT_TRUE(context->setInputConsumedEvent(nullptr));
  const Mark last;
  ASSERT_EQ(driver().cuEventRecord(last.handle, stream.handle), CUDA_SUCCESS);
  ASSERT_TRUE(batch.enqueue(*context, stream.handle));
  stream.wait();
  EXPECT_FALSE(consumed.after(last));
}

}  // namespace
}  // namespace wootz_test
