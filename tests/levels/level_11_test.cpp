// A program at level 11: its logger and profiler are called as they are made, its numbers mean what they mean there,
// and what level 10 alone has is not in its way.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "NvInfer.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#include "impl/NvInferPythonPlugin.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

using namespace nvinfer1;

static_assert(NV_TENSORRT_VERSION == 110100);
static_assert(std::is_same_v<ILogger, v_1_0::ILogger> && std::is_base_of_v<IVersionedInterface, ILogger>);
static_assert(std::is_base_of_v<IVersionedInterface, IProfiler>);
// One overload only: its address is taken without a cast.
static_assert(std::is_member_function_pointer_v<decltype(&INetworkDefinition::addFill)>);
static_assert(std::is_member_function_pointer_v<decltype(&INetworkDefinition::addQuantize)>);
static_assert(std::is_same_v<bool, decltype(std::declval<IBuilderConfig&>().setMaxAuxStreams(1))>);

class Logger final : public ILogger {
 public:
  void log(Severity severity, const AsciiChar* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  std::string take() { return std::exchange(errors, ""); }
  std::string errors;
};

class Profiler final : public IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) noexcept override {
    EXPECT_NE(std::string(name), "");
    EXPECT_GE(ms, 0.F);
    ++steps;
  }
  int steps = 0;
};

class Level11 : public testing::Test {
 protected:
  Level11() {
    builder.reset(createInferBuilder(logger));
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
  }
  ITensor* input(const char* name, const Dims& dims) { return network->addInput(name, DataType::kFLOAT, dims); }

  Logger logger;
  std::unique_ptr<IBuilder> builder;
  std::unique_ptr<INetworkDefinition> network;
  std::unique_ptr<IBuilderConfig> config;
};

TEST_F(Level11, IsSeenByTheLibrary) {
  EXPECT_EQ(builder->getLogger(), &logger);
  EXPECT_EQ(getLogger(), &logger);
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
  EXPECT_EQ(getInferLibMajorVersion(), 11);
  EXPECT_EQ(getInferLibMinorVersion(), 1);
}

TEST_F(Level11, LoggersAreCalled) {
  network->addInput("x", static_cast<DataType>(99), Dims{1, {2}});
  EXPECT_NE(logger.take().find("addInput"), std::string::npos);
  std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  ASSERT_NE(parser, nullptr);
  EXPECT_FALSE(parser->parse("nonsense", 8));
  EXPECT_NE(logger.take(), "");
  std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  EXPECT_EQ(runtime->getLogger(), &logger);
  EXPECT_EQ(runtime->deserializeCudaEngine("nonsense", 8), nullptr);
  EXPECT_NE(logger.take(), "");
}

TEST_F(Level11, FlagsKeepTheirNumbers) {
  const BuilderFlag flags[] = {BuilderFlag::kDEBUG,
                               BuilderFlag::kGPU_FALLBACK,
                               BuilderFlag::kREFIT,
                               BuilderFlag::kDISABLE_TIMING_CACHE,
                               BuilderFlag::kTF32,
                               BuilderFlag::kSPARSE_WEIGHTS,
                               BuilderFlag::kVERSION_COMPATIBLE,
                               BuilderFlag::kEXCLUDE_LEAN_RUNTIME,
                               BuilderFlag::kERROR_ON_TIMING_CACHE_MISS,
                               BuilderFlag::kDISABLE_COMPILATION_CACHE,
                               BuilderFlag::kSTRIP_PLAN,
                               BuilderFlag::kREFIT_IDENTICAL,
                               BuilderFlag::kWEIGHT_STREAMING,
                               BuilderFlag::kREFIT_INDIVIDUAL,
                               BuilderFlag::kSTRICT_NANS,
                               BuilderFlag::kMONITOR_MEMORY,
                               BuilderFlag::kEDITABLE_TIMING_CACHE,
                               BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE};
  EXPECT_EQ(config->getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kTF32));
  for (const BuilderFlag flag : flags) {
    const uint32_t bit = 1U << static_cast<uint32_t>(flag);
    config->setFlags(0);
    config->setFlag(flag);
    EXPECT_TRUE(config->getFlag(flag));
    EXPECT_EQ(config->getFlags(), bit);
    config->clearFlag(flag);
    EXPECT_EQ(config->getFlags(), 0U);
    config->setFlags(bit);
    EXPECT_TRUE(config->getFlag(flag));
  }
  EXPECT_EQ(logger.take(), "");
  config->setFlag(static_cast<BuilderFlag>(14));  // given up
  EXPECT_NE(logger.take(), "");
  config->setFlags(1U << 28);
  EXPECT_NE(logger.take(), "");
}

