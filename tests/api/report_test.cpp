// Reports on builds and plans, comparisons, and taps on values inside a network.
#include <map>
#include <random>
#include <set>

#include "api/harness.h"
#include "base/json.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using json = wootz::SortedJson;
using Floats = std::vector<float>;

class Infos final : public ILogger {
 public:
  void log(Severity severity, const AsciiChar* msg) noexcept override {
    if (severity == Severity::kINFO) lines += std::string(msg) + "\n";
    if (severity <= Severity::kERROR) errors += std::string(msg) + "\n";
  }
  std::string lines, errors;
};

std::string text_of(void* memory) {
  const Owned<IHostMemory> text(static_cast<IHostMemory*>(memory));
  return text == nullptr ? "" : static_cast<const char*>(text->data());
}

// x -> conv1 -> relu1 -> softmax (soft) -> + relu1's result (add1) -> relu2 -> y. What relu1 makes is read twice, and
// so it exists; what conv1, soft and add1 make does not.
struct Small {
  explicit Small(ILogger& logger) : builder(createInferBuilder(logger)) {
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    wootz_config_set_option(config.get(), "timing", "0");
    kernel.assign(8 * 3 * 3 * 3, 0.1F);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 3, 8, 8}));
    IConvolutionLayer* conv = network->addConvolutionNd(*x, 8, dims({3, 3}), weights(kernel), kNone);
    ITensor* c = named(conv, "conv1", "c");
    ITensor* r = named(network->addActivation(*c, ActivationType::kRELU), "relu1", "r");
    ISoftMaxLayer* soft = network->addSoftMax(*r);
    soft->setAxes(2);
    ITensor* s = named(soft, "soft", "s");
    ITensor* sum = named(network->addElementWise(*r, *s, ElementWiseOperation::kSUM), "add1", "a");
    network->markOutput(*named(network->addActivation(*sum, ActivationType::kRELU), "relu2", "y"));
  }
  ITensor* named(ILayer* layer, const char* name, const char* value) {
    layer->setName(name);
    layer->getOutput(0)->setName(value);
    return layer->getOutput(0);
  }
  Owned<IHostMemory> plan() { return Owned<IHostMemory>(builder->buildSerializedNetwork(*network, *config)); }
  Floats kernel;
  Owned<IBuilder> builder;
  Owned<INetworkDefinition> network;
  Owned<IBuilderConfig> config;
};

json layer_of(const json& report, const std::string& node) {
  for (const json& layer : report["layers"])
    for (const json& name : layer["Nodes"])
      if (name == node) return layer;
  return {};
}

