// An application as one is written for TensorRT and CUDA: it builds a classifier, and runs it with its memory, streams,
// events, graphs and callbacks all CUDA's. Nothing in it knows what runs it. The argument says which form.
//
// Why so long: one application, in each form that users write.
#include <NvInfer.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace nvinfer1;

constexpr int kRows = 4, kIn = 8, kOut = 5;
constexpr size_t kInBytes = kRows * kIn * sizeof(float), kOutBytes = kRows * kOut * sizeof(float);

#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (false)
#define CUDA(call)                                                                                   \
  do {                                                                                               \
    if (const cudaError_t error = (call); error != cudaSuccess) {                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

struct Logger final : ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) {
      std::fprintf(stderr, "%s\n", text);
      ++errors;
    }
  }
  std::atomic<int> errors{0};
} g_logger;

float weight(int i) { return static_cast<float>((i * 37) % 19 - 9) / 16.0F; }

// Softmax of x·W + b.
std::vector<float> expected(const std::vector<float>& x) {
  std::vector<float> y(kRows * kOut);
  for (int r = 0; r < kRows; ++r) {
    float sum = 0;
    for (int o = 0; o < kOut; ++o) {
      float v = weight(100 + o);
      for (int i = 0; i < kIn; ++i) v += x[r * kIn + i] * weight(i * kOut + o);
      sum += y[r * kOut + o] = std::exp(v);
    }
    for (int o = 0; o < kOut; ++o) y[r * kOut + o] /= sum;
  }
  return y;
}

std::vector<float> input(int seed) {
  std::vector<float> x(kRows * kIn);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(seed) * 1.7F + static_cast<float>(i) * 0.3F);
  return x;
}

void check(const float* y, int seed) {
  const std::vector<float> want = expected(input(seed));
  for (size_t i = 0; i < want.size(); ++i) REQUIRE(std::abs(y[i] - want[i]) < 1e-5F);
}

