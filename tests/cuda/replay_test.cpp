// What an inference on the GPU costs the host: recorded once a shape, replayed from then on.
#include <chrono>

#include "cuda/locks.h"
#include "cuda/on_device.h"
#include "steady/allocations.h"
#include "steady/sanitized.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

TEST(CudaReplay, AShapeSeenBeforeTakesNoMemoryNoLockAndNoWait) {
  if (real_gpu()) GTEST_SKIP() << "counted on the emulator";
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch one(*net.engine, 1), three(*net.engine, 3);
  Stream stream;
  for (int i = 0; i < 2; ++i)
    for (Batch* b : {&one, &three}) ASSERT_TRUE(b->enqueue(*context, stream.handle)) << net.bench.logger.errors();
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  if (!kSanitized) count_allocations();
  count_locks();
  bool good = true;
  for (int i = 0; i < 50; ++i)
    for (Batch* b : {&one, &three}) good = b->enqueue(*context, stream.handle) && good;
  const long locks = locks_counted();
  const long allocations = kSanitized ? 0 : allocations_counted();
  const cuda::EmulatorCounts after = cuda::emulator_counts();
  EXPECT_TRUE(good) << net.bench.logger.errors();
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, after.kernels - before.kernels + after.pointers - before.pointers + after.replays - before.replays)
      << "beside the emulator's own, one a kernel, one a replay and one a question about an address";
  EXPECT_EQ(after.replays - before.replays, 100);
  EXPECT_EQ(after.waits, before.waits);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.launches, before.launches) << "recorded work is not launched again";
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.modules, before.modules);
}

struct Times final : IProfiler {
  void reportLayerTime(const char* layer, float ms) noexcept override {
    names.emplace_back(layer);
    EXPECT_TRUE(ms >= 0) << layer;
    total += ms;
  }
  std::vector<std::string> names;
  double total = 0;
};

// Layers are timed inside of what is replayed: nothing is launched one by one for it, and results stay what they are.
TEST(CudaReplay, AProfilerSeesEveryLayerOfAReplay) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  const Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch b(*net.engine, 3);
  Stream stream;
  ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  const std::vector<float> want = b.results();
  Times times;
  context->setProfiler(&times);
  const auto layers = static_cast<size_t>(net.engine->getNbLayers());
  ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  EXPECT_EQ(times.names.size(), layers) << "the call waits, since it reports";
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  b.clear();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  EXPECT_EQ(b.results(), want);
  EXPECT_EQ(times.names.size(), 6 * layers);
  EXPECT_GT(times.total, 0);
  if (!real_gpu()) {
    const cuda::EmulatorCounts after = cuda::emulator_counts();
    EXPECT_EQ(after.replays - before.replays, 5);
    EXPECT_EQ(after.launches, before.launches);
    EXPECT_EQ(after.instantiations, before.instantiations);
  }
  // Not waited for until it is asked.
  context->setEnqueueEmitsProfile(false);
  ASSERT_TRUE(b.enqueue(*context, stream.handle));
  EXPECT_EQ(times.names.size(), 6 * layers);
  EXPECT_TRUE(context->reportToProfiler());
  EXPECT_EQ(times.names.size(), 7 * layers);
  EXPECT_FALSE(context->reportToProfiler());
  net.bench.logger.take_errors();
  // And without it, it is the recording of before.
  context->setProfiler(nullptr);
  b.clear();
  ASSERT_TRUE(b.enqueue(*context, stream.handle));
  stream.wait();
  EXPECT_EQ(b.results(), want);
  EXPECT_EQ(times.names.size(), 7 * layers);
}

// A graph of the application's tells the times of each of its launches.
TEST(CudaReplay, AProfilerSeesWhatAnApplicationCaptured) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  const Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Times times;
  context->setProfiler(&times);
  context->setEnqueueEmitsProfile(false);
  Batch b(*net.engine, 4);
  Stream stream;
  ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  const std::vector<float> want = b.results();
  ASSERT_TRUE(context->reportToProfiler());
  const cuda::Driver& d = driver();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(d.cuStreamBeginCapture_v2(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  const bool captured = b.enqueue(*context, stream.handle);
  ASSERT_EQ(d.cuStreamEndCapture(stream.handle, &graph), CUDA_SUCCESS);
  ASSERT_TRUE(captured) << net.bench.logger.errors();
  ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  const auto layers = static_cast<size_t>(net.engine->getNbLayers());
  for (size_t i = 0; i < 3; ++i) {
    b.clear();
    ASSERT_EQ(d.cuGraphLaunch(exec, stream.handle), CUDA_SUCCESS);
    stream.wait();
    EXPECT_EQ(b.results(), want);
    EXPECT_TRUE(context->reportToProfiler()) << net.bench.logger.errors();
    EXPECT_EQ(times.names.size(), (2 + i) * layers);
  }
  d.cuGraphExecDestroy(exec);
  d.cuGraphDestroy(graph);
}

// A part of the device's cache for activations, in what is replayed too.
TEST(CudaReplay, ActivationsMayPersistInTheCache) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  const Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch b(*net.engine, 3);
  Stream stream;
  ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  const std::vector<float> want = b.results();
  const size_t most = wootz_device_persisting_cache(net.engine.get());
  if (most == 0) GTEST_SKIP() << "this GPU has no such cache";
  context->setPersistentCacheLimit(most + 1);
  EXPECT_NE(net.bench.logger.take_errors().find(std::to_string(most)), std::string::npos);
  EXPECT_EQ(context->getPersistentCacheLimit(), 0U);
  const long before = cuda::emulator_counts().windows;
  context->setPersistentCacheLimit(most / 2);
  b.clear();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  EXPECT_EQ(b.results(), want);
  if (!real_gpu()) EXPECT_EQ(cuda::emulator_counts().windows - before, 1) << "once, when it was recorded";
}