TEST(Reports, SayWhatWasFusedAndWhy) {
  Infos logger;
  Small b(logger);
  Owned<IHostMemory> plan = b.plan();
  ASSERT_NE(plan, nullptr) << logger.errors;
  EXPECT_NE(logger.lines.find("fused 2 nodes: conv1 + relu1"), std::string::npos) << logger.lines;
  const json report = json::parse(wootz_build_report(b.builder.get()));
  EXPECT_EQ(report["operation"], "build-engine");
  EXPECT_EQ(report["status"], "success");
  EXPECT_EQ(report["configuration"]["precision"], json({"FP32"}));
  EXPECT_EQ(report["configuration"]["dynamic_shapes"], false);
  EXPECT_EQ(report["optimization"]["tactics_selected"], report["layers"].size());
  EXPECT_GE(report["optimization"]["layer_fusions"], 1);
  EXPECT_GE(report["optimization"]["reformats_eliminated"], 0);
  EXPECT_GT(report["performance"]["build_time_s"], 0);
  EXPECT_GT(report["performance"]["estimated_latency_ms"], 0);
  EXPECT_NEAR(report["performance"]["engine_size_mb"].get<double>() * 1048576, static_cast<double>(plan->size()), 1);
  EXPECT_EQ(report["nodes"].size(), 5u);
  for (const json& node : report["nodes"]) {
    EXPECT_EQ(node["Fate"], "step") << node;
    ASSERT_FALSE(node["Steps"].empty()) << node;
    const json& layer = report["layers"][node["Steps"][0].get<size_t>()];
    EXPECT_NE(std::find(layer["Nodes"].begin(), layer["Nodes"].end(), node["Name"]), layer["Nodes"].end());
  }
  const json conv = layer_of(report, "conv1");
  EXPECT_EQ(conv["Name"], "conv1 + relu1");
  EXPECT_EQ(conv["LayerType"], "Convolution");
  EXPECT_EQ(conv["Kernel"], json({3, 3}));
  EXPECT_EQ(conv["OutMaps"], 8);
  EXPECT_EQ(conv["Metadata"], "[ONNX Layer: conv1]\x1e[ONNX Layer: relu1]");
  EXPECT_EQ(conv["TacticValue"].get<std::string>().substr(0, 2), "0x");
  EXPECT_NEAR(conv["Flops"].get<double>(), 2.0 * 8 * 6 * 6 * 27 + 8 * 6 * 6, 1);
  EXPECT_NEAR(conv["BytesWritten"].get<double>(), 8 * 6 * 6 * 4, 1);
  ASSERT_TRUE(conv["Tactics"]["Considered"].is_array());
  EXPECT_EQ(conv["Tactics"]["Considered"][conv["Tactics"]["Chosen"].get<size_t>()]["Tactic"], conv["TacticName"]);
  EXPECT_FALSE(conv["Tactics"]["NotApplicable"].empty()) << "no kernel said why it does not apply";
  for (const json& refused : conv["Tactics"]["NotApplicable"]) EXPECT_NE(refused["Reason"], "");
  ASSERT_EQ(report["memory"].size(), 1u);
  const json& memory = report["memory"][0];
  EXPECT_EQ(memory["AliveBytes"].size(), report["layers"].size());
  for (const json& bytes : memory["AliveBytes"]) EXPECT_LE(bytes, memory["ArenaBytes"]);
  EXPECT_EQ(report["estimated_memory"].size(), 1u);
  std::set<std::string> merged;
  for (const json& f : report["fusions"]) merged.insert(f["Members"].begin(), f["Members"].end());
  EXPECT_TRUE(merged.count("conv1") && merged.count("relu1"));
}

TEST(Reports, PointwiseTreesAreNamedAsTensorRtNamesThem) {
  Infos logger;
  Small b(logger);
  Owned<INetworkDefinition> network(b.builder->createNetworkV2(0));
  ITensor *x = network->addInput("x", DataType::kFLOAT, dims({4, 5})),
          *z = network->addInput("z", DataType::kFLOAT, dims({4, 5}));
  ILayer* add = network->addElementWise(*x, *z, ElementWiseOperation::kSUM);
  add->setName("add1");
  ILayer* relu = network->addActivation(*add->getOutput(0), ActivationType::kRELU);
  relu->setName("relu1");
  network->markOutput(*relu->getOutput(0));
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*network, *b.config));
  ASSERT_NE(plan, nullptr) << logger.errors;
  const json report = json::parse(wootz_build_report(b.builder.get()));
  ASSERT_EQ(report["layers"].size(), 1u);
  EXPECT_EQ(report["layers"][0]["Name"], "fusedPointwiseNode(add1, relu1)");
  EXPECT_EQ(report["layers"][0]["Flops"], 40);
}

