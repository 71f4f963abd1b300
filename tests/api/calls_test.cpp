// Wrong calls: every one answers by false, null or -1 and a message, and nothing breaks.
#include <functional>

#include "api/recorder.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

// x [2,3] -> y = relu(x).
struct Small : Bench {
  Small() {
    x = input("x", {2, 3});
    output(network->addActivation(*x, ActivationType::kRELU), "y");
  }
  ITensor* x;
};

TEST(BadCalls, Table) {
  Small b;
  Bench other;
  ITensor* foreign = other.input("x", {2, 3});
  ITensor& x = *b.x;
  INetworkDefinition& n = *b.network;
  const Floats six(6, 0);
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(n, *b.config));
  Owned<IRuntime> runtime(createInferRuntime(b.logger));
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  IOptimizationProfile* profile = b.builder->createOptimizationProfile();
  Owned<IEngineInspector> inspector(engine->createEngineInspector());
  Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(n, b.logger));
  std::vector<char> garbage(300, 'x');
  struct Case {
    const char* name;
    std::function<bool()> refused;
    const char* says;
  };
  const std::vector<Case> table{
      {"input without a name", [&] { return !n.addInput(nullptr, DataType::kFLOAT, dims({1})); }, "name"},
      {"input twice", [&] { return !n.addInput("x", DataType::kFLOAT, dims({1})); }, "'x'"},
      {"nine dimensions",
       [&] {
         return !n.addInput("z", DataType::kFLOAT, Dims{9, {1, 1, 1, 1, 1, 1, 1, 1}});
       },
       "9"},
      {"extent -2", [&] { return !n.addInput("z", DataType::kFLOAT, dims({-2})); }, "-2"},
      {"unknown type", [&] { return !n.addInput("z", static_cast<DataType>(99), dims({1})); }, "99"},
      {"foreign tensor", [&] { return !n.addActivation(*foreign, ActivationType::kRELU); }, "another network"},
      {"unknown activation", [&] { return !n.addActivation(x, static_cast<ActivationType>(77)); }, "77"},
      {"no output maps",
       [&] {
         return !n.addConvolutionNd(x, 0, dims({1, 1}), kNone, kNone);
       },
       "0 output maps"},
      {"no window", [&] { return !n.addPoolingNd(x, PoolingType::kMAX, dims({})); }, "0 dimensions"},
      {"wrong count of weights", [&] { return !n.addConstant(dims({7}), weights(six)); }, "6 values"},
      {"null inputs", [&] { return !n.addConcatenation(nullptr, 2); }, "2 inputs"},
      {"null equation", [&] { return !n.addEinsum(nullptr, 1, nullptr); }, "null"},
      {"devices",
       [&] { return !n.addDistCollective(x, CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, 0, nullptr, 1); },
       "not offered"},
      {"input as output", [&] { return n.markOutput(x), n.getNbOutputs() == 1; }, "is an input"},
      {"unmark no output", [&] { return n.unmarkOutput(x), true; }, "no output"},
      {"debug input", [&] { return !n.markDebug(x); }, "is an input"},
      {"format", [&] { return x.setAllowedFormats(0), x.getAllowedFormats() & 1U; }, "no set of formats"},
      {"range", [&] { return !x.setDynamicRange(2, 1); }, "no range"},
      {"profile rank",
       [&] {
         return profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 1})) &&
                !profile->setDimensions("x", OptProfileSelector::kMAX, dims({1}));
       },
       "ranks"},
      {"profile order",
       [&] {
         return !profile->setDimensions("x", OptProfileSelector::kMAX, dims({0, 1}));
       },
       "min"},
      {"profile null", [&] { return !profile->setDimensions(nullptr, OptProfileSelector::kMAX, dims({1})); }, "null"},
      {"unfinished profile", [&] { return b.config->addOptimizationProfile(profile) == -1; }, "not valid"},
      {"null profile", [&] { return b.config->addOptimizationProfile(nullptr) == -1; }, "null"},
      {"level", [&] { return b.config->setBuilderOptimizationLevel(6), b.config->getBuilderOptimizationLevel() == 3; },
       "6"},
      {"flag", [&] { return b.config->setFlag(static_cast<BuilderFlag>(31)), !b.config->getFlag(BuilderFlag(31)); },
       "31"},
      {"option", [&] { return wootz_config_set_option(b.config.get(), "speed", "high") == 1; }, "'speed'"},
      {"backend", [&] { return wootz_config_set_option(b.config.get(), "backend", "abacus") == 1; }, "'abacus'"},
      {"timing cache", [&] { return !b.config->createTimingCache(garbage.data(), garbage.size()); }, ""},
      {"null plan", [&] { return !runtime->deserializeCudaEngine(nullptr, 8); }, "null"},
      {"no plan", [&] { return !runtime->deserializeCudaEngine(garbage.data(), garbage.size()); }, ""},
      {"empty plan", [&] { return !runtime->deserializeCudaEngine(garbage.data(), 0); }, ""},
      {"half a plan", [&] { return !runtime->deserializeCudaEngine(plan->data(), plan->size() / 2); }, ""},
      {"plan with a changed byte",
       [&] {
         std::vector<char> bytes(static_cast<char*>(plan->data()), static_cast<char*>(plan->data()) + plan->size());
         bytes[bytes.size() / 2] ^= 1;
         return !runtime->deserializeCudaEngine(bytes.data(), bytes.size());
       },
       ""},
      {"plan file", [&] { return !wootz_runtime_load_file(runtime.get(), "/nowhere/at/all.plan"); }, "/nowhere"},
      {"other runtime", [&] { return !runtime->loadRuntime("libother.so"); }, ""},
      {"unknown tensor", [&] { return engine->getTensorIOMode("q") == TensorIOMode::kNONE; }, "'q'"},
      {"null tensor", [&] { return engine->getTensorShape(nullptr).nbDims == -1; }, "null"},
      {"tensor index", [&] { return engine->getIOTensorName(2) == nullptr; }, "2 of 2"},
      {"profile index", [&] { return engine->getProfileShape("x", 1, OptProfileSelector::kMIN).nbDims == -1; }, "1"},
      {"profile of an output", [&] { return engine->getProfileShape("y", 0, OptProfileSelector::kMIN).nbDims == -1; },
       "output"},
      {"budget", [&] { return !engine->setWeightStreamingBudgetV2(1); }, "stream"},
      {"shape of an output",
       [&] {
         return !context->setInputShape("y", dims({2, 3}));
       },
       "output"},
      {"rank of a shape", [&] { return !context->setInputShape("x", dims({2})); }, "rank"},
      {"fixed shape",
       [&] {
         return !context->setInputShape("x", dims({2, 4}));
       },
       "[2x4]"},
      {"open shape",
       [&] {
         return !context->setInputShape("x", dims({2, -1}));
       },
       "-1"},
      {"address of nothing", [&] { return !context->setTensorAddress("q", nullptr); }, "'q'"},
      {"output as input", [&] { return !context->setInputTensorAddress("y", six.data()); }, "output"},
      {"no addresses", [&] { return !context->enqueueV3(nullptr); }, "'x'"},
      {"no bindings", [&] { return !context->executeV2(nullptr); }, "null"},
      {"no stream", [&] { return !context->enqueueV3(reinterpret_cast<cudaStream_t>(&b)); }, ""},
      {"memory of its own", [&] { return context->setDeviceMemoryV2(nullptr, 0), true; }, "memory"},
      {"profile of a context", [&] { return !context->setOptimizationProfileAsync(1, nullptr); }, "profile 1"},
      {"strides of nothing", [&] { return context->getTensorStrides("q").nbDims == -1; }, "'q'"},
      {"shape of null",
       [&] {
         return !context->setInputShape(nullptr, dims({2, 3}));
       },
       "null"},
      {"bytes of an input", [&] { return context->getMaxOutputSize("x") == -1; }, "input"},
      {"allocator of an input", [&] { return !context->setOutputAllocator("x", nullptr); }, "input"},
      {"allocator of nothing", [&] { return context->getOutputAllocator("q") == nullptr; }, "'q'"},
      {"address of an input as an output's", [&] { return context->getOutputTensorAddress("x") == nullptr; }, "input"},
      {"name of a context", [&] { return context->setName(nullptr), true; }, "null"},
      {"streams", [&] { return context->setAuxStreams(nullptr, 2), true; }, "2 streams"},
      {"a communicator", [&] { return !context->setCommunicator(&b); }, "setCommunicator"},
      {"names for shapes", [&] { return context->inferShapes(2, nullptr) == -1; }, "null"},
      {"cache", [&] { return context->setPersistentCacheLimit(1), context->getPersistentCacheLimit() == 0; },
       "1 bytes"},
      {"memory of a profile", [&] { return engine->getDeviceMemorySizeForProfileV2(3) == 0; }, "3"},
      {"format of nothing", [&] { return engine->getTensorFormatDesc("q") != nullptr; }, "'q'"},
      {"values of nothing", [&] { return !engine->getProfileTensorValuesV2("q", 0, OptProfileSelector::kMIN); }, "'q'"},
      {"alias of nothing", [&] { return !engine->getAliasedInputTensor("q"); }, "'q'"},
      {"strategy", [&] { return !engine->createExecutionContext(static_cast<ExecutionContextAllocationStrategy>(7)); },
       "7"},
      {"threads", [&] { return !runtime->setMaxThreads(-1); }, "-1"},
      {"folder", [&] { return runtime->setTemporaryDirectory("/nowhere"), true; }, "'/nowhere'"},
      {"file flags", [&] { return runtime->setTempfileControlFlags(16), runtime->getTempfileControlFlags() == 3; },
       "0x10"},
      {"null file", [&] { return !wootz_runtime_load_file(runtime.get(), nullptr); }, "null"},
      {"null memory", [&] { return !wootz_runtime_load_memory(runtime.get(), nullptr); }, "not made"},
      {"context of nothing to replay", [&] { return wootz_context_replay(nullptr, 1) == 1; }, "null"},
      {"null path of a model", [&] { return !parser->parseFromFile(nullptr, 0); }, "null"},
      {"empty model", [&] { return !parser->parse(garbage.data(), 0); }, "no bytes"},
      {"no profiler", [&] { return !context->reportToProfiler(); }, "profiler"},
      {"debug state", [&] { return !context->setTensorDebugState("y", true); }, "'y'"},
      {"unfused debug", [&] { return !context->setUnfusedTensorsDebugState(true); }, "mark"},
      {"layer index", [&] { return std::string(inspector->getLayerInformation(9, {})) == "no such layer"; }, "9"},
      {"stream to destroy", [&] { return wootz_stream_destroy(&b) == 1; }, "no host stream"},
      {"no model", [&] { return !parser->parse(nullptr, 5); }, "null"},
      {"garbage model", [&] { return !parser->parse(garbage.data(), garbage.size()) && parser->getNbErrors() > 0; },
       ""},
      {"no file", [&] { return !parser->parseFromFile("/nowhere/model.onnx", 0); }, "/nowhere"},
      {"refitter", [&] { return !createInferRefitter(*engine, b.logger); }, "refit"},
  };
  for (const Case& c : table) {
    SCOPED_TRACE(c.name);
    b.logger.take_errors();
    EXPECT_TRUE(c.refused());
    const std::string said = b.logger.take_errors();
    EXPECT_NE(said, "");
    EXPECT_NE(said.find(c.says), std::string::npos) << said;
  }
  // And it still works.
  expect_near(run(*context, {{"x", six.data()}}, "y"), six);
}

