// Engines and contexts at work: many at once, in streams, with own memory, profiled, watched; and who may go when.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

// y = softmax(x w) over 16 columns; x [-1, 8].
struct Dense : Bench {
  Dense() {
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) - 3;
    wootz_config_set_option(config.get(), "timing", "0");
    ITensor* x = input("x", {-1, 8});
    ITensor* c = network->addConstant(dims({8, 16}), weights(w))->getOutput(0);
    ILayer* product = network->addMatrixMultiply(*x, MatrixOperation::kNONE, *c, MatrixOperation::kNONE);
    product->setName("product");
    product->getOutput(0)->setName("logits");
    logits = product->getOutput(0);
    ISoftMaxLayer* softmax = network->addSoftMax(*logits);
    softmax->setAxes(1U << 1);
    softmax->setName("softmax");
    output(softmax, "y");
    profile("x", {1, 8}, {4, 8}, {64, 8});
  }
  Floats expected(const Floats& x) const {
    Floats y;
    for (size_t r = 0; r < x.size() / 8; ++r) {
      Floats row(16, 0);
      float sum = 0;
      for (size_t c = 0; c < 16; ++c) {
        for (size_t k = 0; k < 8; ++k) row[c] += x[r * 8 + k] * w[k * 16 + c];
        row[c] = std::exp(row[c]);
        sum += row[c];
      }
      for (float v : row) y.push_back(v / sum);
    }
    return y;
  }
  Floats w = Floats(8 * 16);
  ITensor* logits = nullptr;
};

Floats rows(size_t n, float seed) {
  Floats x(n * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(seed + static_cast<float>(i)) * 0.3F;
  return x;
}

TEST(Running, EightContextsOnEightThreads) {
  Dense b;
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Owned<IExecutionContext> context(engine->createExecutionContext());
      for (int i = 0; i < 40; ++i) {
        const auto n = static_cast<size_t>(1 + (t * 7 + i) % 32);
        const Floats x = rows(n, static_cast<float>(t * 100 + i)), want = b.expected(x);
        Floats y(n * 16);
        bool ok = context->setInputShape("x", dims({static_cast<int64_t>(n), 8})) &&
                  context->setInputTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()) &&
                  context->enqueueV3(nullptr);
        for (size_t e = 0; e < y.size(); ++e) ok = ok && std::abs(y[e] - want[e]) <= 1e-5F;
        failures += !ok;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0) << b.logger.errors();
}

TEST(Running, Streams) {
  Dense b;
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  void* stream = wootz_stream_create();
  ASSERT_NE(stream, nullptr);
  // Queued one after the other with other addresses and shapes each: each takes what was set when it was queued.
  std::vector<Floats> x, y;
  for (size_t i = 1; i <= 10; ++i) {
    x.push_back(rows(i, static_cast<float>(i)));
    y.emplace_back(i * 16);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(i) + 1, 8})));
    context->setInputTensorAddress("x", x[i].data());
    context->setTensorAddress("y", y[i].data());
    ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(stream)));
  }
  EXPECT_EQ(wootz_stream_synchronize(stream), 0);
  for (size_t i = 0; i < x.size(); ++i) expect_near(y[i], b.expected(x[i]));
  // A context may go while its work is queued: it waits.
  ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(stream)));
  context.reset();
  EXPECT_EQ(wootz_stream_destroy(stream), 0);
  EXPECT_EQ(wootz_stream_synchronize(stream), 1);
}