TEST(Reports, InEveryFormOfBuildsAndPlans) {
  Infos logger;
  Small b(logger);
  EXPECT_EQ(wootz_build_report_as(b.builder.get(), "html"), nullptr) << "nothing was built";
  EXPECT_NE(logger.errors.find("nothing was built"), std::string::npos);
  Owned<IHostMemory> plan = b.plan();
  Owned<IRuntime> runtime(createInferRuntime(logger));
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << logger.errors;
  const json built = json::parse(wootz_build_report(b.builder.get()));
  const json loaded = json::parse(text_of(wootz_engine_report(engine.get(), "json")));
  for (const char* key : {"layers", "nodes", "fusions", "edges", "bindings", "memory"})
    EXPECT_EQ(built[key], loaded[key]) << key;
  EXPECT_EQ(built["optimization"], loaded["optimization"]);
  for (void* page : {wootz_build_report_as(b.builder.get(), "html"), wootz_engine_report(engine.get(), "html")}) {
    const std::string html = text_of(page);
    EXPECT_NE(html.find("<!DOCTYPE html>"), std::string::npos);
    EXPECT_NE(html.find("conv1 + relu1"), std::string::npos);
    EXPECT_EQ(html.find("http://www.w3.org/2000/svg"), html.find("http"));
    EXPECT_EQ(html.find("src="), std::string::npos) << "something is to be fetched";
  }
  const std::string svg = text_of(wootz_engine_report(engine.get(), "svg"));
  EXPECT_EQ(svg.find("<svg"), 0u);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(text_of(wootz_engine_report(engine.get(), "text")).find("conv1 + relu1"), std::string::npos);
  logger.errors.clear();
  EXPECT_EQ(wootz_engine_report(engine.get(), "pdf"), nullptr);
  EXPECT_NE(logger.errors.find("'pdf'"), std::string::npos);
  EXPECT_EQ(wootz_engine_report(nullptr, "json"), nullptr);
  EXPECT_EQ(wootz_build_report_as(nullptr, "json"), nullptr);
}

TEST(Reports, NamesCannotBreakThePage) {
  Infos logger;
  Small b(logger);
  b.network->getLayer(0)->setName("</script><b>&\"conv\"{graph}{title}");
  b.network->setName("<i>net</i>{graph}");
  ASSERT_NE(b.plan(), nullptr) << logger.errors;
  const std::string html = text_of(wootz_build_report_as(b.builder.get(), "html"));
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  EXPECT_EQ(html.find("<i>net"), std::string::npos);
  EXPECT_EQ(html.find("<svg xmlns", html.find("<svg xmlns") + 1), std::string::npos) << "the graph stands there twice";
}

TEST(Reports, ComparedInTheModelsTerms) {
  Infos logger;
  Small b(logger);
  ASSERT_NE(b.plan(), nullptr);
  const std::string fused = wootz_build_report(b.builder.get());
  EXPECT_EQ(json::parse(text_of(wootz_compare_reports(fused.c_str(), fused.c_str(), "json")))["same"], true);
  wootz_config_set_option(b.config.get(), "disable_passes", "all");
  ASSERT_NE(b.plan(), nullptr);
  const std::string apart = wootz_build_report(b.builder.get());
  const json diff = json::parse(text_of(wootz_compare_reports(fused.c_str(), apart.c_str(), "json")));
  EXPECT_EQ(diff["same"], false);
  bool found = false;
  for (const json& f : diff["fusion"])
    found =
        found || (f["a"] == json::parse(R"([["conv1","relu1"]])") && f["b"] == json::parse(R"([["conv1"],["relu1"]])"));
  EXPECT_TRUE(found) << diff["fusion"];
  EXPECT_NE(text_of(wootz_compare_reports(fused.c_str(), apart.c_str(), "text")).find("A: conv1 + relu1"),
            std::string::npos);
  EXPECT_EQ(wootz_compare_reports("{", fused.c_str(), "json"), nullptr);
  EXPECT_EQ(wootz_compare_reports("[]", fused.c_str(), "json"), nullptr);
  EXPECT_EQ(wootz_compare_reports(fused.c_str(), fused.c_str(), "html"), nullptr);
}

// Taps.