TEST(BadCalls, NetworksThatCannotBeBuilt) {
  {
    Bench b;
    b.input("x", {1});
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("no output"), std::string::npos);
  }
  {
    Bench b;
    b.output(b.network->addActivation(*b.input("x", {-1}), ActivationType::kRELU), "y");
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("profile"), std::string::npos);
    EXPECT_FALSE(b.builder->isNetworkSupported(*b.network, *b.config));
  }
  {
    Bench b;
    ITensor *x = b.input("x", {2, 3}), *y = b.input("y", {2, 4});
    ILayer* sum = b.network->addElementWise(*x, *y, ElementWiseOperation::kSUM);
    sum->setName("the sum");
    b.output(sum, "z");
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("the sum"), std::string::npos);
    EXPECT_NE(b.logger.errors().find("[2,3]"), std::string::npos) << b.logger.errors();
    EXPECT_NE(b.logger.errors().find("[2,4]"), std::string::npos);
  }
  {
    Bench b;  // a cycle
    ILayer* a = b.network->addActivation(*b.input("x", {1}), ActivationType::kRELU);
    ILayer* c = b.network->addActivation(*a->getOutput(0), ActivationType::kRELU);
    a->setInput(0, *c->getOutput(0));
    b.output(c, "y");
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("own output"), std::string::npos) << b.logger.errors();
  }
  {
    Small b;
    b.profile("nobody", {1}, {1}, {1});
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("'nobody'"), std::string::npos);
  }
  {
    Small b;
    b.config->setEngineCapability(EngineCapability::kSAFETY);
    EXPECT_EQ(b.engine(), nullptr);
  }
  {
    Small b;
    ASSERT_EQ(wootz_config_set_option(b.config.get(), "disable_passes", "no_such_pass"), 0);
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_NE(b.logger.errors().find("no_such_pass"), std::string::npos);
  }
}

