// Parsers, refitters and the functions of the libraries: what else they are asked and told.
#include <cstdio>
#include <cstring>

#include "api/recorder.h"
#include "api/refit_net.h"
#include "onnx/model_for_test.h"

#include "NvOnnxConfig.h"  // after what turns its deprecations off

namespace wootz_test {
namespace {

using namespace wootz::importer;  // NOLINT: for tests
using nvonnxparser::IParser;
using nvonnxparser::IParserRefitter;
using nvonnxparser::OnnxParserFlag;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// y = x w, w [3, 2].
std::string product_model(const Floats& w, const char* op = "MatMul") {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2", "3"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {3, 2}, w);
  add_node(graph, op, {"x", "w"}, {"y"}, "the product");
  add_output(graph, "y");
  return model.SerializeAsString();
}
const Floats kOnes(6, 1), kTwos(6, 2);

// An engine of the model that can be refitted.
struct Refittable : Bench {
  Refittable() : parser(nvonnxparser::createParser(*network, logger)) {
    wootz_config_set_option(config.get(), "timing", "0");
    config->setFlag(BuilderFlag::kREFIT);
    const std::string model = product_model(kOnes);
    EXPECT_TRUE(parser->parse(model.data(), model.size())) << logger.errors();
    built = engine();
    EXPECT_NE(built, nullptr) << logger.errors();
    refitter.reset(createInferRefitter(*built, logger));
    EXPECT_NE(refitter, nullptr) << logger.errors();
  }
  Floats result() {
    const Owned<IExecutionContext> context(built->createExecutionContext());
    const Floats x{1, 2, 3, 4, 5, 6};
    return run(*context, {{"x", x.data()}}, "y");
  }
  Owned<IParser> parser;
  Owned<ICudaEngine> built;
  Owned<IRefitter> refitter;
};

TEST(ModelCalls, RefitsFromBytesFilesAndLoadedModels) {
  const std::string twos = product_model(kTwos), path = testing::TempDir() + "/wootz_refit.onnx";
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::fwrite(twos.data(), 1, twos.size(), file);
  std::fclose(file);
  for (int way = 0; way < 3; ++way) {
    Refittable b;
    EXPECT_EQ(b.result(), (Floats{6, 6, 15, 15}));
    const Owned<IParserRefitter> parser(nvonnxparser::createParserRefitter(*b.refitter, b.logger));
    ASSERT_NE(parser, nullptr);
    if (way == 0) {
      EXPECT_TRUE(parser->refitFromBytes(twos.data(), twos.size())) << b.logger.errors();
    } else if (way == 1) {
      EXPECT_TRUE(parser->refitFromFile(path.c_str())) << b.logger.errors();
    } else {
      EXPECT_FALSE(parser->refitModelProto()) << "nothing is loaded";
      EXPECT_TRUE(has(b.logger.take_errors(), "IParserRefitter::refitModelProto"));
      EXPECT_TRUE(parser->loadModelProto(twos.data(), twos.size())) << b.logger.errors();
      EXPECT_TRUE(parser->refitModelProto()) << b.logger.errors();
    }
    EXPECT_EQ(parser->getNbErrors(), 0);
    EXPECT_TRUE(b.refitter->refitCudaEngine()) << b.logger.errors();
    EXPECT_EQ(b.result(), (Floats{12, 12, 30, 30})) << way;
  }
  std::remove(path.c_str());
}

TEST(ModelCalls, RefitsThatFailAreToldAsErrors) {
  Refittable b;
  const Owned<IParserRefitter> parser(nvonnxparser::createParserRefitter(*b.refitter, b.logger));
  const std::string broken = product_model(kTwos, "NobodysOp");
  EXPECT_FALSE(parser->refitFromBytes(broken.data(), broken.size()));
  ASSERT_GT(parser->getNbErrors(), 0);
  const nvonnxparser::IParserError* error = parser->getError(0);
  ASSERT_NE(error, nullptr);
  EXPECT_TRUE(has(error->desc(), "NobodysOp")) << error->desc();
  EXPECT_EQ(parser->getError(parser->getNbErrors()), nullptr);
  parser->clearErrors();
  EXPECT_EQ(parser->getNbErrors(), 0);
  EXPECT_FALSE(parser->loadInitializer("w", kTwos.data(), 24));
  b.logger.take_errors();
  EXPECT_TRUE(parser->loadModelProto(broken.data(), broken.size()));
  EXPECT_FALSE(parser->loadInitializer("w", kTwos.data(), 24));
  EXPECT_TRUE(has(b.logger.take_errors(), "IRefitter::setNamedWeights")) << "which takes such weights";
  EXPECT_EQ(b.result(), (Floats{6, 6, 15, 15}));
}

TEST(ModelCalls, RefittersTellAndAreTold) {
  Cnn b(7), other(8);
  const auto engine = b.engine();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  EXPECT_EQ(refitter->getLogger(), &b.logger);
  EXPECT_GE(refitter->getMaxThreads(), 1);
  EXPECT_TRUE(refitter->setMaxThreads(1));
  EXPECT_EQ(refitter->getMaxThreads(), 1);
  EXPECT_TRUE(refitter->getWeightsValidation());
  refitter->setWeightsValidation(false);
  EXPECT_FALSE(refitter->getWeightsValidation());
  EXPECT_EQ(refitter->getTensorsWithDynamicRange(0, nullptr), 0);
  EXPECT_TRUE(std::isnan(refitter->getDynamicRangeMin("x")));
  EXPECT_TRUE(std::isnan(refitter->getDynamicRangeMax("x")));
  Recorder recorder;
  refitter->setErrorRecorder(&recorder);
  EXPECT_EQ(refitter->getErrorRecorder(), &recorder);
  EXPECT_FALSE(refitter->setDynamicRange("x", -1, 1));
  EXPECT_EQ(recorder.getNbErrors(), 1);
  refitter->setErrorRecorder(nullptr);
  const Floats before = infer(*engine);
  EXPECT_TRUE(refitter->setNamedWeights("the matrix", weights(other.matrix), TensorLocation::kHOST));
  EXPECT_EQ(refitter->getWeightsLocation("the matrix"), TensorLocation::kHOST);
  ASSERT_TRUE(refitter->refitCudaEngine()) << b.logger.errors();
  EXPECT_NE(infer(*engine), before);
}

TEST(ModelCalls, ModelsThatAreLoadedAndThenParsed) {
  Bench b;
  const Owned<IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  const std::string model = product_model(kTwos);
  EXPECT_FALSE(parser->parseModelProto());
  EXPECT_TRUE(has(b.logger.take_errors(), "no model was loaded"));
  EXPECT_FALSE(parser->loadInitializer("w", kTwos.data(), 24));
  EXPECT_TRUE(has(b.logger.take_errors(), "no model was loaded"));
  EXPECT_TRUE(parser->loadModelProto(model.data(), model.size()));
  EXPECT_FALSE(parser->loadInitializer("w", kTwos.data(), 24));
  EXPECT_TRUE(has(b.logger.take_errors(), "initializer 'w'"));
  EXPECT_EQ(b.network->getNbInputs(), 0);
  EXPECT_TRUE(parser->parseModelProto()) << b.logger.errors();
  EXPECT_EQ(b.network->getNbInputs(), 1);
  Bench other;
  const Owned<IParser> old(nvonnxparser::createParser(*other.network, other.logger));
  EXPECT_TRUE(old->parseWithWeightDescriptors(model.data(), model.size())) << other.logger.errors();
  EXPECT_EQ(other.network->getNbOutputs(), 1);
}

TEST(ModelCalls, FlagsAndConfigsOfParsers) {
  Bench b;
  const Owned<IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  EXPECT_TRUE(parser->getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
  parser->clearFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  EXPECT_FALSE(parser->getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
  parser->setFlag(static_cast<OnnxParserFlag>(30));
  EXPECT_TRUE(has(b.logger.take_errors(), "IParser::setFlag"));
  parser->clearFlag(static_cast<OnnxParserFlag>(30));
  EXPECT_TRUE(has(b.logger.take_errors(), "IParser::clearFlag"));
  EXPECT_TRUE(parser->setBuilderConfig(b.config.get()));
  EXPECT_TRUE(has(b.logger.infos(), "IParser::setBuilderConfig")) << "operators do not depend on it";
  EXPECT_TRUE(parser->setBuilderConfig(nullptr));
}

TEST(ModelCalls, SupportOfSubgraphs) {
  Bench b;
  const Owned<IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  const std::string good = product_model(kOnes), broken = product_model(kOnes, "NobodysOp");
  EXPECT_TRUE(parser->supportsModelV2(good.data(), good.size()));
  EXPECT_TRUE(parser->isSubgraphSupported(0));
  EXPECT_FALSE(parser->isSubgraphSupported(1)) << "there is none";
  EXPECT_TRUE(has(b.logger.take_errors(), "IParser::isSubgraphSupported: there is no subgraph 1"));
  EXPECT_FALSE(parser->supportsModelV2(broken.data(), broken.size()));
  EXPECT_FALSE(parser->isSubgraphSupported(0));
}

TEST(ModelCalls, OnnxConfigsKeepTheirValues) {
  const std::unique_ptr<nvonnxparser::IOnnxConfig> c(nvonnxparser::createONNXConfig());
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->getModelDtype(), DataType::kFLOAT);
  c->setModelDtype(DataType::kHALF);
  EXPECT_EQ(c->getModelDtype(), DataType::kHALF);
  EXPECT_EQ(c->getModelFileName(), nullptr);
  {
    const std::string name = "model.onnx";  // copied
    c->setModelFileName(name.c_str());
    c->setTextFileName("model.txt");
    c->setFullTextFileName("model_full.txt");
  }
  EXPECT_STREQ(c->getModelFileName(), "model.onnx");
  EXPECT_STREQ(c->getTextFileName(), "model.txt");
  EXPECT_STREQ(c->getFullTextFileName(), "model_full.txt");
  c->setVerbosityLevel(2);
  c->addVerbosity();
  EXPECT_EQ(c->getVerbosityLevel(), 3);
  c->reduceVerbosity();
  EXPECT_EQ(c->getVerbosityLevel(), 2);
  EXPECT_FALSE(c->getPrintLayerInfo());
  c->setPrintLayerInfo(true);
  EXPECT_TRUE(c->getPrintLayerInfo());
}

TEST(Functions, VersionsAndRegistries) {
  EXPECT_EQ(getInferLibMajorVersion(), NV_TENSORRT_MAJOR);
  EXPECT_EQ(getInferLibMinorVersion(), NV_TENSORRT_MINOR);
  EXPECT_EQ(getInferLibPatchVersion(), NV_TENSORRT_PATCH);
  EXPECT_EQ(getInferLibBuildVersion(), NV_TENSORRT_BUILD);
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSTANDARD), getPluginRegistry());
  EXPECT_EQ(getBuilderPluginRegistry(EngineCapability::kSAFETY), nullptr);
}

TEST(Functions, WhatThereIsNotIsSaid) {
  Bench b;  // whose logger is the process's
  ASSERT_EQ(getLogger(), &b.logger) << "another object of this process holds the first logger";
  EXPECT_EQ(getBuilderSafePluginRegistry(EngineCapability::kSAFETY), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "getBuilderSafePluginRegistry"));
  EXPECT_FALSE(setInternalLibraryPath("/somewhere"));
  EXPECT_TRUE(has(b.logger.take_errors(), "'/somewhere'"));
  EXPECT_FALSE(setInternalLibraryPath(nullptr));
  EXPECT_TRUE(has(b.logger.take_errors(), "null"));
  EXPECT_TRUE(setInternalLibraryPath(""));
}