// 15 is kERROR_ON_TIMING_CACHE_MISS here and another flag at level 10: it must do what it says.
TEST_F(Level11, FlagsMeanWhatTheySay) {
  ITensor* x = input("x", Dims4{1, 3, 32, 32});
  const std::vector<float> kernel(3 * 3 * 3 * 8, 0.5F);
  ILayer* conv = network->addConvolutionNd(*x, 8, Dims2{3, 3}, {DataType::kFLOAT, kernel.data(), 216}, {});
  network->markOutput(*conv->getOutput(0));
  config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  EXPECT_NE(logger.take().find("timing cache"), std::string::npos);
}

TEST_F(Level11, OtherNumbersAreTranslated) {
  const uint32_t jit = 1U << static_cast<uint32_t>(TacticSource::kJIT_CONVOLUTIONS);
  EXPECT_EQ(config->getTacticSources(), 3U);
  EXPECT_TRUE(config->setTacticSources(jit));
  EXPECT_EQ(config->getTacticSources(), jit);
  EXPECT_FALSE(config->setTacticSources(4));
  EXPECT_FALSE(config->getPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03));
  config->setPreviewFeature(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10, true);
  EXPECT_TRUE(config->getPreviewFeature(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10));
  EXPECT_FALSE(config->getPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03));
}

TEST_F(Level11, NetworksAreStronglyTyped) {
  EXPECT_TRUE(network->getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  EXPECT_EQ(network->getFlags(), 1U);
  const uint32_t jit = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kPREFER_JIT_PYTHON_PLUGINS);
  const std::unique_ptr<INetworkDefinition> other(builder->createNetworkV2(jit));
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->getFlags(), 1U | jit);
  EXPECT_EQ(builder->createNetworkV2(8), nullptr);
}

TEST_F(Level11, AuxStreamsAndRoutesSayWhetherTheyWereTaken) {
  EXPECT_TRUE(config->setMaxAuxStreams(2));
  EXPECT_FALSE(config->setMaxAuxStreams(-2));
  EXPECT_EQ(config->getMaxAuxStreams(), 2);
  EXPECT_NE(logger.take(), "");
  EXPECT_TRUE(config->setBuildRoute(""));
  EXPECT_FALSE(config->setBuildRoute("tile:4"));
  EXPECT_NE(logger.take().find("setBuildRoute"), std::string::npos);
  EXPECT_STREQ(config->getBuildRoute(), "");
  EXPECT_EQ(std::string(config->getAllBuildRoutes()).rfind("[\"\", \"without:", 0), 0U);
  EXPECT_FALSE(config->setBuildRoute("without:no_such_pass"));
  EXPECT_NE(logger.take().find("'no_such_pass'"), std::string::npos);
  EXPECT_TRUE(config->setBuildRoute("without:fuse_epilogue+fuse_pointwise"));
  EXPECT_STREQ(config->getBuildRoute(), "without:fuse_epilogue+fuse_pointwise");
  EXPECT_TRUE(config->setBuildRoute(""));
  EXPECT_STREQ(config->getBuildRoute(), "");
}

