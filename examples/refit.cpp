// New weights for an engine that is built already: by their names, and all of them from an ONNX model, while a context
// waits. After each refit the results are those of an engine that was built with the new weights, and of plain loops.
#include <NvOnnxParser.h>

#include <algorithm>
#include <cstring>

#include "common.h"
#include "onnx_writer.h"

namespace {

using namespace example;

constexpr int kRows = 4, kIn = 12, kInner = 20, kOut = 6;

// y = relu(x * first + bias) * second.
struct Model {
  explicit Model(uint64_t seed) : random(seed) {}
  std::string file() const {
    return OnnxModel()
        .input("x", {kRows, kIn})
        .constant("first", {kIn, kInner}, first)
        .constant("bias", {kInner}, bias)
        .constant("second", {kInner, kOut}, second)
        .node("MatMul", {"x", "first"}, "product")
        .node("Add", {"product", "bias"}, "sum")
        .node("Relu", {"sum"}, "inner")
        .node("MatMul", {"inner", "second"}, "y")
        .output("y", {kRows, kOut})
        .file();
  }
  std::vector<float> expected(const std::vector<float>& x) const {
    std::vector<float> y(kRows * kOut);
    for (int r = 0; r < kRows; ++r)
      for (int j = 0; j < kInner; ++j) {
        float sum = bias[j];
        for (int i = 0; i < kIn; ++i) sum += x[r * kIn + i] * first[i * kInner + j];
        for (int o = 0; o < kOut; ++o) y[r * kOut + o] += std::fmax(sum, 0.F) * second[j * kOut + o];
      }
    return y;
  }

  Random random;
  std::vector<float> first = random.values(kIn * kInner), bias = random.values(kInner);
  std::vector<float> second = random.values(kInner * kOut);
};

std::unique_ptr<ICudaEngine> build(IRuntime& runtime, const Model& model, bool refittable) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config = exact_config(*builder);
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger()));
  const std::string file = model.file();
  REQUIRE(parser->parse(file.data(), file.size()));
  if (refittable) config->setFlag(BuilderFlag::kREFIT);
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  REQUIRE(plan != nullptr);
  return load(runtime, *plan);
}

// A context that was there before the refits: it takes the new weights from its next inference on.
struct Runner {
  explicit Runner(ICudaEngine& engine) : context(engine.createExecutionContext()), x(kRows * kIn), y(kRows * kOut) {
    REQUIRE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  }
  std::vector<float> run(const std::vector<float>& input) {
    x.upload(input, stream);
    REQUIRE(context->enqueueV3(stream));
    return y.download(stream);
  }
  Stream stream;
  std::unique_ptr<IExecutionContext> context;
  DeviceArray<float> x, y;
};

std::vector<float> of_fresh_build(IRuntime& runtime, const Model& model, const std::vector<float>& input) {
  const std::unique_ptr<ICudaEngine> engine = build(runtime, model, false);
  REQUIRE(!engine->isRefittable());
  return Runner(*engine).run(input);
}

}  // namespace

int main() {
  const Model old(31), other(32);
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger()));
  const std::unique_ptr<ICudaEngine> engine = build(*runtime, old, true);
  REQUIRE(engine->isRefittable());
  const std::vector<float> input = Random(33).values(kRows * kIn);
  Runner runner(*engine);
  expect_close("as built", runner.run(input), old.expected(input));

  // By name: one of them, the others stay.
  const std::unique_ptr<IRefitter> refitter(createInferRefitter(*engine, logger()));
  std::vector<const char*> names(refitter->getAllWeights(0, nullptr));
  REQUIRE(refitter->getAllWeights(static_cast<int32_t>(names.size()), names.data()) ==
          static_cast<int32_t>(names.size()));
  for (const char* name : {"first", "bias", "second"})
    REQUIRE(std::any_of(names.begin(), names.end(), [&](const char* one) { return std::strcmp(one, name) == 0; }));
  REQUIRE(refitter->getWeightsPrototype("second").count == kInner * kOut);
  REQUIRE(!refitter->setNamedWeights("third", weights(other.second)));  // refused, and said in the log
  REQUIRE(refitter->setNamedWeights("second", weights(other.second)));
  REQUIRE(refitter->getMissingWeights(0, nullptr) == 0);
  REQUIRE(refitter->refitCudaEngine());
  Model mixed = old;
  mixed.second = other.second;
  const std::vector<float> after_one = runner.run(input);
  expect_close("one matrix by its name", after_one, mixed.expected(input));
  expect_close("the same, built", after_one, of_fresh_build(*runtime, mixed, input));

  // All of them, from a model.
  const std::unique_ptr<nvonnxparser::IParserRefitter> parser(nvonnxparser::createParserRefitter(*refitter, logger()));
  const std::string file = other.file();
  REQUIRE(parser->refitFromBytes(file.data(), file.size()));
  REQUIRE(refitter->getMissingWeights(0, nullptr) == 0);
  REQUIRE(refitter->refitCudaEngineAsync(runner.stream));
  const std::vector<float> after_all = runner.run(input);
  expect_close("all from ONNX", after_all, other.expected(input));
  expect_close("the same, built", after_all, of_fresh_build(*runtime, other, input));

  // A plan of the refitted engine has the new weights.
  const std::unique_ptr<IHostMemory> plan(engine->serialize());
  REQUIRE(plan != nullptr);
  const std::unique_ptr<ICudaEngine> loaded = load(*runtime, *plan);
  expect_close("loaded again", Runner(*loaded).run(input), other.expected(input));
  return 0;
}
