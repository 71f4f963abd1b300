// A shape that has run before runs again without touching the heap, whoever computes: our kernels, oneDNN, the pool of
// threads, the context, a host stream.
#include "steady/allocations.h"
#include "steady/feed.h"
#include "steady/networks.h"
#include "steady/sanitized.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

void expect_no_allocation(Bench& b, const Dims& first, const Dims& second) {
  wootz_config_set_option(b.config.get(), "timing", "0");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  void* stream = wootz_stream_create();
  Feed one(*engine, *context, first), two(*engine, *context, second);
  const auto round = [&](int times) {
    bool good = true;
    for (int i = 0; i < times; ++i) {
      for (Feed* feed : {&one, &two}) {
        good = feed->start(*context, Feed::By::kExecute, nullptr) && good;
        good = feed->start(*context, Feed::By::kEnqueue, nullptr) && good;
        good = feed->start(*context, Feed::By::kEnqueue, stream) && good;
        good = wootz_stream_synchronize(stream) == 0 && good;
      }
    }
    return good;
  };
  EXPECT_TRUE(round(2)) << b.logger.errors();
  count_allocations();
  const bool good = round(20);
  const long counted = allocations_counted();
  EXPECT_TRUE(good) << b.logger.errors();
  EXPECT_EQ(counted, 0) << "allocations in 120 inferences";
  EXPECT_EQ(wootz_stream_destroy(stream), 0);
}

TEST(Steady, TheCounterCounts) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's malloc";
  count_allocations();
  std::vector<int> some(1000);
  EXPECT_EQ(allocations_counted(), 1) << some.data();
}

// Neither does an inference of which nothing was set anew, in which nothing is copied either.
TEST(Steady, NothingSetAnew) {
  Net net("random");
  wootz_config_set_option(net.bench.config.get(), "timing", "0");
  Owned<ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  void* stream = wootz_stream_create();
  Feed feed(*engine, *context, net.shapes[0]);
  ASSERT_TRUE(feed.start(*context, Feed::By::kEnqueue, nullptr)) << net.bench.logger.errors();
  const auto enqueue = [&] {
    return context->enqueueV3(nullptr) && context->enqueueV3(static_cast<cudaStream_t>(stream)) &&
           wootz_stream_synchronize(stream) == 0;
  };
  EXPECT_TRUE(enqueue() && enqueue()) << net.bench.logger.errors();
  count_allocations();
  bool good = true;
  for (int i = 0; i < 50; ++i) good = enqueue() && good;
  const long counted = allocations_counted();
  EXPECT_TRUE(good) << net.bench.logger.errors();
  EXPECT_EQ(counted, 0) << "allocations in 100 inferences";
  EXPECT_EQ(wootz_stream_destroy(stream), 0);
}

TEST(Steady, Recogniser) {  // convolutions, attention, normalizations
  Bench b;
  parse(b, model_path("rec"));
  b.profile("x", {1, 3, 48, 32}, {1, 3, 48, 96}, {2, 3, 48, 160});
  expect_no_allocation(b, dims({1, 3, 48, 64}), dims({2, 3, 48, 96}));
}

TEST(Steady, Classifier) {  // depthwise convolutions, squeeze and excite
  Bench b;
  parse(b, model_path("cls"));
  b.profile("x", {1, 3, 48, 192}, {1, 3, 48, 192}, {4, 3, 48, 192});
  expect_no_allocation(b, dims({1, 3, 48, 192}), dims({3, 3, 48, 192}));
}

TEST(Steady, Detector) {
  Bench b;
  parse(b, model_path("det"));
  b.profile("x", {1, 3, 64, 64}, {1, 3, 96, 96}, {1, 3, 128, 128});
  expect_no_allocation(b, dims({1, 3, 64, 96}), dims({1, 3, 128, 64}));
}

}  // namespace
}  // namespace wootz_test
