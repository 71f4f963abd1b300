// Engines and contexts at work: many at once, in streams, with own memory, profiled, watched.
#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "api/dense.h"

namespace wootz_test {
namespace {

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

TEST(Running, BuildersAllocatorOfTheApplication) {
  CountingAllocator allocator;
  Dense b;
  b.builder->setGpuAllocator(&allocator);
  ASSERT_EQ(wootz_config_set_option(b.config.get(), "timing", "1"), 0);
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_GT(allocator.total, 0) << "tactics were measured in memory from elsewhere";
  EXPECT_EQ(allocator.live, 0);
  const Owned<ICudaEngine> engine(b.builder->buildEngineWithConfig(*b.network, *b.config));
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_GT(allocator.live, 0);
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
  b.network->getLayer(1)->setMetadata("from the application");
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
  for (const char* part :
       {"\"Layers\"", "\"Bindings\"", "\"TacticName\"", "product", "softmax", "\"Considered\"", "from the application"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  const std::string line = inspector->getLayerInformation(0, LayerInformationFormat::kONELINE);
  EXPECT_NE(line.find("product"), std::string::npos) << line;
  EXPECT_NE(std::string(wootz_build_report(b.builder.get())).find("\"passes\""), std::string::npos);

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

}  // namespace
}  // namespace wootz_test