TEST(Functions, EntryPointsLookAtWhatTheyAreGiven) {
  Refittable b;
  const Owned<IRefitter> refitter(
      static_cast<IRefitter*>(createInferRefitter_INTERNAL(b.built.get(), &b.logger, NV_TENSORRT_VERSION)));
  EXPECT_NE(refitter, nullptr) << b.logger.errors();
  EXPECT_EQ(createInferRefitter_INTERNAL(nullptr, &b.logger, NV_TENSORRT_VERSION), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "createInferRefitter"));
  const Owned<IParser> parser(
      static_cast<IParser*>(createNvOnnxParser_INTERNAL(b.network.get(), &b.logger, NV_ONNX_PARSER_VERSION)));
  EXPECT_NE(parser, nullptr) << b.logger.errors();
  EXPECT_EQ(createNvOnnxParser_INTERNAL(b.network.get(), &b.logger, 990000), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "createNvOnnxParser"));
  const Owned<IParserRefitter> both(static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(b.refitter.get(), &b.logger, NV_ONNX_PARSER_VERSION)));
  EXPECT_NE(both, nullptr) << b.logger.errors();
  EXPECT_EQ(createNvOnnxParserRefitter_INTERNAL(nullptr, &b.logger, NV_ONNX_PARSER_VERSION), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "createNvOnnxParserRefitter"));
}

}  // namespace
}  // namespace wootz_test
