// The same question gets the same answer: plans byte for byte, results bit for bit.
#include <thread>

#include "steady/feed.h"
#include "steady/networks.h"
#include "steady/sanitized.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

class Repeat : public testing::TestWithParam<const char*> {};
std::string name_of(const testing::TestParamInfo<const char*>& info) { return info.param; }

TEST_P(Repeat, SamePlanFromTheSameTimingCache) {
  std::vector<char> first, cache;
  for (int round = 0; round < 2; ++round) {
    Net net(GetParam());  // from nothing each time
    Bench& b = net.bench;
    wootz_config_set_option(b.config.get(), "timing", "1");
    b.config->setBuilderOptimizationLevel(1);
    Owned<ITimingCache> timings(b.config->createTimingCache(cache.data(), cache.size()));
    ASSERT_NE(timings, nullptr) << b.logger.errors();
    ASSERT_TRUE(b.config->setTimingCache(*timings, false));
    Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
    ASSERT_NE(plan, nullptr) << b.logger.errors();
    const std::vector<char> bytes(static_cast<char*>(plan->data()), static_cast<char*>(plan->data()) + plan->size());
    if (round == 0) {
      first = bytes;
      Owned<IHostMemory> kept(timings->serialize());
      cache.assign(static_cast<char*>(kept->data()), static_cast<char*>(kept->data()) + kept->size());
    } else {
      EXPECT_TRUE(bytes == first) << bytes.size() << " and " << first.size() << " bytes";
    }
  }
}

TEST_P(Repeat, SameBitsInAHundredRuns) {
  for (const char* threads : {"1", "2"}) {
    SCOPED_TRACE(threads);
    Net net(GetParam());
    wootz_config_set_option(net.bench.config.get(), "threads", threads);
    Owned<ICudaEngine> engine = net.bench.engine();
    ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    for (const Dims& shape : net.shapes) {
      Feed first(*engine, *context, shape), again(*engine, *context, shape);
      ASSERT_TRUE(first.start(*context, Feed::By::kEnqueue, nullptr)) << net.bench.logger.errors();
      const int runs = kSanitized ? 5 : 100;
      for (int i = 0; i < runs; ++i) {
        again.clear();
        ASSERT_TRUE(again.start(*context, i % 2 == 0 ? Feed::By::kExecute : Feed::By::kEnqueue, nullptr));
        ASSERT_TRUE(again.same_results(first)) << "run " << i << " of shape " << shape.d[0] << "x...";
      }
    }
  }
}

// Eight contexts of one engine on eight threads, each with inputs and shapes of its own, against one after the other.
TEST_P(Repeat, SameBitsInEightContextsOnEightThreads) {
  Net net(GetParam());
  Owned<ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  constexpr size_t kThreads = 8;
  std::vector<Feed> serial, parallel;
  Owned<IExecutionContext> alone(engine->createExecutionContext());
  for (size_t t = 0; t < kThreads; ++t) {
    const Dims& shape = net.shapes[t % net.shapes.size()];
    serial.emplace_back(*engine, *alone, shape, static_cast<unsigned>(t));
    parallel.emplace_back(*engine, *alone, shape, static_cast<unsigned>(t));
    ASSERT_TRUE(serial.back().start(*alone, Feed::By::kExecute, nullptr)) << net.bench.logger.errors();
  }
  std::vector<int> bad(kThreads, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Owned<IExecutionContext> context(engine->createExecutionContext());
      for (int i = 0; i < (kSanitized ? 3 : 10); ++i) {
        parallel[t].clear();
        bad[t] += !parallel[t].start(*context, Feed::By::kEnqueue, nullptr) || !parallel[t].same_results(serial[t]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, std::vector<int>(kThreads, 0)) << net.bench.logger.errors();
}

// Four host streams; each thread queues for two contexts on two of them, and nothing waits in between.
TEST_P(Repeat, SameBitsOnSeveralHostStreams) {
  Net net(GetParam());
  Owned<ICudaEngine> engine = net.bench.engine();
  ASSERT_NE(engine, nullptr) << net.bench.logger.errors();
  constexpr size_t kContexts = 8, kStreams = 4;
  std::vector<void*> streams;
  for (size_t s = 0; s < kStreams; ++s) streams.push_back(wootz_stream_create());
  Owned<IExecutionContext> alone(engine->createExecutionContext());
  std::vector<Feed> serial, parallel;
  std::vector<Owned<IExecutionContext>> contexts;
  for (size_t c = 0; c < kContexts; ++c) {
    contexts.emplace_back(engine->createExecutionContext());
    const Dims& shape = net.shapes[c % net.shapes.size()];
    serial.emplace_back(*engine, *alone, shape, static_cast<unsigned>(c));
    parallel.emplace_back(*engine, *alone, shape, static_cast<unsigned>(c));
    ASSERT_TRUE(serial.back().start(*alone, Feed::By::kExecute, nullptr)) << net.bench.logger.errors();
    parallel.back().clear();
  }
  std::vector<int> bad(kContexts, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kContexts / 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < (kSanitized ? 2 : 8); ++i)
        for (const size_t c : {2 * t, 2 * t + 1})
          bad[c] +=
              !parallel[c].start(*contexts[c], Feed::By::kEnqueue, streams[(c + static_cast<size_t>(i)) % kStreams]);
    });
  for (std::thread& thread : threads) thread.join();
  for (void* stream : streams) EXPECT_EQ(wootz_stream_destroy(stream), 0) << net.bench.logger.errors();
  for (size_t c = 0; c < kContexts; ++c) bad[c] += !parallel[c].same_results(serial[c]);
  EXPECT_EQ(bad, std::vector<int>(kContexts, 0)) << net.bench.logger.errors();
}

INSTANTIATE_TEST_SUITE_P(Networks, Repeat, testing::Values("cls", "rec", "random"), name_of);

}  // namespace
}  // namespace wootz_test
