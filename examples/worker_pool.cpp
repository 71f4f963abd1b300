// A server's pool of workers: one engine, and eight threads with a context, a stream and a CUDA graph each. The graph
// has the copy of the input, the inference and the copy of the result; a worker that takes a job writes the input,
// launches, and waits.
#include <atomic>
#include <cstring>
#include <thread>

#include "common.h"

namespace {

using namespace example;

constexpr int kWorkers = 8, kJobs = 400, kIn = 64, kInner = 48, kOut = 8;

struct Model {
  Random random{13};
  std::vector<float> first = random.values(kIn * kInner, -0.3F, 0.3F), second = random.values(kInner * kOut);
};

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{1, kIn});
  x = multiply(*network, x, constant(*network, Dims2{kIn, kInner}, model.first));
  x = network->addActivation(*x, ActivationType::kSIGMOID)->getOutput(0);
  mark_output(*network, multiply(*network, x, constant(*network, Dims2{kInner, kOut}, model.second)), "y");
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *exact_config(*builder)));
  REQUIRE(plan != nullptr);
  return plan;
}

std::vector<float> expected(const Model& model, const std::vector<float>& x) {
  std::vector<float> y(kOut);
  for (int j = 0; j < kInner; ++j) {
    float sum = 0;
    for (int i = 0; i < kIn; ++i) sum += x[i] * model.first[i * kInner + j];
    for (int o = 0; o < kOut; ++o) y[o] += model.second[j * kOut + o] / (1 + std::exp(-sum));
  }
  return y;
}

class Worker {
 public:
  explicit Worker(ICudaEngine& engine) : context_(engine.createExecutionContext()) {
    REQUIRE(context_ != nullptr);
    CUDA(cudaMallocHost(reinterpret_cast<void**>(&input_), kIn * sizeof(float)));
    CUDA(cudaMallocHost(reinterpret_cast<void**>(&output_), kOut * sizeof(float)));
    std::memset(input_, 0, kIn * sizeof(float));
    REQUIRE(context_->setTensorAddress("x", x_.data()) && context_->setTensorAddress("y", y_.data()));
    enqueue();  // once before the capture: what is done only once is not captured
    CUDA(cudaStreamSynchronize(stream_));
    CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));  // other threads go on
    enqueue();
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamEndCapture(stream_, &graph));
    CUDA(cudaGraphInstantiate(&graph_, graph, 0));
    CUDA(cudaGraphDestroy(graph));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    cudaGraphExecDestroy(graph_);
    cudaFreeHost(input_);
    cudaFreeHost(output_);
  }
  std::vector<float> run(const std::vector<float>& input) {
    std::memcpy(input_, input.data(), kIn * sizeof(float));
    CUDA(cudaGraphLaunch(graph_, stream_));
    CUDA(cudaStreamSynchronize(stream_));
    return {output_, output_ + kOut};
  }

 private:
  void enqueue() {
    CUDA(cudaMemcpyAsync(x_.data(), input_, kIn * sizeof(float), cudaMemcpyHostToDevice, stream_));
    REQUIRE(context_->enqueueV3(stream_));
    CUDA(cudaMemcpyAsync(output_, y_.data(), kOut * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }
  Stream stream_;
  std::unique_ptr<IExecutionContext> context_;
  DeviceArray<float> x_{kIn}, y_{kOut};
  float *input_ = nullptr, *output_ = nullptr;  // pinned
  cudaGraphExec_t graph_ = nullptr;
};

std::vector<float> job(int number) { return Random(1000 + number).values(kIn); }

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  std::vector<std::vector<float>> results(kJobs);
  std::vector<int> done(kWorkers);
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < kWorkers; ++w)
    threads.emplace_back([&, w] {
      Worker worker(*engine);
      for (int number = next++; number < kJobs; number = next++) {
        results[number] = worker.run(job(number));
        ++done[w];
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<float> got, wanted;
  for (int number = 0; number < kJobs; ++number) {
    REQUIRE(results[number].size() == kOut);
    const std::vector<float> one = expected(model, job(number));
    got.insert(got.end(), results[number].begin(), results[number].end());
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  for (int w = 0; w < kWorkers; ++w) std::printf("worker %d: %d jobs\n", w, done[w]);
  expect_close("all jobs", got, wanted);
  return 0;
}