TEST(BadCalls, ErrorRecorderIsToldAndCounted) {
  Recorder recorder;
  {
    Small b;
    b.builder->setErrorRecorder(&recorder);
    EXPECT_EQ(recorder.count, 1);
    Owned<INetworkDefinition> network(b.builder->createNetworkV2(0));
    EXPECT_EQ(recorder.count, 2) << "objects made from now on have it too";
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    ASSERT_EQ(recorder.errors.size(), 1u);
    EXPECT_EQ(recorder.errors[0].first, ErrorCode::kINVALID_ARGUMENT);
    EXPECT_LE(recorder.errors[0].second.size(), IErrorRecorder::kMAX_DESC_LENGTH);
    Owned<ICudaEngine> engine = b.engine();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    context->setErrorRecorder(&recorder);
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_EQ(recorder.errors.back().first, ErrorCode::kINVALID_STATE);
    EXPECT_EQ(context->getErrorRecorder(), &recorder);
  }
  EXPECT_EQ(recorder.count, 0);
}

TEST(BadCalls, VersionsAreChecked) {
  Logger logger;
  EXPECT_EQ(createInferBuilder_INTERNAL(&logger, 80601), nullptr);
  EXPECT_EQ(createInferRuntime_INTERNAL(&logger, 90200), nullptr);
  EXPECT_NE(logger.errors().find("8.6.1"), std::string::npos) << logger.errors();
  EXPECT_NE(logger.errors().find("9.2.0"), std::string::npos) << logger.errors();
  EXPECT_NE(logger.errors().find("10.16.0 and 11.1.0"), std::string::npos) << logger.errors();
  EXPECT_EQ(createInferBuilder_INTERNAL(nullptr, NV_TENSORRT_VERSION), nullptr);
  const Owned<IBuilder> builder(createInferBuilder(logger));
  EXPECT_EQ(getLogger(), &logger);
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
  EXPECT_EQ(getInferLibMajorVersion(), 10);
  EXPECT_EQ(getNvOnnxParserVersion(), NV_ONNX_PARSER_VERSION);
  ASSERT_NE(getPluginRegistry(), nullptr);
  Logger other;  // the builders' logger stays
  EXPECT_TRUE(initLibNvInferPlugins(&other, ""));
  EXPECT_EQ(getLogger(), &logger);
}

}  // namespace
}  // namespace wootz_test
