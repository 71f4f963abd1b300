// What enqueueV3 costs on a GPU before the driver is handed the recording of the network: from the call to
// cuGraphLaunch, with nothing changed since the last one.
//
//   build/release/bin/cuda_bench         (needs a GPU; says so where there is none)
//
// "BeforeLaunch" counts up to the launch, "Call" the whole call, of which the rest is the driver's.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <memory>

#define WOOTZ_NO_DEPRECATION
#include "NvInfer.h"
#include "backends/cuda/device/driver.h"
#include "wootz/extensions.h"

namespace wootz {
namespace {

using namespace nvinfer1;  // NOLINT: speaks of that interface throughout
using Clock = std::chrono::steady_clock;

const cuda::Driver* g_driver = nullptr;
Clock::time_point g_launched;
size_t g_launches = 0;

cuda::CUresult launch_noted(cuda::CUgraphExec recording, cuda::CUstream stream) {
  g_launched = Clock::now();
  ++g_launches;
  return g_driver->cuGraphLaunch(recording, stream);
}

// The driver's functions, with a launch that notes when it was called. False: there is no driver.
bool note_launches() {
  static cuda::Driver noted;
  if (g_driver != nullptr) return true;
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver.ok()) return false;
  g_driver = *driver;
  noted = *g_driver;
  noted.cuGraphLaunch = launch_noted;
  cuda::set_driver(&noted);
  return true;
}

struct Errors final : ILogger {
  void log(Severity severity, const AsciiChar* msg) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", msg);
  }
};

// A softmax of a softmax of ..., on rows of 8: each is a step, and next to no work.
struct Chain {
  explicit Chain(int64_t steps) {
    const Dims shape{2, {1, 8}};
    const std::unique_ptr<IBuilder> builder(createInferBuilder(errors));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    wootz_config_set_option(config.get(), "backend", "cuda");
    wootz_config_set_option(config.get(), "timing", "0");
    ITensor* x = network->addInput("x", DataType::kFLOAT, shape);
    for (int64_t i = 0; i < steps; ++i) {
      ISoftMaxLayer* layer = network->addSoftMax(*x);
      layer->setAxes(1U << 1);
      x = layer->getOutput(0);
    }
    x->setName("y");
    network->markOutput(*x);
    const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return;
    runtime.reset(createInferRuntime(errors));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine == nullptr) return;
    context.reset(engine->createExecutionContext());
    memory = static_cast<float*>(wootz_device_allocate(engine.get(), 1024));
    stream = wootz_device_stream_create(engine.get());
    ready = context != nullptr && memory != nullptr && context->setTensorAddress("x", memory) &&
            context->setTensorAddress("y", memory + 128);
    for (int i = 0; i < 3; ++i) ready = ready && run();
  }
  ~Chain() {
    if (engine == nullptr) return;
    wootz_device_stream_destroy(engine.get(), stream);
    wootz_device_free(engine.get(), memory);
  }
  bool enqueue() { return context->enqueueV3(static_cast<cudaStream_t>(stream)); }
  bool run() { return enqueue() && wootz_device_wait(engine.get(), stream) == 0; }

  Errors errors;
  std::unique_ptr<IRuntime> runtime;
  std::unique_ptr<ICudaEngine> engine;
  std::unique_ptr<IExecutionContext> context;
  float* memory = nullptr;
  void* stream = nullptr;
  bool ready = false;
};

enum class Until { kLaunch, kReturn };

void enqueue_on_gpu(benchmark::State& state, Until until) {
  if (!note_launches()) {
    state.SkipWithError("no driver of NVIDIA's here");
    return;
  }
  Chain chain(state.range(0));
  const size_t before = g_launches;
  if (!chain.ready || !chain.run() || g_launches == before) {
    state.SkipWithError("no inference, or nothing is recorded: see the messages above");
    return;
  }
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    const bool good = chain.enqueue();
    const Clock::time_point end = until == Until::kLaunch ? g_launched : Clock::now();
    state.SetIterationTime(std::chrono::duration<double>(end - start).count());
    if (!good || wootz_device_wait(chain.engine.get(), chain.stream) != 0) {
      state.SkipWithError("a call failed");
      return;
    }
  }
}

BENCHMARK_CAPTURE(enqueue_on_gpu, GpuBeforeLaunch, Until::kLaunch)->Arg(1)->Arg(10)->Arg(100)->UseManualTime();
BENCHMARK_CAPTURE(enqueue_on_gpu, GpuCall, Until::kReturn)->Arg(1)->Arg(10)->Arg(100)->UseManualTime();

}  // namespace
}  // namespace wootz