TEST_F(Level11, AttentionRefusesWhatItCannotBuild) {
  ITensor* q = input("q", Dims4{1, 2, 4, 8});
  const auto softmax = AttentionNormalizationOp::kSOFTMAX;
  EXPECT_EQ(network->addAttentionV2(*q, *q, *q, softmax, CausalMaskKind::kLOWER_RIGHT), nullptr);
  EXPECT_NE(logger.take().find("lower right"), std::string::npos);
  IAttention* a = network->addAttentionV2(*q, *q, *q, softmax, CausalMaskKind::kUPPER_LEFT);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->getCausalKind(), CausalMaskKind::kUPPER_LEFT);
  EXPECT_TRUE(a->setCausalKind(CausalMaskKind::kNONE));
  EXPECT_EQ(a->getCausalKind(), CausalMaskKind::kNONE);
  EXPECT_FALSE(a->setCausalKind(CausalMaskKind::kLOWER_RIGHT));
  EXPECT_TRUE(a->setQueryForm(AttentionIOForm::kPADDED_BHND));
  EXPECT_FALSE(a->setQueryForm(AttentionIOForm::kPACKED_NHD));
  EXPECT_FALSE(a->setKeyValueForm(AttentionIOForm::kPACKED_NHD));
  EXPECT_TRUE(a->setQueryLengths(nullptr));
  EXPECT_FALSE(a->setQueryLengths(q));
  EXPECT_FALSE(a->setKeyValueLengths(q));
  EXPECT_EQ(a->getQueryForm(), AttentionIOForm::kPADDED_BHND);
  EXPECT_EQ(a->getKeyValueForm(), AttentionIOForm::kPADDED_BHND);
  EXPECT_EQ(a->getQueryLengths(), nullptr);
  EXPECT_EQ(a->getKeyValueLengths(), nullptr);
  EXPECT_NE(logger.take(), "");
  ITensor* at = network->addInput("at", DataType::kINT32, Dims{1, {1}});
  IKVCacheUpdateLayer* kv = network->addKVCacheUpdate(*q, *q, *at, KVCacheMode::kLINEAR);
  ASSERT_NE(kv, nullptr);
  EXPECT_FALSE(kv->setUpdateForm(AttentionIOForm::kPACKED_NHD));
  EXPECT_FALSE(kv->setUpdateLengths(at));
  EXPECT_EQ(kv->getUpdateForm(), AttentionIOForm::kPADDED_BHND);
  EXPECT_EQ(kv->getUpdateLengths(), nullptr);
}

TEST_F(Level11, LoggersAndProfilersNameThemselves) {
  EXPECT_STREQ(static_cast<ILogger&>(logger).getInterfaceInfo().kind, "ILogger");
  Profiler profiler;
  EXPECT_STREQ(static_cast<IProfiler&>(profiler).getInterfaceInfo().kind, "IProfiler");
}

TEST_F(Level11, RunsWithAProfiler) {
  ITensor* x = input("x", Dims2{1, 4});
  ILayer* relu = network->addActivation(*x, ActivationType::kRELU);
  relu->getOutput(0)->setName("y");
  network->markOutput(*relu->getOutput(0));
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr) << logger.errors;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << logger.errors;
  EXPECT_EQ(engine->getTacticSources(), 3U);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Profiler profiler;
  context->setProfiler(&profiler);
  EXPECT_EQ(context->getProfiler(), &profiler);
  float in[4] = {-1, 2, -3, 4}, out[4] = {};
  void* bindings[] = {in, out};
  ASSERT_TRUE(context->executeV2(bindings)) << logger.errors;
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_GT(profiler.steps, 0);
}

TEST(OnnxConfig, KeepsWhatItIsGiven) {
  const std::unique_ptr<nvonnxparser::IOnnxConfig> config(nvonnxparser::createONNXConfig());
  EXPECT_EQ(config->getModelFileName(), nullptr);
  config->setModelFileName("m.onnx");
  config->setTextFileName("m.txt");
  config->setModelDtype(DataType::kHALF);
  config->reduceVerbosity();
  EXPECT_EQ(config->getVerbosityLevel(), 0);
  config->addVerbosity();
  config->setPrintLayerInfo(true);
  EXPECT_STREQ(config->getModelFileName(), "m.onnx");
  EXPECT_STREQ(config->getTextFileName(), "m.txt");
  EXPECT_EQ(config->getFullTextFileName(), nullptr);
  EXPECT_EQ(config->getModelDtype(), DataType::kHALF);
  EXPECT_EQ(config->getVerbosityLevel(), 1);
  EXPECT_TRUE(config->getPrintLayerInfo());
}

}  // namespace
