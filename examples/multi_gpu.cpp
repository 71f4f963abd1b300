// As many engines as there are devices, each built, loaded and run by a thread that works on its device. The rows of a
// batch are divided among them. With a single device it does everything.
#include <algorithm>
#include <functional>
#include <thread>

#include "common.h"

namespace {

using namespace example;

constexpr int kRows = 96, kIn = 40, kOut = 24;

struct Model {
  Random random{14};
  std::vector<float> matrix = random.values(kIn * kOut), offset = random.values(kOut);
};

// Built where it runs: the devices of a machine need not be equal.
std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, kIn});
  x = multiply(*network, x, constant(*network, Dims2{kIn, kOut}, model.matrix));
  x = combine(*network, x, ElementWiseOperation::kSUM, constant(*network, Dims2{1, kOut}, model.offset));
  mark_output(*network, network->addActivation(*x, ActivationType::kRELU)->getOutput(0), "y");
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{1, kIn}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{kRows / 2, kIn}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{kRows, kIn}));
  REQUIRE(config->addOptimizationProfile(profile) == 0);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

// One thread's part: `rows` rows from `input` to `output`, both host memory.
void work(const Model& model, int device, const float* input, float* output, int rows) {
  CUDA(cudaSetDevice(device));  // of this thread: for all that follows
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  REQUIRE(context != nullptr);
  const Stream stream;
  DeviceArray<float> x(static_cast<size_t>(rows) * kIn), y(static_cast<size_t>(rows) * kOut);
  cudaPointerAttributes where{};
  CUDA(cudaPointerGetAttributes(&where, x.data()));
  REQUIRE(where.device == device);
  REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  REQUIRE(context->setInputShape("x", Dims2{rows, kIn}));
  x.upload({input, input + static_cast<ptrdiff_t>(rows) * kIn}, stream);
  REQUIRE(context->enqueueV3(stream));
  const std::vector<float> result = y.download(stream);
  std::copy(result.begin(), result.end(), output);
  int now = -1;
  CUDA(cudaGetDevice(&now));
  REQUIRE(now == device);  // nothing has left it on another
}

}  // namespace

int main() {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  REQUIRE(devices > 0);
  const Model model;
  const std::vector<float> input = Random(140).values(kRows * kIn);
  std::vector<float> output(kRows * kOut), wanted(kRows * kOut);
  std::vector<std::thread> threads;
  for (int device = 0, from = 0; device < devices; ++device) {
    const int to = kRows * (device + 1) / devices;
    threads.emplace_back(work, std::cref(model), device, &input[from * kIn], &output[from * kOut], to - from);
    from = to;
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kRows * kOut; ++i) {
    float sum = model.offset[i % kOut];
    for (int k = 0; k < kIn; ++k) sum += input[i / kOut * kIn + k] * model.matrix[k * kOut + i % kOut];
    wanted[i] = std::fmax(sum, 0.F);
  }
  std::printf("%d devices\n", devices);
  expect_close("all rows", output, wanted);
  return 0;
}
