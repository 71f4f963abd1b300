// Auxiliary streams through the public API: who decides on them, and that they change nothing but the time.
#include <cstring>

#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// Three branches of two convolutions on one input, added up: [1, 8, 16, 16] to the same.
class Branches {
 public:
  explicit Branches(int aux, ITimingCache* cache = nullptr, bool measured = false) : gpu_(real_gpu()) {
    std::mt19937 rng(11);
    INetworkDefinition& n = *bench.network;
    ITensor* x = bench.input("x", {1, 8, 16, 16});
    ITensor* sum = nullptr;
    for (int branch = 0; branch < 3; ++branch) {
      ITensor* y = x;
      for (int layer = 0; layer < 2; ++layer) {
        filters_.emplace_back(8 * 8 * 9);
        for (float& v : filters_.back()) v = std::uniform_real_distribution<float>(-0.2F, 0.2F)(rng);
        auto* conv = n.addConvolutionNd(*y, 8, dims({3, 3}), weights(filters_.back()), kNone);
        conv->setPaddingNd(dims({1, 1}));
        y = n.addActivation(*conv->getOutput(0), ActivationType::kTANH)->getOutput(0);
      }
      sum = sum == nullptr ? y : n.addElementWise(*sum, *y, ElementWiseOperation::kSUM)->getOutput(0);
    }
    bench.output(n.addActivation(*sum, ActivationType::kTANH), "y");
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
    // Siblings of one input would become one convolution.
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "disable_passes", "merge_convolutions"), 0);
    if (!measured) EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    if (aux >= 0) bench.config->setMaxAuxStreams(aux);
    if (cache != nullptr) EXPECT_TRUE(bench.config->setTimingCache(*cache, false));
    plan.reset(bench.builder->buildSerializedNetwork(n, *bench.config));
    EXPECT_NE(plan, nullptr) << bench.logger.errors();
    if (plan == nullptr) return;
    Owned<IRuntime> runtime(createInferRuntime(bench.logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
    if (engine == nullptr) return;
    std::vector<float> values(kVolume);
    for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(rng);
    x_ = wootz_device_allocate(engine.get(), kVolume * sizeof(float));
    y_ = wootz_device_allocate(engine.get(), kVolume * sizeof(float));
    EXPECT_EQ(wootz_device_copy(engine.get(), x_, values.data(), kVolume * sizeof(float)), 0);
    context.reset(engine->createExecutionContext());
    EXPECT_TRUE(context->setInputTensorAddress("x", x_) && context->setTensorAddress("y", y_));
  }
  ~Branches() {
    if (engine == nullptr) return;
    wootz_device_free(engine.get(), x_);
    wootz_device_free(engine.get(), y_);
  }
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  bool enqueue(const Stream& stream) { return context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle)); }
  std::vector<float> results() {
    std::vector<float> values(kVolume);
    EXPECT_EQ(wootz_device_copy(engine.get(), values.data(), y_, kVolume * sizeof(float)), 0);
    return values;
  }
  void clear() {
    const std::vector<float> none(kVolume, -9);
    EXPECT_EQ(wootz_device_copy(engine.get(), y_, none.data(), kVolume * sizeof(float)), 0);
  }
  std::vector<float> results_of_a_run() {
    Stream stream;
    clear();
    EXPECT_TRUE(enqueue(stream)) << bench.logger.errors();
    stream.wait();
    return results();
  }

  Bench bench;
  Owned<IHostMemory> plan;
  Owned<ICudaEngine> engine;
  Owned<IExecutionContext> context;

 private:
  static constexpr size_t kVolume = 8 * 16 * 16;
  std::vector<std::vector<float>> filters_;
  bool gpu_;
  void *x_ = nullptr, *y_ = nullptr;
};

