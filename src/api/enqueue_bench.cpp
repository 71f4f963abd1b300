// What a call of enqueueV3 costs by itself: networks of steps that compute next to nothing, one after the other. The
// time of an inference is then setting up the call and, for each step, its addresses and its dispatch.
//
//   build/release/bin/api_bench                      one line a size; "a_step" is the time over the number of steps
//   build/release/bin/api_bench --benchmark_filter=Stream
//
// "Alone" calls with no stream, which computes before it returns; "Stream" queues on a host stream and waits for it;
// "Setting" also sets all addresses and the shape anew each time, as many applications do.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <vector>

#define WOOTZ_NO_DEPRECATION
#include "NvInfer.h"
#include "wootz/extensions.h"

namespace wootz {
namespace {

using namespace nvinfer1;  // NOLINT: speaks of that interface throughout

struct Errors final : ILogger {
  void log(Severity severity, const AsciiChar* msg) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", msg);
  }
};

constexpr int64_t kWidth = 8;

// Softmax of a softmax of ...: neither folds into the other, so each is a step.
struct Chain {
  explicit Chain(int64_t steps) {
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    for (const auto& [key, value] : {std::pair("timing", "0"), std::pair("threads", "1"), std::pair("backend", "cpu")})
      wootz_config_set_option(config.get(), key, value);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{2, {-1, kWidth}});
    for (int64_t i = 0; i < steps; ++i) {
      ISoftMaxLayer* layer = network->addSoftMax(*x);
      layer->setAxes(1U << 1);
      x = layer->getOutput(0);
    }
    x->setName("y");
    network->markOutput(*x);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (const auto which : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      profile->setDimensions("x", which, shape);
    config->addOptimizationProfile(profile);
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return;
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine != nullptr) context.reset(engine->createExecutionContext());
  }
  bool set() {
    return context->setInputShape("x", shape) && context->setTensorAddress("x", in.data()) &&
           context->setTensorAddress("y", out.data());
  }

  Errors logger;
  const Dims shape{2, {1, kWidth}};
  std::vector<float> in = std::vector<float>(kWidth, 1.0F), out = std::vector<float>(kWidth);
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
};

enum class How { kAlone, kSetting, kStream };

void enqueue(benchmark::State& state, How how) {
  Chain chain(state.range(0));
  if (chain.context == nullptr || !chain.set() || !chain.context->enqueueV3(nullptr)) {
    state.SkipWithError("no inference: see the messages above");
    return;
  }
  if (chain.engine->getNbLayers() < state.range(0)) {
    state.SkipWithError("the steps were fused: this measures nothing");
    return;
  }
  void* const stream = how == How::kStream ? wootz_stream_create() : nullptr;
  bool good = true;
  for (auto _ : state) {
    if (how == How::kSetting) good = chain.set() && good;
    good = chain.context->enqueueV3(static_cast<cudaStream_t>(stream)) && good;
    if (stream != nullptr) good = wootz_stream_synchronize(stream) == 0 && good;
  }
  if (stream != nullptr) good = wootz_stream_destroy(stream) == 0 && good;
  if (!good) state.SkipWithError("a call failed");
  state.counters["a_step"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(enqueue, Alone, How::kAlone)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();
BENCHMARK_CAPTURE(enqueue, Setting, How::kSetting)->Arg(1)->Arg(100)->UseRealTime();
BENCHMARK_CAPTURE(enqueue, Stream, How::kStream)->Arg(1)->Arg(100)->UseRealTime();

}  // namespace
}  // namespace wootz