std::unique_ptr<IHostMemory> build(bool refittable) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(g_logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  std::vector<float> w(kIn * kOut), b(kOut);
  for (size_t i = 0; i < w.size(); ++i) w[i] = weight(static_cast<int>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = weight(100 + static_cast<int>(i));
  ITensor* const x = network->addInput("x", DataType::kFLOAT, Dims2{kRows, kIn});
  const auto constant = [&](const std::vector<float>& values, const Dims& shape) {
    return network->addConstant(shape, {DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())})
        ->getOutput(0);
  };
  ITensor* const product =
      network->addMatrixMultiply(*x, MatrixOperation::kNONE, *constant(w, Dims2{kIn, kOut}), MatrixOperation::kNONE)
          ->getOutput(0);
  ITensor* const sum =
      network->addElementWise(*product, *constant(b, Dims2{1, kOut}), ElementWiseOperation::kSUM)->getOutput(0);
  sum->setName("sum");
  REQUIRE(network->markDebug(*sum));
  ISoftMaxLayer* const softmax = network->addSoftMax(*sum);
  softmax->setAxes(2);
  softmax->getOutput(0)->setName("y");
  network->markOutput(*softmax->getOutput(0));
  if (refittable) config->setFlag(BuilderFlag::kREFIT);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

// Device and pinned memory of one inference.
struct Buffers {
  Buffers() {
    CUDA(cudaMalloc(&x, kInBytes));
    CUDA(cudaMalloc(&y, kOutBytes));
    CUDA(cudaMallocHost(&in, kInBytes));
    CUDA(cudaMallocHost(&out, kOutBytes));
  }
  ~Buffers() {
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    CUDA(cudaFreeHost(in));
    CUDA(cudaFreeHost(out));
  }
  void fill(int seed) const { std::memcpy(in, input(seed).data(), kInBytes); }
  void bind(IExecutionContext& context) const {
    REQUIRE(context.setTensorAddress("x", x) && context.setTensorAddress("y", y));
  }
  void upload(cudaStream_t stream) const { CUDA(cudaMemcpyAsync(x, in, kInBytes, cudaMemcpyHostToDevice, stream)); }
  void download(cudaStream_t stream) const { CUDA(cudaMemcpyAsync(out, y, kOutBytes, cudaMemcpyDeviceToHost, stream)); }
  float *x = nullptr, *y = nullptr, *in = nullptr, *out = nullptr;
};

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void plain(ICudaEngine& engine) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  const Buffers buffers;
  buffers.bind(*context);
  cudaEvent_t start = nullptr, end = nullptr, consumed = nullptr;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
  REQUIRE(context->setInputConsumedEvent(consumed));
  const cudaStream_t own = new_stream();
  for (const cudaStream_t stream : {own, cudaStream_t{nullptr}, cudaStreamPerThread}) {
    for (int seed = 0; seed < 5; ++seed) {
      buffers.fill(seed);
      CUDA(cudaEventRecord(start, stream));
      buffers.upload(stream);
      REQUIRE(context->enqueueV3(stream));
      CUDA(cudaEventSynchronize(consumed));
      buffers.download(stream);
      CUDA(cudaEventRecord(end, stream));
      CUDA(cudaEventSynchronize(end));
      float milliseconds = -1;
      CUDA(cudaEventElapsedTime(&milliseconds, start, end));
      REQUIRE(milliseconds >= 0 && milliseconds < 10000);
      check(buffers.out, seed);
    }
  }
  // Without waiting in between: each takes the addresses that were set when it was put there.
  const Buffers others;
  std::vector<float> first(kRows * kOut);
  buffers.fill(11);
  others.fill(12);
  buffers.upload(own);
  others.upload(own);
  REQUIRE(context->enqueueV3(own));
  others.bind(*context);
  REQUIRE(context->enqueueV3(own));
  buffers.download(own);
  others.download(own);
  CUDA(cudaStreamSynchronize(own));
  check(buffers.out, 11);
  check(others.out, 12);
  // The call that waits: after what is in the default stream.
  buffers.fill(13);
  buffers.upload(nullptr);
  void* addresses[] = {buffers.x, buffers.y};
  REQUIRE(context->executeV2(addresses));
  CUDA(cudaMemcpy(buffers.out, buffers.y, kOutBytes, cudaMemcpyDeviceToHost));
  check(buffers.out, 13);
  REQUIRE(!context->enqueueV3(reinterpret_cast<cudaStream_t>(&first)));  // no stream of anybody's
  --g_logger.errors;
  for (const cudaEvent_t event : {start, end, consumed}) CUDA(cudaEventDestroy(event));
  CUDA(cudaStreamDestroy(own));
}

cudaGraphExec_t captured(IExecutionContext& context, const Buffers& buffers, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  buffers.upload(stream);
  REQUIRE(context.enqueueV3(stream));
  buffers.download(stream);
  CUDA(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 3);
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return exec;
}

// The graph keeps what was set at its capture; the context goes on with what is set now, in between too.
void graph(ICudaEngine& engine) {
  std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  const Buffers buffers, others;
  const cudaStream_t stream = new_stream();
  buffers.bind(*context);
  const cudaGraphExec_t exec = captured(*context, buffers, stream);
  others.bind(*context);
  for (int seed = 0; seed < 10; ++seed) {
    buffers.fill(seed);
    others.fill(100 + seed);
    CUDA(cudaGraphLaunch(exec, stream));
    others.upload(stream);
    REQUIRE(context->enqueueV3(stream));
    others.download(stream);
    CUDA(cudaStreamSynchronize(stream));
    check(buffers.out, seed);
    check(others.out, 100 + seed);
  }
  // Another capture takes the place of the first in the executable.
  cudaGraph_t second = nullptr;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  others.upload(stream);
  REQUIRE(context->enqueueV3(stream));
  others.download(stream);
  CUDA(cudaStreamEndCapture(stream, &second));
  cudaGraphExecUpdateResultInfo result{};
  CUDA(cudaGraphExecUpdate(exec, second, &result));
  CUDA(cudaGraphDestroy(second));
  others.fill(50);
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  check(others.out, 50);
  // A graph that outlives its context says so, and fails as a kernel would.
  context.reset();
  const int before = g_logger.errors;
  CUDA(cudaGraphLaunch(exec, stream));
  REQUIRE(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure);
  REQUIRE(g_logger.errors == before + 1);
  --g_logger.errors;
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaStreamDestroy(stream));
}