struct Values final : IDebugListener {
  bool processDebugTensor(const void* data, TensorLocation, DataType type, const Dims& shape, const char* name,
                          cudaStream_t) override {
    if (type == DataType::kFLOAT)
      values[name].assign(static_cast<const float*>(data), static_cast<const float*>(data) + volume(shape));
    shapes[name] = list(shape);
    return ++calls < stop_after;
  }
  std::map<std::string, Floats> values;
  std::map<std::string, std::vector<int64_t>> shapes;
  int calls = 0, stop_after = 1 << 30;
};

TEST(Taps, ReadWhatIsThereAndSayWhereTheRestIs) {
  Infos logger;
  Small b(logger);
  Owned<IHostMemory> plan = b.plan();
  Owned<IRuntime> runtime(createInferRuntime(logger));
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << logger.errors;
  Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(wootz_context_tap(context.get(), "r", 1), 0) << logger.errors;
  EXPECT_EQ(wootz_context_tap(context.get(), "x", 1), 0) << logger.errors;
  EXPECT_EQ(wootz_context_tap(context.get(), "y", 1), 0) << logger.errors;
  logger.errors.clear();
  EXPECT_EQ(wootz_context_tap(context.get(), "c", 1), 1);
  for (const char* part : {"'c'", "'conv1 + relu1'", "inputs 'x'", "outputs 'r'"})
    EXPECT_NE(logger.errors.find(part), std::string::npos) << logger.errors;
  logger.errors.clear();
  EXPECT_EQ(wootz_context_tap(context.get(), "no such value", 1), 1);
  EXPECT_EQ(wootz_context_tap(context.get(), nullptr, 1), 1);
  EXPECT_EQ(wootz_context_tap(nullptr, "r", 1), 1);
  Values seen;
  context->setDebugListener(&seen);
  const Floats x(3 * 8 * 8, 0.5F);
  const Floats y = run(*context, {{"x", x.data()}}, "y");
  EXPECT_EQ(seen.shapes["r"], (std::vector<int64_t>{1, 8, 6, 6}));
  expect_near(seen.values["r"], Floats(8 * 6 * 6, 27 * 0.5F * 0.1F));
  expect_near(seen.values["x"], x);
  expect_near(seen.values["y"], y);
  EXPECT_EQ(wootz_context_tap(context.get(), "r", 0), 0);
  seen.values.clear();
  run(*context, {{"x", x.data()}}, "y");
  EXPECT_EQ(seen.values.count("r"), 0u);
  EXPECT_EQ(seen.values.count("x"), 1u);
  seen.calls = 0;
  seen.stop_after = 1;
  logger.errors.clear();
  Floats kept(y.size());
  ASSERT_TRUE(context->setTensorAddress("y", kept.data()));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_NE(logger.errors.find("listener"), std::string::npos) << logger.errors;
}

