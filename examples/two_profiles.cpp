// One engine with two profiles: one row for a quick answer, and up to 64 rows for throughput. A context changes between
// them in the order of its stream; two contexts use one each at the same time.
#include "common.h"

namespace {

using namespace example;

constexpr int kIn = 24, kOut = 16, kMost = 64;

struct Model {
  Random random{6};
  std::vector<float> matrix = random.values(kIn * kOut), offset = random.values(kOut);
};

void add_profile(IBuilder& builder, IBuilderConfig& config, int64_t least, int64_t usual, int64_t most) {
  IOptimizationProfile* const profile = builder.createOptimizationProfile();
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{least, kIn}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{usual, kIn}));
  REQUIRE(profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{most, kIn}));
  REQUIRE(config.addOptimizationProfile(profile) == config.getNbOptimizationProfiles() - 1);
}

std::unique_ptr<IHostMemory> build(const Model& model) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, kIn});
  x = multiply(*network, x, constant(*network, Dims2{kIn, kOut}, model.matrix));
  x = combine(*network, x, ElementWiseOperation::kSUM, constant(*network, Dims2{1, kOut}, model.offset));
  mark_output(*network, network->addActivation(*x, ActivationType::kTANH)->getOutput(0), "y");
  add_profile(*builder, *config, 1, 1, 1);
  add_profile(*builder, *config, 2, 32, kMost);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return plan;
}

std::vector<float> expected(const Model& model, const std::vector<float>& x) {
  std::vector<float> y(x.size() / kIn * kOut);
  for (size_t i = 0; i < y.size(); ++i) {
    float sum = model.offset[i % kOut];
    for (int k = 0; k < kIn; ++k) sum += x[i / kOut * kIn + k] * model.matrix[k * kOut + i % kOut];
    y[i] = std::tanh(sum);
  }
  return y;
}

// A context with memory of its own.
struct Worker {
  explicit Worker(ICudaEngine& engine) : context(engine.createExecutionContext()), x(kMost * kIn), y(kMost * kOut) {
    REQUIRE(context != nullptr);
    REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  }
  void start(const std::vector<float>& input) {
    x.upload(input, stream);
    REQUIRE(context->setInputShape("x", Dims2{static_cast<int64_t>(input.size()) / kIn, kIn}));
    REQUIRE(context->enqueueV3(stream));
  }
  std::vector<float> finish(const std::vector<float>& input) { return y.download(stream, input.size() / kIn * kOut); }

  Stream stream;
  std::unique_ptr<IExecutionContext> context;
  DeviceArray<float> x, y;
};

}  // namespace

int main() {
  const Model model;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = load(*runtime, *build(model));
  REQUIRE(engine->getNbOptimizationProfiles() == 2);
  REQUIRE(engine->getProfileShape("x", 1, OptProfileSelector::kMAX).d[0] == kMost);
  Worker worker(*engine);
  Random random(60);
  // From one to the other and back, in one stream.
  for (const int rows : {1, 32, kMost, 1, 2, 1}) {
    REQUIRE(worker.context->setOptimizationProfileAsync(rows == 1 ? 0 : 1, worker.stream));
    REQUIRE(worker.context->getOptimizationProfile() == (rows == 1 ? 0 : 1));
    const std::vector<float> input = random.values(static_cast<int64_t>(rows) * kIn);
    worker.start(input);
    expect_close(rows == 1 ? "profile 0" : "profile 1", worker.finish(input), expected(model, input));
  }
  REQUIRE(!worker.context->setInputShape("x", Dims2{2, kIn}));  // profile 0 is in use: refused, and said in the log
  REQUIRE(!worker.context->setOptimizationProfileAsync(2, worker.stream));
  // Both at the same time.
  Worker other(*engine);
  REQUIRE(other.context->setOptimizationProfileAsync(1, other.stream));
  const std::vector<float> one = random.values(kIn), many = random.values(48 * kIn);
  worker.start(one);
  other.start(many);
  expect_close("one row", worker.finish(one), expected(model, one));
  expect_close("48 rows", other.finish(many), expected(model, many));
  return 0;
}
