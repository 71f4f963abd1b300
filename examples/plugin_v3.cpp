// A network with a layer of one's own, between two that TensorRT has. The plugin is found in the registry by its name
// when the network is made, and again when the plan is loaded.
#include "common.h"
#include "roll_plugin.h"

namespace {

using namespace example;

constexpr int kColumns = 10, kMostRows = 6;

std::unique_ptr<IHostMemory> build(int32_t shift) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, kColumns});
  x = network->addActivation(*x, ActivationType::kRELU)->getOutput(0);
  IPluginCreatorInterface* const found = getPluginRegistry()->getCreator(RollCreator::kName, RollCreator::kVersion, "");
  auto* const creator = dynamic_cast<IPluginCreatorV3One*>(found);
  REQUIRE(creator != nullptr && creator->getFieldNames()->nbFields == 1);
  const PluginField field("shift", &shift, PluginFieldType::kINT32, 1);
  const PluginFieldCollection fields{1, &field};
  {
    const std::unique_ptr<IPluginV3> roll(creator->createPlugin("roll", &fields, TensorRTPhase::kBUILD));
    REQUIRE(roll != nullptr);
    IPluginV3Layer* const layer = network->addPluginV3(&x, 1, nullptr, 0, *roll);  // the network keeps a clone
    REQUIRE(layer != nullptr);
    x = layer->getOutput(0);
  }
  static const std::vector<float> half = {0.5F};
  x = combine(*network, x, ElementWiseOperation::kPROD, constant(*network, Dims2{1, 1}, half));
  mark_output(*network, x, "y");
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{1, kColumns}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{4, kColumns}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{kMostRows, kColumns}));
  REQUIRE(config->addOptimizationProfile(profile) == 0);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

void check(const IHostMemory& plan, int32_t shift) {
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, plan);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const Stream stream;
  DeviceArray<float> x(kMostRows * kColumns), y(kMostRows * kColumns);
  REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  for (const int rows : {4, 1, kMostRows, 4}) {
    const std::vector<float> input = Random(80 + rows).values(rows * kColumns);
    std::vector<float> wanted(input.size());
    for (int i = 0; i < rows * kColumns; ++i)
      wanted[i / kColumns * kColumns + (i + shift) % kColumns] = 0.5F * std::fmax(input[i], 0.F);
    x.upload(input, stream);
    REQUIRE(context->setInputShape("x", Dims2{rows, kColumns}));
    REQUIRE(context->enqueueV3(stream));
    expect_close("turned", y.download(stream, wanted.size()), wanted, 0);
  }
}

}  // namespace

int main() {
  RollCreator creator;
  REQUIRE(getPluginRegistry()->registerCreator(creator, ""));
  for (const int32_t shift : {0, 3, 17}) check(*build(shift), shift);
  // Without the creator a plan cannot be loaded, and the log says what it lacks.
  const std::unique_ptr<IHostMemory> plan = build(1);
  REQUIRE(getPluginRegistry()->deregisterCreator(creator));
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  REQUIRE(std::unique_ptr<ICudaEngine>(runtime->deserializeCudaEngine(plan->data(), plan->size())) == nullptr);
  REQUIRE(RollCreator::alive() == 0);
  return 0;
}