// A random network over 2x4x6x6 tensors, its values named v0, v1, ...
struct RandomNet {
  RandomNet(IBuilder& builder, uint64_t seed) : network(builder.createNetworkV2(0)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 0.5F);
    kernels.resize(64);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 4, 6, 6}));
    std::vector<ITensor*> pool{x};
    const auto pick = [&]() -> ITensor& { return *pool[random() % pool.size()]; };
    for (int i = 0; i < 18; ++i) {
      ILayer* layer = nullptr;
      switch (random() % 9) {
        case 0: layer = network->addActivation(pick(), ActivationType::kRELU); break;
        case 1: layer = network->addActivation(pick(), ActivationType::kTANH); break;
        case 2: layer = network->addElementWise(pick(), pick(), ElementWiseOperation::kSUM); break;
        case 3: layer = network->addElementWise(pick(), pick(), ElementWiseOperation::kMAX); break;
        case 4: {
          Floats& w = kernels[static_cast<size_t>(2 * i)];
          w.resize(16);
          for (float& v : w) v = normal(random);
          layer = network->addConvolutionNd(pick(), 4, dims({1, 1}), weights(w), kNone);
          break;
        }
        case 5: {  // a factor and an offset, which fold into a convolution before them
          Floats &w = kernels[static_cast<size_t>(2 * i)], &s = kernels[static_cast<size_t>(2 * i + 1)];
          w.resize(4);
          s.resize(4);
          for (float& v : w) v = normal(random);
          for (float& v : s) v = 1 + normal(random);
          layer = network->addScale(pick(), ScaleMode::kCHANNEL, weights(w), weights(s), kNone);
          break;
        }
        case 6: {
          auto* shuffle = network->addShuffle(pick());
          shuffle->setFirstTranspose(Permutation{0, 1, 3, 2});
          layer = shuffle;
          break;
        }
        case 7: layer = network->addIdentity(pick()); break;
        default: {
          auto* soft = network->addSoftMax(pick());
          soft->setAxes(2);
          layer = soft;
        }
      }
      layer->setName(("n" + std::to_string(i)).c_str());
      layer->getOutput(0)->setName(("v" + std::to_string(i)).c_str());
      pool.push_back(layer->getOutput(0));
    }
    network->markOutput(*pool.back());
    output = pool.back()->getName();
  }
  std::vector<Floats> kernels;
  Owned<INetworkDefinition> network;
  std::string output;
};

std::map<std::string, Floats> all_values(RandomNet& net, IBuilder& builder, Infos& logger, bool reference,
                                         const Floats& x) {
  Owned<IBuilderConfig> config(builder.createBuilderConfig());
  wootz_config_set_option(config.get(), "timing", "0");
  if (reference) {
    wootz_config_set_option(config.get(), "backend", "reference");
    wootz_config_set_option(config.get(), "disable_passes", "all");
  }
  Owned<IHostMemory> plan(builder.buildSerializedNetwork(*net.network, *config));
  Owned<IRuntime> runtime(createInferRuntime(logger));
  if (plan == nullptr) return {};
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) return {};
  Owned<IExecutionContext> context(engine->createExecutionContext());
  for (const json& value : json::parse(text_of(wootz_engine_report(engine.get(), "values")))) {
    const std::string name = value["name"];
    logger.errors.clear();
    const bool readable = value["state"] == "tensor";
    EXPECT_EQ(wootz_context_tap(context.get(), name.c_str(), 1), readable ? 0 : 1) << name << logger.errors;
    for (const json& step : value["steps"])
      EXPECT_NE(logger.errors.find("'" + step.get<std::string>() + "'"), std::string::npos) << logger.errors;
  }
  Values seen;
  context->setDebugListener(&seen);
  run(*context, {{"x", x.data()}}, net.output.c_str());
  return seen.values;
}

// What a tap shows is the model's value, whatever was fused, folded, renamed or laid out otherwise around it.
TEST(Taps, ShowWhatTheModelSaysOnRandomNetworks) {
  const uint64_t first = wootz::test_seed();
  size_t read = 0;
  for (uint64_t seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Infos logger;
    Owned<IBuilder> builder(createInferBuilder(logger));
    RandomNet net(*builder, seed);
    std::mt19937_64 random(seed + 1);
    std::normal_distribution<float> normal;
    Floats x(2 * 4 * 6 * 6);
    for (float& v : x) v = normal(random);
    const auto want = all_values(net, *builder, logger, true, x), got = all_values(net, *builder, logger, false, x);
    ASSERT_FALSE(got.empty()) << logger.errors;
    for (const auto& [name, values] : got) {
      const auto found = want.find(name);
      ASSERT_NE(found, want.end()) << name;
      float scale = 1;
      for (const float v : found->second) scale = std::max(scale, std::abs(v));
      SCOPED_TRACE(name);
      expect_near(values, found->second, 1e-4F * scale);
      ++read;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(read, 40u);  // of 40 networks, whichever they are
}

}  // namespace
}  // namespace wootz_test
