// What networks, tensors and layers are asked and told beside their computation.
#include "api/dense.h"
#include "api/recorder.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(NetworkCalls, NetworksKnowWhoMadeThem) {
  Bench b;
  EXPECT_EQ(&b.network->getBuilder(), b.builder.get());
  b.network->setName("three rows");
  EXPECT_STREQ(b.network->getName(), "three rows");
  EXPECT_FALSE(b.network->hasImplicitBatchDimension());
  b.output(b.network->addIdentity(*b.input("x", {3})), "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_STREQ(engine->getName(), "three rows");
  b.network->setName(nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "INetworkDefinition::setName"));
  EXPECT_STREQ(b.network->getName(), "three rows");
}

TEST(NetworkCalls, ErrorsGoToTheRecorder) {
  Bench b;
  Recorder recorder;
  EXPECT_EQ(b.network->getErrorRecorder(), nullptr);
  b.network->setErrorRecorder(&recorder);
  EXPECT_EQ(b.network->getErrorRecorder(), &recorder);
  EXPECT_EQ(b.network->addInput("x", DataType::kFLOAT, dims({-2})), nullptr);
  EXPECT_EQ(recorder.getNbErrors(), 1);
  b.network->setErrorRecorder(nullptr);
  EXPECT_EQ(recorder.count, 0) << "it is given back";
}

TEST(NetworkCalls, OutputsForShapes) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* x = b.input("x", {-1, 3});
  ITensor* shape = b.network->addShape(*x)->getOutput(0);
  shape->setName("shape");
  EXPECT_TRUE(shape->isShapeTensor());
  EXPECT_FALSE(shape->isExecutionTensor());
  EXPECT_EQ(shape->getLocation(), TensorLocation::kHOST);
  EXPECT_EQ(x->getLocation(), TensorLocation::kDEVICE);
  EXPECT_TRUE(x->isExecutionTensor());
  EXPECT_FALSE(b.network->markOutputForShapes(*x));
  EXPECT_TRUE(has(b.logger.take_errors(), "no shape tensor"));
  EXPECT_TRUE(b.network->markOutputForShapes(*shape));
  EXPECT_EQ(b.network->getNbOutputs(), 1);
  EXPECT_TRUE(shape->isNetworkOutput());
  b.profile("x", {1, 3}, {2, 3}, {8, 3});
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({5, 3})));
  const Floats data(15);
  EXPECT_EQ(run<int64_t>(*context, {{"x", data.data()}}, "shape"), (Ints{5, 3}));
  EXPECT_TRUE(b.network->unmarkOutputForShapes(*shape));
  EXPECT_EQ(b.network->getNbOutputs(), 0);
  EXPECT_FALSE(b.network->unmarkOutputForShapes(*shape));
  EXPECT_TRUE(has(b.logger.take_errors(), "no output for shapes"));
}

TEST(NetworkCalls, RemovedTensorsAreGone) {
  Bench b;
  ITensor *x = b.input("x", {3}), *z = b.input("z", {3});
  b.output(b.network->addIdentity(*x), "y");
  EXPECT_TRUE(z->isNetworkInput());
  EXPECT_FALSE(z->isNetworkOutput());
  b.network->removeTensor(*z);
  EXPECT_FALSE(z->isNetworkInput());
  ASSERT_EQ(b.network->getNbInputs(), 1);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getNbIOTensors(), 2);
  EXPECT_NE(b.input("z", {4}), nullptr) << "the name is free again: " << b.logger.errors();
}

TEST(NetworkCalls, DebugMarksComeAndGo) {
  Dense b;
  EXPECT_TRUE(b.network->markDebug(*b.logits));
  EXPECT_TRUE(b.network->isDebugTensor(*b.logits));
  EXPECT_TRUE(b.network->unmarkDebug(*b.logits));
  EXPECT_FALSE(b.network->isDebugTensor(*b.logits));
  const Owned<ICudaEngine> without = b.engine();
  ASSERT_NE(without, nullptr) << b.logger.errors();
  EXPECT_FALSE(without->isDebugTensor("logits"));
  EXPECT_TRUE(b.network->markUnfusedTensorsAsDebugTensors());
  EXPECT_TRUE(b.network->unmarkUnfusedTensorsAsDebugTensors());
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_FALSE(context->setUnfusedTensorsDebugState(true)) << "the mark was taken back";
  EXPECT_FALSE(context->getUnfusedTensorsDebugState());
  EXPECT_TRUE(has(b.logger.take_errors(), "mark"));
}

TEST(NetworkCalls, MarksOfWeightsComeAndGo) {
  Dense b;
  ASSERT_TRUE(b.network->setWeightsName(weights(b.w), "w"));
  b.config->setFlag(BuilderFlag::kREFIT_INDIVIDUAL);
  EXPECT_TRUE(b.network->markWeightsRefittable("w"));
  EXPECT_TRUE(b.network->areWeightsMarkedRefittable("w"));
  EXPECT_TRUE(b.network->unmarkWeightsRefittable("w"));
  EXPECT_FALSE(b.network->areWeightsMarkedRefittable("w"));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  EXPECT_TRUE(refitter == nullptr || refitter->getAllWeights(0, nullptr) == 0);
}

