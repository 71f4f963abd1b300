// A plan without weights, for where the weights are delivered by other means: it is small, and runs as the whole plan
// does once the weights came by a refit. The engine can then be written as a whole plan.
#include "common.h"

namespace {

using namespace example;

constexpr int kRows = 8, kWidth = 128, kLayers = 4;
constexpr size_t kWeightBytes = sizeof(float) * kLayers * kWidth * kWidth;

struct Model {
  Model() {
    Random random(4);
    for (int i = 0; i < kLayers; ++i) {
      matrices.push_back(random.values(kWidth * kWidth, -0.15F, 0.15F));
      names.push_back("matrix " + std::to_string(i));
    }
  }
  std::vector<float> expected(std::vector<float> x) const {
    for (const std::vector<float>& matrix : matrices) {
      std::vector<float> y(x.size());
      for (size_t r = 0; r < x.size(); r += kWidth) {
        for (int k = 0; k < kWidth; ++k)
          for (int c = 0; c < kWidth; ++c) y[r + c] += x[r + k] * matrix[k * kWidth + c];
      }
      for (float& value : y) value = std::tanh(value);
      x = y;
    }
    return x;
  }
  std::vector<std::vector<float>> matrices;
  std::vector<std::string> names;
};

std::unique_ptr<IHostMemory> build(const Model& model, bool stripped) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{kRows, kWidth});
  for (int i = 0; i < kLayers; ++i) {
    ITensor* const matrix = constant(*network, Dims2{kWidth, kWidth}, model.matrices[i], model.names[i].c_str());
    x = network->addActivation(*multiply(*network, x, matrix), ActivationType::kTANH)->getOutput(0);
  }
  mark_output(*network, x, "y");
  if (stripped) config->setFlag(BuilderFlag::kSTRIP_PLAN);  // alone: the weights of the build, and no others, come back
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

bool run(ICudaEngine& engine, const std::vector<float>& input, std::vector<float>* output) {
  const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
  if (context == nullptr) return false;
  const Stream stream;
  DeviceArray<float> x(input), y(input.size());
  REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  if (!context->enqueueV3(stream)) return false;
  *output = y.download(stream);
  return true;
}

void bring_weights(ICudaEngine& engine, const Model& model) {
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(engine, logger()));
  REQUIRE(refitter != nullptr);
  std::vector<const char*> missing(refitter->getMissingWeights(0, nullptr));
  REQUIRE(missing.size() == kLayers);
  REQUIRE(refitter->getMissingWeights(kLayers, missing.data()) == kLayers);
  for (const char* name : missing)
    for (int i = 0; i < kLayers; ++i)
      if (model.names[i] == name) REQUIRE(refitter->setNamedWeights(name, weights(model.matrices[i])));
  REQUIRE(refitter->getMissingWeights(0, nullptr) == 0);
  REQUIRE(refitter->refitCudaEngine());
}

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IHostMemory> whole = build(model, false), stripped = build(model, true);
  std::printf("the plan: %zu bytes, stripped: %zu\n", whole->size(), stripped->size());
  REQUIRE(whole->size() > kWeightBytes && stripped->size() < kWeightBytes);
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *stripped);
  REQUIRE(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE) >= static_cast<int64_t>(kWeightBytes));
  const std::vector<float> input = Random(40).values(kRows * kWidth), expected = model.expected(input);
  std::vector<float> output;
  bring_weights(*engine, model);
  REQUIRE(run(*engine, input, &output));
  expect_close("the refitted engine", output, expected);
  REQUIRE(run(*load(*runtime, *whole), input, &output));
  expect_close("the whole plan", output, expected);

  // Written with its weights, and without them again.
  const std::unique_ptr<ISerializationConfig> options(engine->createSerializationConfig());
  REQUIRE(options->clearFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  const std::unique_ptr<IHostMemory> full(engine->serializeWithConfig(*options));
  REQUIRE(full != nullptr && full->size() > kWeightBytes);
  REQUIRE(run(*load(*runtime, *full), input, &output));
  expect_close("written as a whole plan", output, expected);
  REQUIRE(options->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  const std::unique_ptr<IHostMemory> bare(engine->serializeWithConfig(*options));
  REQUIRE(bare != nullptr && bare->size() < kWeightBytes);
  const std::unique_ptr<ICudaEngine> again = load(*runtime, *bare);
  bring_weights(*again, model);
  REQUIRE(run(*again, input, &output));
  expect_close("stripped once more, and refitted", output, expected);
  return 0;
}