void threads(ICudaEngine& engine) {
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&engine, t] {
      const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
      const Buffers buffers;
      buffers.bind(*context);
      const cudaStream_t stream = t % 3 == 0 ? cudaStreamPerThread : new_stream();
      const cudaGraphExec_t exec = t % 2 == 0 ? captured(*context, buffers, stream) : nullptr;
      for (int i = 0; i < 50; ++i) {
        buffers.fill(t * 1000 + i);
        if (exec != nullptr) {
          CUDA(cudaGraphLaunch(exec, stream));
        } else {
          buffers.upload(stream);
          REQUIRE(context->enqueueV3(stream));
          buffers.download(stream);
        }
        CUDA(cudaStreamSynchronize(stream));
        check(buffers.out, t * 1000 + i);
      }
      if (exec != nullptr) CUDA(cudaGraphExecDestroy(exec));
      if (stream != cudaStreamPerThread) CUDA(cudaStreamDestroy(stream));
    });
  for (std::thread& thread : all) thread.join();
}

struct PoolAllocator final : IGpuAsyncAllocator {
  void* allocateAsync(uint64_t size, uint64_t, AllocatorFlags, cudaStream_t stream) noexcept override {
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, size, stream) == cudaSuccess) ++live;
    return memory;
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override {
    if (memory != nullptr) --live;
    return cudaFreeAsync(memory, stream) == cudaSuccess;
  }
  std::atomic<int> live{0};
};

struct Output final : IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t stream) noexcept override {
    if (memory != nullptr) CUDA(cudaFreeAsync(memory, stream));
    CUDA(cudaMallocAsync(&memory, size, stream));
    seen = stream;
    return memory;
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = dims; }
  void* memory = nullptr;
  cudaStream_t seen = nullptr;
  Dims shape{};
};

struct Listener final : IDebugListener {
  bool processDebugTensor(const void* address, TensorLocation, DataType, const Dims&, const char* name,
                          cudaStream_t stream) override {
    float values[kRows * kOut];
    REQUIRE(std::string(name) == "sum");
    CUDA(cudaMemcpyAsync(values, address, kOutBytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    ++seen;
    finite = std::isfinite(values[0]);
    return true;
  }
  int seen = 0;
  bool finite = false;
};

struct Profiler final : IProfiler {
  void reportLayerTime(const char*, float) noexcept override { ++layers; }
  int layers = 0;
};

void callbacks(IRuntime& runtime, const IHostMemory& plan) {
  PoolAllocator pool;
  runtime.setGpuAllocator(&pool);
  std::unique_ptr<ICudaEngine> engine(runtime.deserializeCudaEngine(plan.data(), plan.size()));
  REQUIRE(engine != nullptr);
  {
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    const Buffers buffers;
    buffers.bind(*context);
    Output output;
    Listener listener;
    Profiler profiler;
    REQUIRE(context->setTensorAddress("y", nullptr) && context->setOutputAllocator("y", &output));
    REQUIRE(context->setDebugListener(&listener) && context->setTensorDebugState("sum", true));
    context->setProfiler(&profiler);
    const cudaStream_t stream = new_stream(), aux = new_stream();
    cudaStream_t list[] = {aux};
    context->setAuxStreams(list, 1);
    buffers.fill(3);
    buffers.upload(stream);
    REQUIRE(context->enqueueV3(stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpyAsync(buffers.out, output.memory, kOutBytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    check(buffers.out, 3);
    REQUIRE(output.seen == stream && output.shape.nbDims == 2 && output.shape.d[1] == kOut);
    REQUIRE(listener.seen == 1 && listener.finite && profiler.layers > 0);
    CUDA(cudaFreeAsync(output.memory, stream));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaStreamDestroy(aux));
  }
  engine.reset();
  REQUIRE(pool.live == 0);
}

// In the order of the stream, which is waited for; in a graph there is no order to follow.
void refit(ICudaEngine& engine) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(engine, g_logger));
  const Buffers before, after;
  const cudaStream_t stream = new_stream();
  const std::vector<float> other = {3, 1, 4, 1, 5};  // the addend's
  const char* name = nullptr;
  REQUIRE(refitter->getAll(1, &name, nullptr) == 2 && name != nullptr);
  REQUIRE(refitter->setWeights(name, WeightsRole::kCONSTANT, {DataType::kFLOAT, other.data(), kOut}));
  before.fill(1);
  before.upload(stream);
  before.bind(*context);
  REQUIRE(context->enqueueV3(stream));
  before.download(stream);
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(!refitter->refitCudaEngineAsync(stream));
  --g_logger.errors;
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphDestroy(graph));
  REQUIRE(refitter->refitCudaEngineAsync(stream));
  after.fill(1);
  after.upload(stream);
  after.bind(*context);
  REQUIRE(context->enqueueV3(stream));
  after.download(stream);
  CUDA(cudaStreamSynchronize(stream));
  check(before.out, 1);
  REQUIRE(std::abs(after.out[0] - before.out[0]) > 1e-3F);
  CUDA(cudaStreamDestroy(stream));
}

}  // namespace

