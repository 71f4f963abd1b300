// An engine whose weights need not fit into the device's memory: they stay on the host, and come in as layers need
// them. The budget says how much of them may stay on the device; results are the same with every one.
#include "common.h"

namespace {

using namespace example;

constexpr int kRows = 4, kWidth = 256, kLayers = 6;

using Matrices = std::vector<std::vector<float>>;

Matrices matrices() {
  Random random(5);
  Matrices all(kLayers);
  for (std::vector<float>& matrix : all) matrix = random.values(kWidth * kWidth, -0.1F, 0.1F);
  return all;
}

std::unique_ptr<IHostMemory> build(const Matrices& matrices) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network = typed_network(*builder);  // weight streaming wants one
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{kRows, kWidth});
  for (const std::vector<float>& matrix : matrices) {
    ITensor* const product = multiply(*network, x, constant(*network, Dims2{kWidth, kWidth}, matrix));
    x = network->addActivation(*product, ActivationType::kTANH)->getOutput(0);
  }
  mark_output(*network, x, "y");
  config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

std::vector<float> expected(const Matrices& matrices, std::vector<float> x) {
  for (const std::vector<float>& matrix : matrices) {
    std::vector<float> y(x.size());
    for (size_t r = 0; r < x.size(); r += kWidth)
      for (int k = 0; k < kWidth; ++k)
        for (int c = 0; c < kWidth; ++c) y[r + c] += x[r + k] * matrix[k * kWidth + c];
    for (float& value : y) value = std::tanh(value);
    x = y;
  }
  return x;
}

// Several inferences of one context, which read the weights anew each time.
void check(ICudaEngine& engine, const std::vector<float>& input, const std::vector<float>& wanted) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  REQUIRE(context != nullptr);
  const Stream stream;
  DeviceArray<float> x(input), y(wanted.size());
  REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  for (int run = 0; run < 3; ++run) {
    CUDA(cudaMemsetAsync(y.data(), 0, y.size() * sizeof(float), stream));
    REQUIRE(context->enqueueV3(stream));
    expect_close("y", y.download(stream), wanted);
  }
  REQUIRE(!engine.setWeightStreamingBudgetV2(0));  // not while there is a context: refused, and said in the log
}

}  // namespace

int main() {
  const Matrices model = matrices();
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  const int64_t all = engine->getStreamableWeightsSize();
  REQUIRE(all >= static_cast<int64_t>(sizeof(float)) * kLayers * kWidth * kWidth);
  const std::vector<float> input = Random(50).values(kRows * kWidth), wanted = expected(model, input);
  const int64_t automatic = engine->getWeightStreamingAutomaticBudget();
  REQUIRE(automatic >= 0 && automatic <= all);
  for (const int64_t budget : {all, all / 2, int64_t{0}, automatic}) {
    REQUIRE(engine->setWeightStreamingBudgetV2(budget));
    REQUIRE(engine->getWeightStreamingBudgetV2() == budget);
    std::printf("%lld of %lld bytes stay, %lld are for those on their way\n", static_cast<long long>(budget),
                static_cast<long long>(all), static_cast<long long>(engine->getWeightStreamingScratchMemorySize()));
    check(*engine, input, wanted);
  }
  REQUIRE(!engine->setWeightStreamingBudgetV2(-1));
  return 0;
}