TEST(CudaReplay, OtherAddressesUpdateTheRecordingOfTheShape) {
  if (real_gpu()) GTEST_SKIP() << "counted on the emulator";
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch a(*net.engine, 2), b(*net.engine, 2);
  ASSERT_TRUE(a.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const std::vector<float> want = a.results();
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  ASSERT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
  const cuda::EmulatorCounts after = cuda::emulator_counts();
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.updates, before.updates + 1);
  EXPECT_EQ(b.results(), want);
}

// A program that makes new outputs while it has the last ones has them in one of two buffers, or of few.
TEST(CudaReplay, AddressesThatComeBackAreNotRecordedAgain) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch batches[] = {{*net.engine, 2}, {*net.engine, 2}, {*net.engine, 2}};
  std::vector<float> want;
  cuda::EmulatorCounts before;
  for (int round = 0; round < 5; ++round) {
    if (round == 2) before = cuda::emulator_counts();
    for (Batch& b : batches) {
      b.clear();
      ASSERT_TRUE(b.enqueue(*context, nullptr)) << net.bench.logger.errors();
      if (want.empty()) want = b.results();
      EXPECT_EQ(b.results(), want);
    }
  }
  const cuda::EmulatorCounts after = cuda::emulator_counts();
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.updates, before.updates);
}

TEST(CudaReplay, EveryBatchSizeKeepsItsRecording) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<std::vector<float>> first;
  const int most = real_gpu() ? 32 : 10;  // the emulator runs the C++ compiler for each
  for (int n = 1; n <= most; ++n) batches.push_back(std::make_unique<Batch>(*net.engine, n));
  for (auto& b : batches) {
    ASSERT_TRUE(b->enqueue(*context, nullptr)) << net.bench.logger.errors();
    first.push_back(b->results());
    b->clear();
  }
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  for (size_t i = 0; i < batches.size(); ++i) {
    ASSERT_TRUE(batches[i]->enqueue(*context, nullptr));
    EXPECT_EQ(batches[i]->results(), first[i]) << "batch " << i + 1;
  }
  const cuda::EmulatorCounts after = cuda::emulator_counts();
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.modules, before.modules) << "something was compiled again";
}

// The second visit of a batch size is as quick as those after it.
TEST(CudaReplay, NoStallAtTheSecondVisitSlow) {
  if (!real_gpu()) GTEST_SKIP() << "times a GPU";
  using Clock = std::chrono::steady_clock;
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  std::vector<std::unique_ptr<Batch>> batches;
  for (int n = 1; n <= 32; ++n) batches.push_back(std::make_unique<Batch>(*net.engine, n));
  Stream stream;
  const auto timed = [&](Batch& b) {
    const Clock::time_point start = Clock::now();
    EXPECT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
    stream.wait();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  std::vector<double> firsts, seconds, all;
  for (auto& b : batches) firsts.push_back(timed(*b));
  for (auto& b : batches) seconds.push_back(timed(*b));
  for (int round = 0; round < 10; ++round)
    for (auto& b : batches) all.push_back(timed(*b));
  std::sort(all.begin(), all.end());
  const double median = all[all.size() / 2], worst = *std::max_element(seconds.begin(), seconds.end());
  std::printf("batch 1 to 32: first visit up to %.0f us, second up to %.1f us, later visits' median %.1f us\n",
              *std::max_element(firsts.begin(), firsts.end()), worst, median);
  EXPECT_LE(worst, 2 * median);
}

TEST(CudaReplay, AnApplicationMayCaptureAnInference) {
  SmallNet net;
  ASSERT_NE(net.engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  Batch b(*net.engine, 4), unseen(*net.engine, 5);
  Stream stream;
  ASSERT_TRUE(b.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
  const std::vector<float> want = b.results();
  b.clear();

  const cuda::Driver& d = driver();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(d.cuStreamBeginCapture_v2(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  const bool captured = b.enqueue(*context, stream.handle);
  ASSERT_EQ(d.cuStreamEndCapture(stream.handle, &graph), CUDA_SUCCESS);
  ASSERT_TRUE(captured) << net.bench.logger.errors();
  EXPECT_NE(b.results(), want) << "it ran while it was captured";
  ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    b.clear();
    ASSERT_EQ(d.cuGraphLaunch(exec, stream.handle), CUDA_SUCCESS);
    stream.wait();
    EXPECT_EQ(b.results(), want);
  }
  d.cuGraphExecDestroy(exec);
  d.cuGraphDestroy(graph);

  // What would have to compile and load is refused, and the capture is not spoilt by it.
  ASSERT_EQ(d.cuStreamBeginCapture_v2(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_FALSE(unseen.enqueue(*context, stream.handle));
  EXPECT_EQ(d.cuStreamEndCapture(stream.handle, &graph), CUDA_SUCCESS);
  EXPECT_NE(net.bench.logger.take_errors().find("before a stream is captured"), std::string::npos);
  d.cuGraphDestroy(graph);
  ASSERT_TRUE(unseen.enqueue(*context, stream.handle)) << net.bench.logger.errors();
  stream.wait();
}

}  // namespace
}  // namespace wootz_test