struct NoMemory final : IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t, uint64_t, cudaStream_t) override { return nullptr; }
  void notifyShape(const char*, const Dims&) noexcept override {}
};

// An inference that fails in its stream: who waits is told, once, whatever is waited for.
void failures(ICudaEngine& engine) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  const Buffers data;
  const cudaStream_t stream = new_stream();
  NoMemory none;
  data.fill(1);
  data.upload(stream);
  data.bind(*context);
  const auto fail = [&] {
    REQUIRE(context->setOutputAllocator("y", &none));
    REQUIRE(context->enqueueV3(stream));
    REQUIRE(context->setOutputAllocator("y", nullptr));
  };
  const auto told_once = [&](auto wait) {
    REQUIRE(wait() == cudaErrorLaunchFailure);
    REQUIRE(g_logger.errors == 1);
    g_logger.errors = 0;
    REQUIRE(wait() == cudaSuccess);
    CUDA(cudaStreamSynchronize(stream));
  };
  fail();
  REQUIRE(context->enqueueV3(stream));  // goes on
  told_once([&] { return cudaStreamSynchronize(stream); });
  fail();
  told_once([] { return cudaDeviceSynchronize(); });
  cudaEvent_t event = nullptr;
  CUDA(cudaEventCreate(&event));
  fail();
  CUDA(cudaEventRecord(event, stream));
  told_once([&] { return cudaEventSynchronize(event); });
  CUDA(cudaEventDestroy(event));
  fail();
  told_once([&] {
    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaStreamQuery(stream)) == cudaErrorNotReady) std::this_thread::yield();
    return state;
  });
  CUDA(cudaStreamDestroy(stream));
}

int main(int count, char** arguments) {
  const std::string form = count == 2 ? arguments[1] : "";
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  REQUIRE(devices == 1);
  const std::unique_ptr<IHostMemory> plan = build(form == "refit");
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(g_logger));
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  REQUIRE(engine != nullptr);
  if (form == "plain")
    plain(*engine);
  else if (form == "graph")
    graph(*engine);
  else if (form == "threads")
    threads(*engine);
  else if (form == "callbacks")
    callbacks(*runtime, *plan);
  else if (form == "refit")
    refit(*engine);
  else if (form == "failures")
    failures(*engine);
  else
    REQUIRE(!"a form: plain, graph, threads, callbacks, refit, failures");
  CUDA(cudaDeviceSynchronize());
  REQUIRE(g_logger.errors == 0);
  return 0;
}