TEST(CudaStreamsApi, ResultsAreThoseOfOneStream) {
  Branches none(0), two(2), many(1000);
  ASSERT_TRUE(none.engine && two.engine && many.engine);
  EXPECT_EQ(none.engine->getNbAuxStreams(), 0);
  EXPECT_EQ(two.engine->getNbAuxStreams(), 2);
  EXPECT_EQ(many.engine->getNbAuxStreams(), 2) << "there are three branches";
  const std::vector<float> want = none.results_of_a_run();
  for (Branches* b : {&two, &many})
    for (int again = 0; again < 3; ++again) EXPECT_EQ(b->results_of_a_run(), want);
}

// The application captures the stream of the enqueue: its own streams take part in the capture, and are back behind it.
TEST(CudaStreamsApi, StreamsOfTheApplicationAreCaptured) {
  Branches net(2);
  ASSERT_TRUE(net.engine);
  const std::vector<float> want = net.results_of_a_run();
  Stream stream, first, second;
  const cuda::Driver& d = driver();
  for (const int given : {0, 1, 2}) {
    SCOPED_TRACE(given);
    cudaStream_t list[] = {reinterpret_cast<cudaStream_t>(first.handle), reinterpret_cast<cudaStream_t>(second.handle)};
    net.context->setAuxStreams(given == 0 ? nullptr : list, given);
    net.clear();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    ASSERT_EQ(d.cuStreamBeginCapture_v2(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    const bool captured = net.enqueue(stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ASSERT_EQ(d.cuStreamIsCapturing(first.handle, &status), CUDA_SUCCESS);
    EXPECT_EQ(status != CU_STREAM_CAPTURE_STATUS_NONE, given >= 1);
    ASSERT_EQ(d.cuStreamEndCapture(stream.handle, &graph), CUDA_SUCCESS);
    ASSERT_TRUE(captured) << net.bench.logger.errors();
    EXPECT_NE(net.results(), want) << "it ran while it was captured";
    ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(d.cuGraphLaunch(exec, stream.handle), CUDA_SUCCESS);
    stream.wait();
    EXPECT_EQ(net.results(), want);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);
  }
  net.context->setAuxStreams(nullptr, 3);
  EXPECT_NE(net.bench.logger.take_errors().find("setAuxStreams"), std::string::npos);
}

// Steps one by one, for whoever looks at each.
TEST(CudaStreamsApi, ProfilersSeeEveryStep) {
  struct Profiler final : IProfiler {
    void reportLayerTime(const char*, float) noexcept override { ++layers; }
    int layers = 0;
  } profiler;
  Branches net(2);
  ASSERT_TRUE(net.engine);
  const std::vector<float> want = net.results_of_a_run();
  net.context->setProfiler(&profiler);
  EXPECT_EQ(net.results_of_a_run(), want);
  EXPECT_EQ(profiler.layers, net.engine->getNbLayers());
}

// What was measured is remembered: the second build measures nothing and makes the same plan.
TEST(CudaStreamsApi, TimingCacheRemembersTheChoiceSlow) {
  real_gpu();
  Bench maker;
  EXPECT_EQ(wootz_config_set_option(maker.config.get(), "backend", "cuda"), 0);
  Owned<ITimingCache> cache(maker.config->createTimingCache(nullptr, 0));
  ASSERT_NE(cache, nullptr) << maker.logger.errors();
  Branches first(-1, cache.get(), true), second(-1, cache.get(), true);
  ASSERT_TRUE(first.engine && second.engine);
  EXPECT_EQ(first.engine->getNbAuxStreams(), second.engine->getNbAuxStreams());
  Owned<IHostMemory> kept(cache->serialize());
  const std::string_view bytes(static_cast<const char*>(kept->data()), kept->size());
  EXPECT_NE(bytes.find("streams of network"), std::string_view::npos);
  ASSERT_EQ(first.plan->size(), second.plan->size());
  EXPECT_EQ(std::memcmp(first.plan->data(), second.plan->data(), first.plan->size()), 0);
  EXPECT_EQ(first.results_of_a_run(), second.results_of_a_run());
}

}  // namespace
}  // namespace wootz_test
