// Builds: progress, caches, streams and files; and who may go when.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "api/dense.h"
#include "steady/sanitized.h"

namespace wootz_test {
namespace {

class Monitor final : public IProgressMonitor {
 public:
  void phaseStart(const char* phase, const char* parent, int32_t) noexcept override {
    open[phase] = parent == nullptr ? "" : parent;
    ++started;
  }
  bool stepComplete(const char* phase, int32_t) noexcept override {
    EXPECT_EQ(open.count(phase), 1u) << phase;
    ++steps;
    return steps < stop_after;
  }
  void phaseFinish(const char* phase) noexcept override { EXPECT_EQ(open.erase(phase), 1u) << phase; }
  std::map<std::string, std::string> open;
  int started = 0, steps = 0, stop_after = 1 << 30;
};

TEST(Building, ProgressAndCancelling) {
  Dense b;
  Monitor monitor;
  b.config->setProgressMonitor(&monitor);
  ASSERT_NE(b.engine(), nullptr);
  EXPECT_TRUE(monitor.open.empty());
  EXPECT_GE(monitor.started, 3);
  const int whole = monitor.steps;
  for (int stop = 1; stop < whole; stop += 3) {
    monitor.steps = 0;
    monitor.stop_after = stop;
    EXPECT_EQ(b.engine(), nullptr) << "stopped after " << stop;
    EXPECT_TRUE(monitor.open.empty());
    EXPECT_NE(b.logger.take_errors().find("progress monitor"), std::string::npos);
  }
}

TEST(Building, TimingCacheGivesTheSamePlanAgain) {
  Dense b;
  wootz_config_set_option(b.config.get(), "timing", "1");
  b.config->setBuilderOptimizationLevel(1);
  Owned<ITimingCache> cache(b.config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(b.config->setTimingCache(*cache, false));
  Owned<IHostMemory> first(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(first, nullptr) << b.logger.errors();
  Owned<IHostMemory> bytes(cache->serialize());
  EXPECT_GT(bytes->size(), 0u);
  Owned<ITimingCache> copy(b.config->createTimingCache(bytes->data(), bytes->size()));
  ASSERT_NE(copy, nullptr) << b.logger.errors();
  EXPECT_EQ(copy->queryKeys(nullptr, 0), cache->queryKeys(nullptr, 0));
  ASSERT_TRUE(b.config->setTimingCache(*copy, false));
  b.config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  Owned<IHostMemory> second(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(second, nullptr) << b.logger.errors();
  ASSERT_EQ(first->size(), second->size());
  EXPECT_EQ(std::memcmp(first->data(), second->data(), first->size()), 0);
}

TEST(Building, ForcedTactic) {
  Dense b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  ASSERT_EQ(wootz_config_set_option(b.config.get(), "tactic", "product=no_such_kernel"), 0);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.take_errors().find("no_such_kernel"), std::string::npos);
  ASSERT_EQ(wootz_config_set_option(b.config.get(), "tactic", nullptr), 0);
  EXPECT_STREQ(wootz_config_get_option(b.config.get(), "tactic"), "");
  ASSERT_NE(b.engine(), nullptr);
}

TEST(Building, SourcesOfKernelsAreLeftOut) {
  Dense b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  const auto tactics = [&] {
    const Owned<ICudaEngine> engine = b.engine();
    if (engine == nullptr) return b.logger.take_errors();
    const Owned<IEngineInspector> inspector(engine->createEngineInspector());
    return std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON));
  };
  for (const auto& [left, stays] : {std::pair{"native", "onednn"}, {"onednn,chain", "native"}}) {
    ASSERT_EQ(wootz_config_set_option(b.config.get(), "leave_out", left), 0) << b.logger.errors();
    const std::string text = tactics();
    EXPECT_NE(text.find(std::string(stays) + ":"), std::string::npos) << text;
    EXPECT_EQ(text.find(std::string(left).substr(0, 6) + ":"), std::string::npos) << text;
  }
  for (const char* kept : {"reference", "no_such_source"}) {
    EXPECT_EQ(wootz_config_set_option(b.config.get(), "leave_out", kept), 1);
    EXPECT_NE(b.logger.take_errors().find(kept), std::string::npos);
  }
}

class Reader final : public IStreamReaderV2 {
 public:
  explicit Reader(const IHostMemory& plan) : plan_(plan) {}
  int64_t read(void* destination, int64_t nbBytes, cudaStream_t) noexcept override {
    const auto n = std::min<int64_t>(nbBytes, static_cast<int64_t>(plan_.size()) - at_);
    std::memcpy(destination, static_cast<char*>(plan_.data()) + at_, static_cast<size_t>(n));
    at_ += n;
    return fail ? -1 : n;
  }
  bool seek(int64_t, SeekPosition) noexcept override { return false; }
  bool fail = false;

