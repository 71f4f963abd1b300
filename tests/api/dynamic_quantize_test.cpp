// Dynamic quantization layers: what they compute, their settings, and what they refuse.
#include "api/dynamic_quantize_checks.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Ints = std::vector<int64_t>;

TEST(DynamicQuantize, GivesValuesBackWithinTheRounding) {
  check_dynamic_quantization("cpu");
  check_dynamic_quantization("reference", {DataType::kFP4, DataType::kFP8, 0.05F, {1, 1, 16}});
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(DynamicQuantize, AnAxisAndASizeOrAShape) {
  Bench b;
  ITensor* x = b.input("x", {4, 64});
  IDynamicQuantizeLayer* l = b.network->addDynamicQuantize(*x, 1, 16, DataType::kFP4, DataType::kFP8);
  ASSERT_NE(l, nullptr) << b.logger.errors();
  EXPECT_EQ(l->getType(), LayerType::kDYNAMIC_QUANTIZE);
  EXPECT_EQ(l->getAxis(), 1);
  EXPECT_EQ(l->getBlockSize(), 16);
  EXPECT_EQ(l->getToType(), DataType::kFP4);
  EXPECT_EQ(l->getScaleType(), DataType::kFP8);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kFP4);
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kFP8);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (Ints{4, 64}));
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (Ints{4, 4}));
  l->setBlockSize(32);
  l->setToType(DataType::kFP8);
  l->setScaleType(DataType::kE8M0);
  EXPECT_EQ(l->getBlockSize(), 32);
  EXPECT_EQ(l->getToType(), DataType::kFP8);
  EXPECT_EQ(l->getScaleType(), DataType::kE8M0);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kFP8);
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kE8M0);
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (Ints{4, 2}));
  l->setAxis(0);
  l->setBlockSize(2);
  EXPECT_EQ(l->getAxis(), 0);
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (Ints{2, 64}));
  l->setBlockShape(dims({-1, 8}));
  EXPECT_EQ(list(l->getBlockShape()), (Ints{-1, 8}));
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (Ints{1, 8}));
  EXPECT_EQ(b.logger.errors(), "");

  IDynamicQuantizeLayer* shaped = b.network->addDynamicQuantizeV2(*x, dims({2, 16}), DataType::kFP8, DataType::kFLOAT);
  ASSERT_NE(shaped, nullptr) << b.logger.errors();
  EXPECT_EQ(list(shaped->getBlockShape()), (Ints{2, 16}));
  EXPECT_EQ(shaped->getOutput(1)->getType(), DataType::kFLOAT);
  EXPECT_EQ(list(shaped->getOutput(1)->getDimensions()), (Ints{2, 4}));
}

TEST(DynamicQuantize, Refusals) {
  Bench b;
  ITensor* x = b.input("x", {4, 64});
  EXPECT_EQ(b.network->addDynamicQuantize(*x, 1, 16, DataType::kINT8, DataType::kFP8), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "they must be kFLOAT"));
  EXPECT_EQ(b.network->addDynamicQuantize(*x, 1, 16, DataType::kINT4, DataType::kFP8), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "must be kFP4, kFP8 or kINT8"));
  EXPECT_EQ(b.network->addDynamicQuantizeV2(*x, dims({1, 16}), DataType::kFP4, DataType::kINT8), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "must be kFP8, kE8M0 or kFLOAT"));
  IDynamicQuantizeLayer* l = b.network->addDynamicQuantize(*x, 1, 16, DataType::kFP4, DataType::kFP8);
  l->setToType(DataType::kINT4);
  EXPECT_TRUE(has(b.logger.take_errors(), "must be kFP4, kFP8 or kINT8"));
  EXPECT_EQ(l->getToType(), DataType::kFP4);
  l->setScaleType(DataType::kHALF);
  EXPECT_TRUE(has(b.logger.take_errors(), "must be kFP8, kE8M0 or kFLOAT"));
  const auto fails = [&](const char* why) {
    b.output(b.network->addCast(*l->getOutput(1), DataType::kFLOAT), "y");
    EXPECT_EQ(b.engine(), nullptr);
    const std::string errors = b.logger.take_errors();
    EXPECT_TRUE(has(errors, why)) << errors;
    b.network->unmarkOutput(*b.network->getOutput(0));
  };
  l->setBlockSize(24);
  fails("blocks of 24 along dimension 1");
  l->setBlockSize(0);
  fails("blocks of 0 along dimension 1");
  l->setAxis(2);
  l->setBlockSize(16);
  fails("axis 2");
  l->setBlockShape(dims({16}));
  fails("for an input of 2 dimensions");
  l->setBlockShape(dims({1, 16}));
  l->setScaleType(DataType::kFLOAT);
  static const std::vector<float> one{1};
  l->setInput(1, *b.constant<float>({}, one));
  fails("goes with scales of type kFP8");
}

}  // namespace
}  // namespace wootz_test