TEST(NetworkCalls, QuantizedInt8ByDefault) {
  Bench b;
  const std::vector<float> scale{0.5F};
  ITensor* s = b.constant<float>({}, scale);
  IQuantizeLayer* q = b.network->addQuantize(*b.input("x", {4}), *s);
  ASSERT_NE(q, nullptr) << b.logger.errors();
  EXPECT_EQ(q->getOutput(0)->getType(), DataType::kINT8);
  IDequantizeLayer* d = b.network->addDequantize(*q->getOutput(0), *s);
  ASSERT_NE(d, nullptr) << b.logger.errors();
  EXPECT_EQ(d->getOutput(0)->getType(), DataType::kFLOAT);
}

TEST(NetworkCalls, LayersThatAreNotOfferedSaySo) {
  Bench b;
  ITensor& x = *b.input("x", {2, 4});
  const auto refused = [&](const void* layer, const char* call) {
    EXPECT_EQ(layer, nullptr) << call;
    const std::string why = b.logger.take_errors();
    EXPECT_TRUE(has(why, call) && has(why, "not offered")) << why;
  };
  refused(b.network->addDistCollective(x, CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, 0, nullptr, 1),
          "INetworkDefinition::addDistCollective");
}

TEST(TensorCalls, TypesOfInputsAndOutputs) {
  Bench b;
  ITensor* x = b.input("x", {3});
  x->setType(DataType::kHALF);
  EXPECT_EQ(x->getType(), DataType::kHALF);
  ILayer* layer = b.network->addIdentity(*x);
  ITensor* y = layer->getOutput(0);
  EXPECT_EQ(y->getType(), DataType::kHALF);
  y->setType(DataType::kFLOAT);
  b.output(y, "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getTensorDataType("x"), DataType::kHALF);
  EXPECT_EQ(engine->getTensorDataType("y"), DataType::kFLOAT);
  x->setType(static_cast<DataType>(99));
  EXPECT_TRUE(has(b.logger.take_errors(), "ITensor::setType"));
}

TEST(TensorCalls, RangesAreKeptAndTakenBack) {
  Dense b;
  EXPECT_FALSE(b.logits->dynamicRangeIsSet());
  EXPECT_TRUE(std::isnan(b.logits->getDynamicRangeMin()));
  EXPECT_TRUE(b.logits->setDynamicRange(-1, 2));
  EXPECT_TRUE(b.logits->dynamicRangeIsSet());
  EXPECT_EQ(b.logits->getDynamicRangeMin(), -1);
  EXPECT_EQ(b.logits->getDynamicRangeMax(), 2);
  b.logits->resetDynamicRange();
  EXPECT_FALSE(b.logits->dynamicRangeIsSet());
  EXPECT_TRUE(std::isnan(b.logits->getDynamicRangeMax()));
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "") << "a range that was taken back is not spoken of";
}

TEST(TensorCalls, ThereIsNoImplicitBatch) {
  Dense b;
  b.logits->setBroadcastAcrossBatch(false);
  EXPECT_EQ(b.logger.warnings(), "");
  b.logits->setBroadcastAcrossBatch(true);
  EXPECT_FALSE(b.logits->getBroadcastAcrossBatch());
  EXPECT_TRUE(has(b.logger.warnings(), "ITensor::setBroadcastAcrossBatch: tensor 'logits'")) << b.logger.warnings();
}

TEST(LayerCalls, TypesOfOutputs) {
  Bench b;
  ILayer* l = b.network->addIdentity(*b.input("x", {3}));
  EXPECT_EQ(l->getNbOutputs(), 1);
  EXPECT_FALSE(l->outputTypeIsSet(0));
  EXPECT_EQ(l->getOutputType(0), DataType::kFLOAT);
  l->setOutputType(0, DataType::kINT32);
  EXPECT_TRUE(l->outputTypeIsSet(0));
  EXPECT_EQ(l->getOutputType(0), DataType::kINT32);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT32);
  l->resetOutputType(0);
  EXPECT_FALSE(l->outputTypeIsSet(0));
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kFLOAT);
}

TEST(LayerCalls, PrecisionsOfLayers) {
  Bench b;
  ILayer* l = b.network->addIdentity(*b.input("x", {3}));
  EXPECT_EQ(l->getPrecision(), DataType::kFLOAT);
  l->setPrecision(DataType::kHALF);
  EXPECT_TRUE(l->precisionIsSet());
  EXPECT_EQ(l->getPrecision(), DataType::kHALF);
  l->resetPrecision();
  EXPECT_FALSE(l->precisionIsSet());
}

TEST(LayerCalls, MetadataIsShownByInspectors) {
  Dense b;
  ILayer* l = b.network->getLayer(2);
  EXPECT_STREQ(l->getMetadata(), "");
  l->setMetadata("head, step 2");
  EXPECT_STREQ(l->getMetadata(), "head, step 2");
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_TRUE(has(inspector->getEngineInformation(LayerInformationFormat::kJSON), "head, step 2"));
}

TEST(LayerCalls, OneDeviceEach) {
  Bench b;
  ILayer* l = b.network->addIdentity(*b.input("x", {3}));
  EXPECT_TRUE(l->setNbRanks(1));
  EXPECT_FALSE(l->setNbRanks(2));
  EXPECT_EQ(l->getNbRanks(), 1);
  EXPECT_TRUE(has(b.logger.take_errors(), "ILayer::setNbRanks"));
}

}  // namespace
}  // namespace wootz_test
