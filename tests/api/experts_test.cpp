// Mixture-of-experts layers: what they compute, their settings, and what they refuse.
#include "api/experts_checks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(MixtureOfExperts, ComputesItsDefinition) {
  check_experts("cpu");
  check_experts("reference", {.biased = true}, 1e-4);
}

// One value may round the other way: a step of eight bits, by a weight.
TEST(MixtureOfExperts, QuantizesTheInputOfTheDownProduct) { check_experts("cpu", {.quantized = true}, 0.5); }

TEST(MixtureOfExperts, Settings) {
  Experts e("cpu", {});
  IMoELayer& l = *e.layer;
  EXPECT_EQ(l.getType(), LayerType::kMOE);
  EXPECT_EQ(l.getNbInputs(), 6);
  EXPECT_EQ(l.getActivationType(), MoEActType::kSILU);
  l.setActivationType(MoEActType::kNONE);
  EXPECT_EQ(l.getActivationType(), MoEActType::kNONE);
  EXPECT_TRUE(std::isinf(l.getSwigluParamLimit()));
  l.setSwigluParamLimit(7);
  l.setSwigluParamAlpha(1.5F);
  l.setSwigluParamBeta(0.25F);
  EXPECT_EQ(l.getSwigluParamLimit(), 7);
  EXPECT_EQ(l.getSwigluParamAlpha(), 1.5F);
  EXPECT_EQ(l.getSwigluParamBeta(), 0.25F);
  l.setSwigluParams(6, 1.25F, 0.5F);
  EXPECT_EQ(l.getSwigluParamLimit(), 6);
  EXPECT_EQ(l.getSwigluParamAlpha(), 1.25F);
  EXPECT_EQ(l.getSwigluParamBeta(), 0.5F);
  EXPECT_EQ(l.getQuantizationToType(), DataType::kFLOAT);
  l.setQuantizationToType(DataType::kFP8);
  EXPECT_EQ(l.getQuantizationToType(), DataType::kFP8);
  EXPECT_EQ(e.bench.logger.take_errors(), "");
  EXPECT_EQ(e.bench.engine(), nullptr);
  EXPECT_TRUE(has(e.bench.logger.take_errors(), "needs its type and a scale"));
  static const std::vector<float> scale{0.5F};
  l.setInput(9, *e.bench.constant<float>({}, scale));
  EXPECT_NE(e.bench.engine(), nullptr) << e.bench.logger.errors();
}

TEST(MixtureOfExperts, Refusals) {
  Experts e("cpu", {});
  IMoELayer& l = *e.layer;
  Bench& b = e.bench;
  const auto refused = [&](const char* call, const char* why) {
    const std::string errors = b.logger.take_errors();
    EXPECT_TRUE(has(errors, call) && has(errors, why)) << errors;
  };
  static const std::vector<float> scale{0.5F};
  ITensor& one = *b.constant<float>({}, scale);
  l.setQuantizationDynamicDblQ(one, DataType::kFP4, dims({1, 16}), DataType::kFP8);
  refused("IMoELayer::setQuantizationDynamicDblQ", "not offered");
  l.setQuantizationBlockShape(dims({1, 16}));
  refused("IMoELayer::setQuantizationBlockShape", "not offered");
  EXPECT_EQ(l.getQuantizationBlockShape().nbDims, 0);
  l.setDynQOutputScaleType(DataType::kFP8);
  refused("IMoELayer::setDynQOutputScaleType", "not offered");
  EXPECT_EQ(l.getDynQOutputScaleType(), DataType::kFLOAT);
  l.setQuantizationStatic(one, DataType::kINT8);
  refused("IMoELayer::setQuantizationStatic", "kFP8 is offered");
  l.setQuantizationToType(DataType::kFP4);
  refused("IMoELayer::setQuantizationToType", "kFP8 is offered");
  l.setActivationType(static_cast<MoEActType>(9));
  refused("IMoELayer::setActivationType", "9");
  l.setSwigluParamLimit(-1);
  refused("IMoELayer::setSwigluParamLimit", "above zero");
  l.setInput(10, one);
  refused("ILayer::setInput", "no input 10");
  Bench other;
  l.setGatedBiases(one, one, *other.input("x", {2}));
  refused("IMoELayer::setGatedBiases", "another network");
  l.setGatedWeights(one, one, *other.input("w", {2, 2, 2}), MoEActType::kSILU);
  refused("IMoELayer::setGatedWeights", "another network");
  EXPECT_EQ(l.getNbInputs(), 6) << "all three or none";
  ITensor* x = other.input("states", {1, 2, 3});
  IMoELayer* bare = other.network->addMoE(*x, *other.input("experts", {1, 2, 1}, DataType::kINT32),
                                          *other.input("scores", {1, 2, 1}));
  other.output(bare, "y");
  EXPECT_EQ(other.engine(), nullptr);
  EXPECT_TRUE(has(other.logger.take_errors(), "setGatedWeights()"));
}

}  // namespace
}  // namespace wootz_test
