// The event by which an application learns that its inputs were read.
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

TEST(CudaEvents, InputsMayBeWrittenOverOnceTheyAreConsumed) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  const Stream stream;
  Batch batch(*net.engine, 4);
  const Owned<nvinfer1::IExecutionContext> context(net.engine->createExecutionContext());
  ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  const std::vector<float> want = batch.results();
  batch.clear();
  CUevent event = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&event, 0), CUDA_SUCCESS);
  const auto consumed = reinterpret_cast<cudaEvent_t>(event);
  EXPECT_TRUE(context->setInputConsumedEvent(consumed)) << net.bench.logger.errors();
  EXPECT_EQ(context->getInputConsumedEvent(), consumed);
  ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  ASSERT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS);
  const std::vector<float> zeros(4 * 512, 0.F);
  void* const x = const_cast<void*>(context->getTensorAddress("x"));
  EXPECT_EQ(wootz_device_copy(net.engine.get(), x, zeros.data(), zeros.size() * sizeof(float)), 0);
  stream.wait();
  EXPECT_EQ(batch.results(), want);
  EXPECT_TRUE(context->setInputConsumedEvent(nullptr));
  EXPECT_EQ(context->getInputConsumedEvent(), nullptr);
  EXPECT_EQ(driver().cuEventDestroy_v2(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace wootz_test
