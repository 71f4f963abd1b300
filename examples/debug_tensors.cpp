// Values from inside a network while it runs: tensors that are marked stay visible through all optimizations, and a
// listener gets them. Which of them, is chosen while the program runs.
#include <map>

#include "common.h"

namespace {

using namespace example;

constexpr int kRows = 3, kWidth = 8;

struct Model {
  Random random{12};
  std::vector<float> matrix = random.values(kWidth * kWidth), scale = {0.25F};
};

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* const x = network->addInput("x", DataType::kFLOAT, Dims2{kRows, kWidth});
  ITensor* const product = multiply(*network, x, constant(*network, Dims2{kWidth, kWidth}, model.matrix));
  product->setName("product");
  // Usually one kernel with the product: marked, both have values of their own.
  ITensor* const active = network->addActivation(*product, ActivationType::kRELU)->getOutput(0);
  active->setName("active");
  ITensor* const y =
      combine(*network, active, ElementWiseOperation::kPROD, constant(*network, Dims2{1, 1}, model.scale));
  mark_output(*network, y, "y");
  REQUIRE(network->markDebug(*product) && network->markDebug(*active));
  REQUIRE(network->isDebugTensor(*active) && !network->isDebugTensor(*y));
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *exact_config(*builder)));
  REQUIRE(plan != nullptr);
  return plan;
}

// Copies every tensor that it is shown.
class Listener final : public IDebugListener {
 public:
  bool processDebugTensor(const void* address, TensorLocation location, DataType type, const Dims& shape,
                          const char* name, cudaStream_t stream) override {
    REQUIRE(type == DataType::kFLOAT && shape.nbDims == 2 && shape.d[0] == kRows && shape.d[1] == kWidth);
    std::vector<float>& values = seen[name];
    values.resize(kRows * kWidth);
    const cudaMemcpyKind kind = location == TensorLocation::kHOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpyAsync(values.data(), address, values.size() * sizeof(float), kind, stream));
    CUDA(cudaStreamSynchronize(stream));
    return true;
  }
  std::map<std::string, std::vector<float>> seen;
};

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  REQUIRE(engine->isDebugTensor("product") && engine->isDebugTensor("active") && !engine->isDebugTensor("y"));
  Listener listener;
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  REQUIRE(context->setDebugListener(&listener) && context->getDebugListener() == &listener);
  const std::vector<float> input = Random(120).values(kRows * kWidth);
  std::vector<float> product(input.size()), active(input.size()), wanted(input.size());
  for (int i = 0; i < kRows * kWidth; ++i) {
    for (int k = 0; k < kWidth; ++k)
      product[i] += input[i / kWidth * kWidth + k] * model.matrix[k * kWidth + i % kWidth];
    active[i] = std::fmax(product[i], 0.F);
    wanted[i] = active[i] * model.scale[0];
  }
  const Stream stream;
  DeviceArray<float> x(input), y(input.size());
  REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  const auto run = [&] {
    listener.seen.clear();
    REQUIRE(context->enqueueV3(stream));
    expect_close("y", y.download(stream), wanted);
  };
  run();
  REQUIRE(listener.seen.empty());  // all are off at first
  REQUIRE(context->setTensorDebugState("active", true) && context->getDebugState("active"));
  run();
  REQUIRE(listener.seen.size() == 1);
  expect_close("active", listener.seen["active"], active);
  REQUIRE(context->setAllTensorsDebugState(true));
  run();
  REQUIRE(listener.seen.size() == 2);
  expect_close("product", listener.seen["product"], product);
  expect_close("active", listener.seen["active"], active);
  REQUIRE(context->setAllTensorsDebugState(false));
  run();
  REQUIRE(listener.seen.empty());
  REQUIRE(!context->setTensorDebugState("y", true));  // it was not marked: refused, and said in the log
  return 0;
}