TEST(Running, ExecuteV2AndRepeatability) {
  Dense b;
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  Floats x = rows(4, 1), y(64), again(64);
  ASSERT_TRUE(context->setInputShape("x", dims({4, 8})));
  void* bindings[2] = {x.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  expect_near(y, b.expected(x));
  bindings[1] = again.data();
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(y, again) << "bit for bit";
}

TEST(Running, OwnMemory) {
  Dense b;
  Owned<ICudaEngine> engine = b.engine();
  Owned<IExecutionContext> context(engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
  ASSERT_NE(context, nullptr);
  const Floats x = rows(2, 1);
  ASSERT_TRUE(context->setInputShape("x", dims({2, 8})));
  const size_t need = context->updateDeviceMemorySizeForShapes();
  EXPECT_LE(need, static_cast<size_t>(engine->getDeviceMemorySizeV2()));
  ASSERT_GT(need, 0u);
  Floats y(32);
  context->setInputTensorAddress("x", x.data());
  context->setTensorAddress("y", y.data());
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(b.logger.take_errors().find(std::to_string(need)), std::string::npos);
  std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(256, (need + 255) / 256 * 256), std::free);
  context->setDeviceMemoryV2(memory.get(), 1);
  EXPECT_FALSE(context->enqueueV3(nullptr)) << "too small";
  b.logger.take_errors();
  context->setDeviceMemoryV2(memory.get(), static_cast<int64_t>(need));
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

class CountingAllocator final : public IGpuAllocator {
 public:
  void* allocate(const uint64_t size, const uint64_t alignment, const AllocatorFlags) noexcept override {
    if (size > limit) return nullptr;
    ++live;
    ++total;
    const uint64_t a = alignment == 0 ? 64 : alignment;
    return std::aligned_alloc(a, (size + a - 1) / a * a);
  }
  bool deallocate(void* const memory) noexcept override {
    if (memory != nullptr) --live;
    std::free(memory);
    return true;
  }
  std::atomic<int> live{0}, total{0};
  uint64_t limit = UINT64_MAX;
};

TEST(Running, AllocatorOfTheApplication) {
  CountingAllocator allocator;
  Dense b;
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  Owned<IRuntime> runtime(createInferRuntime(b.logger));
  runtime->setGpuAllocator(&allocator);
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  {
    Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_GT(allocator.total, 0);
    const Floats x = rows(3, 1);
    ASSERT_TRUE(context->setInputShape("x", dims({3, 8})));
    expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
  }
  EXPECT_EQ(allocator.live, 0);
  allocator.limit = 0;
  EXPECT_EQ(engine->createExecutionContext(), nullptr);
  EXPECT_NE(b.logger.errors().find("refused"), std::string::npos);
}

class Times final : public IProfiler {
 public:
  void reportLayerTime(const char* layerName, float ms) noexcept override {
    names.emplace_back(layerName);
    total += ms;
  }
  std::vector<std::string> names;
  float total = 0;
};

TEST(Running, ProfilerAndInspector) {
  Dense b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getProfilingVerbosity(), ProfilingVerbosity::kDETAILED);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  Times times;
  context->setProfiler(&times);
  const Floats x = rows(2, 1);
  ASSERT_TRUE(context->setInputShape("x", dims({2, 8})));
  run(*context, {{"x", x.data()}}, "y");
  ASSERT_EQ(times.names.size(), static_cast<size_t>(engine->getNbLayers()));
  EXPECT_GE(times.total, 0.F);
  context->setEnqueueEmitsProfile(false);
  run(*context, {{"x", x.data()}}, "y");
  EXPECT_EQ(times.names.size(), static_cast<size_t>(engine->getNbLayers()));
  EXPECT_TRUE(context->reportToProfiler());
  EXPECT_EQ(times.names.size(), 2 * static_cast<size_t>(engine->getNbLayers()));
  EXPECT_FALSE(context->reportToProfiler());
  b.logger.take_errors();

  Owned<IEngineInspector> inspector(engine->createEngineInspector());
  ASSERT_TRUE(inspector->setExecutionContext(context.get()));
  const std::string json = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  for (const char* part : {"\"Layers\"", "\"Bindings\"", "\"TacticName\"", "product", "softmax", "\"Considered\""})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  const std::string line = inspector->getLayerInformation(0, LayerInformationFormat::kONELINE);
  EXPECT_NE(line.find("product"), std::string::npos) << line;
  EXPECT_NE(std::string(wootz_build_report(b.builder.get())).find("\"Passes\""), std::string::npos);

  Dense names;
  Owned<ICudaEngine> brief = names.engine();
  Owned<IEngineInspector> little(brief->createEngineInspector());
  EXPECT_EQ(std::string(little->getEngineInformation(LayerInformationFormat::kJSON)).find("TacticName"),
            std::string::npos);
  EXPECT_FALSE(little->setExecutionContext(context.get())) << "another engine's";
}

class Listener final : public IDebugListener {
 public:
  bool processDebugTensor(const void* addr, TensorLocation, DataType type, const Dims& shape, const char* name,
                          cudaStream_t) override {
    EXPECT_EQ(type, DataType::kFLOAT);
    const auto* data = static_cast<const float*>(addr);
    seen[name].assign(data, data + volume(shape));
    return go_on;
  }
  std::map<std::string, Floats> seen;
  bool go_on = true;
};

TEST(Running, DebugTensors) {
  Dense b;
  ASSERT_TRUE(b.network->markDebug(*b.logits));
  EXPECT_TRUE(b.network->isDebugTensor(*b.logits));
  b.network->markUnfusedTensorsAsDebugTensors();
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getNbIOTensors(), 2) << "a debug tensor is no output";
  EXPECT_TRUE(engine->isDebugTensor("logits"));
  EXPECT_FALSE(engine->isDebugTensor("y"));
  Owned<IExecutionContext> context(engine->createExecutionContext());
  Listener listener;
  ASSERT_TRUE(context->setDebugListener(&listener));
  const Floats x = rows(1, 1);
  ASSERT_TRUE(context->setInputShape("x", dims({1, 8})));
  run(*context, {{"x", x.data()}}, "y");
  EXPECT_TRUE(listener.seen.empty()) << "off at first";
  ASSERT_TRUE(context->setTensorDebugState("logits", true));
  EXPECT_TRUE(context->getDebugState("logits"));
  run(*context, {{"x", x.data()}}, "y");
  Floats want(16, 0);
  for (size_t c = 0; c < 16; ++c)
    for (size_t k = 0; k < 8; ++k) want[c] += x[k] * b.w[k * 16 + c];
  expect_near(listener.seen["logits"], want);
  listener.go_on = false;
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(b.logger.take_errors().find("debug listener"), std::string::npos);
  listener = Listener();
  ASSERT_TRUE(context->setAllTensorsDebugState(false));
  ASSERT_TRUE(context->setUnfusedTensorsDebugState(true));
  run(*context, {{"x", x.data()}}, "y");
  EXPECT_FALSE(listener.seen.empty());
}

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

TEST(Lifetimes, SlowThousandCyclesOfBuildRunDestroy) {
  const char* fast = std::getenv("WOOTZ_TEST_FAST");
  const int cycles = fast != nullptr ? 50 : 1000;
  for (int i = 0; i < cycles; ++i) {
    Bench b;
    wootz_config_set_option(b.config.get(), "timing", "0");
    ITensor* x = b.input("x", {2});
    const Floats w{1, static_cast<float>(i)};
    b.output(b.network->addElementWise(*x, *b.network->addConstant(dims({2}), weights(w))->getOutput(0),
                                       ElementWiseOperation::kSUM),
             "y");
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats in{1, 1};
    expect_near(run(*context, {{"x", in.data()}}, "y"), {2, 1 + static_cast<float>(i)});
  }
}

}  // namespace
}  // namespace wootz_test