 private:
  const IHostMemory& plan_;
  int64_t at_ = 0;
};

class Writer final : public IStreamWriter {
 public:
  int64_t write(const void* data, int64_t nbBytes) override {
    const auto* from = static_cast<const char*>(data);
    bytes.insert(bytes.end(), from, from + nbBytes);
    return short_by > 0 ? nbBytes - short_by : nbBytes;
  }
  std::vector<char> bytes;
  int64_t short_by = 0;
};

TEST(Building, PlansThroughStreamsAndFiles) {
  Dense b;
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  Writer writer;
  ASSERT_TRUE(b.builder->buildSerializedNetworkToStream(*b.network, *b.config, writer));
  ASSERT_EQ(writer.bytes.size(), plan->size());
  EXPECT_EQ(std::memcmp(writer.bytes.data(), plan->data(), plan->size()), 0) << "the same network, the same plan";
  writer.short_by = 1;
  EXPECT_FALSE(b.builder->buildSerializedNetworkToStream(*b.network, *b.config, writer));
  b.logger.take_errors();
  Owned<IRuntime> runtime(createInferRuntime(b.logger));
  Reader reader(*plan);
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(reader));
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IHostMemory> again(engine->serialize());
  ASSERT_EQ(again->size(), plan->size());
  EXPECT_EQ(std::memcmp(again->data(), plan->data(), plan->size()), 0);
  Reader broken(*plan);
  broken.fail = true;
  EXPECT_EQ(runtime->deserializeCudaEngine(broken), nullptr);
  b.logger.take_errors();

  const std::string path = testing::TempDir() + "/wootz_api_test.plan";
  {
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
    ASSERT_NE(file, nullptr);
    std::fwrite(plan->data(), 1, plan->size(), file.get());
  }
  Owned<ICudaEngine> mapped(static_cast<ICudaEngine*>(wootz_runtime_load_file(runtime.get(), path.c_str())));
  ASSERT_NE(mapped, nullptr) << b.logger.errors();
  std::remove(path.c_str());
  Owned<IExecutionContext> context(mapped->createExecutionContext());
  const Floats x = rows(2, 5);
  ASSERT_TRUE(context->setInputShape("x", dims({2, 8})));
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

TEST(Lifetimes, TheEngineNeedsNothingButTheLogger) {
  Logger logger;
  Floats x = rows(2, 1), want;
  Owned<ICudaEngine> engine, direct;
  {
    Dense b;
    want = b.expected(x);
    Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
    Owned<IRuntime> runtime(createInferRuntime(logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    std::memset(plan->data(), 0, plan->size());
    Owned<IBuilder> builder(createInferBuilder(logger));
    (void)builder;
  }
  ASSERT_NE(engine, nullptr);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({2, 8})));
  expect_near(run(*context, {{"x", x.data()}}, "y"), want);
  {
    // buildEngineWithConfig, whose network and weights are gone afterwards.
    Owned<IBuilder> builder(createInferBuilder(logger));
    Owned<INetworkDefinition> network(builder->createNetworkV2(0));
    Owned<IBuilderConfig> config(builder->createBuilderConfig());
    Floats w(4, 2);
    ITensor* in = network->addInput("x", DataType::kFLOAT, dims({4}));
    ITensor* c = network->addConstant(dims({4}), weights(w))->getOutput(0);
    ITensor* y = network->addElementWise(*in, *c, ElementWiseOperation::kPROD)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    direct.reset(builder->buildEngineWithConfig(*network, *config));
    config.reset();
    network.reset();
    builder.reset();
    w.assign(4, 99);
  }
  ASSERT_NE(direct, nullptr) << logger.errors();
  Owned<IExecutionContext> other(direct->createExecutionContext());
  const Floats in{1, 2, 3, 4};
  expect_near(run(*other, {{"x", in.data()}}, "y"), {2, 4, 6, 8});
}

// Bytes of the process that are in memory.
size_t resident() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0, all = 0;
  in >> all >> pages;
  return pages * 4096;
}

// A product, a convolution, a softmax: our kernels and oneDNN's. Each network has weights of its own.
TEST(Lifetimes, SlowThousandCyclesOfBuildRunDestroy) {
  const int cycles = kSanitized ? 300 : 1000;
  size_t settled = 0;
  Floats in(2 * 3 * 8 * 8), first;
  for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i));
  for (int i = 0; i < cycles; ++i) {
    Bench b;
    wootz_config_set_option(b.config.get(), "timing", "0");
    ITensor* x = b.input("x", {2, 3, 8, 8});
    const Floats kernel(8 * 3 * 9, 0.01F * static_cast<float>(i % 10)), matrix(8 * 4, 0.5F), offset{0, 1, 2, 3};
    ITensor* c = b.network->addConvolutionNd(*x, 8, dims({3, 3}), weights(kernel), kNone)->getOutput(0);
    IReduceLayer* mean = b.network->addReduce(*c, ReduceOperation::kAVG, 12, false);
    ITensor* m = b.network
                     ->addMatrixMultiply(*mean->getOutput(0), MatrixOperation::kNONE,
                                         *b.constant<float>({8, 4}, matrix), MatrixOperation::kNONE)
                     ->getOutput(0);
    ITensor* s =
        b.network->addElementWise(*m, *b.constant<float>({1, 4}, offset), ElementWiseOperation::kSUM)->getOutput(0);
    ISoftMaxLayer* softmax = b.network->addSoftMax(*s);
    softmax->setAxes(2);
    b.output(softmax, "y");
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats y = run(*context, {{"x", in.data()}}, "y");
    if (i == 0) first = y;
    if (i % 10 == 0) EXPECT_EQ(y, first) << "cycle " << i;
    if (i == 99) settled = resident();
  }
  if (!kSanitized) {  // a sanitizer keeps freed memory for a while, and looks for leaks itself
    EXPECT_LT(resident(), settled + (size_t{8} << 20)) << "after 100 cycles: " << settled;
    std::printf("resident after 100 cycles %zu KiB, after %d %zu KiB\n", settled >> 10, cycles, resident() >> 10);
  }
}

}  // namespace
}  // namespace wootz_test
