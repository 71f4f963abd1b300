// ILayer::setPrecision with the flags that make it bind: what the device cannot do is refused by the layer's name, or
// warned of.
#include "api/dense.h"

namespace wootz_test {
namespace {

TEST(LayerTypes, ObeyRefusesWhatTheProcessorDoesNotCompute) {
  Dense b;
  b.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  b.network->getLayer(1)->setPrecision(DataType::kHALF);
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("layer 'product' is asked to compute in f16"), std::string::npos) << why;
  EXPECT_NE(why.find("cpu"), std::string::npos) << why;
  b.network->getLayer(1)->resetPrecision();
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
}

TEST(LayerTypes, PreferWarnsAndGoesOn) {
  Dense b;
  b.config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  b.network->getLayer(1)->setPrecision(DataType::kHALF);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const std::string warned = b.logger.warnings();
  EXPECT_NE(warned.find("layer 'product' is asked to compute in f16"), std::string::npos) << warned;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setInputShape("x", dims({4, 8})));
  const Floats x = rows(4, 1);
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

TEST(LayerTypes, FloatIsObeyedInSilence) {
  Dense b;
  b.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  for (int32_t i = 0; i < b.network->getNbLayers(); ++i) b.network->getLayer(i)->setPrecision(DataType::kFLOAT);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
}

// 8 bits come from Q/DQ layers; integers that a layer gives anyway are what was asked for.
TEST(LayerTypes, OtherTypesFollowFromTheOperands) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  b.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  ITensor* i = b.input("i", {2, 3}, DataType::kINT32);
  IElementWiseLayer* sum = b.network->addElementWise(*i, *i, ElementWiseOperation::kSUM);
  sum->setName("sum");
  b.output(sum, "y");
  sum->setPrecision(DataType::kINT32);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  sum->setPrecision(DataType::kINT8);
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("layer 'sum' is asked to compute in i8"), std::string::npos) << why;
}

// Half precision that the network itself states, and a layer that is asked to compute wider.
TEST(LayerTypes, FloatBetweenHalves) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  b.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  ITensor* x = b.input("x", {4}, DataType::kHALF);
  IElementWiseLayer* sum = b.network->addElementWise(*x, *x, ElementWiseOperation::kSUM);
  IElementWiseLayer* less = b.network->addElementWise(*sum->getOutput(0), *x, ElementWiseOperation::kSUB);
  b.output(less, "y");
  for (ILayer* layer : {static_cast<ILayer*>(sum), static_cast<ILayer*>(less)}) layer->setPrecision(DataType::kFLOAT);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getTensorDataType("y"), DataType::kHALF);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  // 40,000 + 40,000 has no half.
  const std::vector<uint16_t> values{0x3C00, 0x6401, 0x78E2, 0xC000};
  EXPECT_EQ(run<uint16_t>(*context, {{"x", values.data()}}, "y"), values);
}

}  // namespace
}  // namespace wootz_test
