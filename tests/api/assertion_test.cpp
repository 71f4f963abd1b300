// Assertions of what only an inference knows: it fails, with the layer's name and message, and the next one goes on.
#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

void expect_refusal(const std::string& why, const char* layer, const char* message) {
  EXPECT_NE(why.find(layer), std::string::npos) << why;
  EXPECT_NE(why.find(message), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), why.size() - 1) << "one error is one line: " << why;
}

IAssertionLayer* assert_that(Bench& b, ITensor* condition, const char* name, const char* message) {
  IAssertionLayer* layer = b.network->addAssertion(*condition, message);
  layer->setName(name);
  return layer;
}

// x: [-1, 3]; its rows must be as many as those of z.
struct RowsAreEqual : Bench {
  RowsAreEqual() {
    ITensor *x = input("x", {-1, 3}), *z = input("z", {-1, 2});
    ITensor* zero = constant<int32_t>({}, zero_);
    const auto rows = [&](ITensor* t) {
      return network->addGather(*network->addShape(*t)->getOutput(0), *zero, 0)->getOutput(0);
    };
    ITensor* equal = network->addElementWise(*rows(x), *rows(z), ElementWiseOperation::kEQUAL)->getOutput(0);
    assert_that(*this, equal, "same_rows", "x and z have a row for each other");
    output(network->addReduce(*x, ReduceOperation::kSUM, 3, false), "y");
    output(network->addReduce(*z, ReduceOperation::kSUM, 3, false), "w");
    IOptimizationProfile* p = builder->createOptimizationProfile();
    for (const auto& [name, columns] : {std::pair("x", 3), std::pair("z", 2)}) {
      p->setDimensions(name, OptProfileSelector::kMIN, dims({1, columns}));
      p->setDimensions(name, OptProfileSelector::kOPT, dims({2, columns}));
      p->setDimensions(name, OptProfileSelector::kMAX, dims({4, columns}));
    }
    EXPECT_EQ(config->addOptimizationProfile(p), 0);
  }
  const std::vector<int32_t> zero_{0};
};

TEST(Assertions, OfExtents) {
  RowsAreEqual b;
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data(12, 1);
  float y = 0, w = 0;
  ASSERT_TRUE(context->setTensorAddress("x", const_cast<float*>(data.data())));
  ASSERT_TRUE(context->setTensorAddress("z", const_cast<float*>(data.data())));
  ASSERT_TRUE(context->setTensorAddress("y", &y) && context->setTensorAddress("w", &w));
  const auto infer = [&](int64_t x_rows, int64_t z_rows) {
    EXPECT_TRUE(context->setInputShape("x", dims({x_rows, 3})) && context->setInputShape("z", dims({z_rows, 2})));
    return context->enqueueV3(nullptr);
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(infer(3, 3)) << b.logger.errors();
    EXPECT_EQ(y, 9);
    EXPECT_EQ(b.logger.take_errors(), "");
    EXPECT_FALSE(infer(3, 2));
    expect_refusal(b.logger.take_errors(), "same_rows", "x and z have a row for each other");
  }
}

// All elements of x are to be above the least one that is allowed.
struct AllAbove : Bench {
  AllAbove() {
    ITensor *x = input("x", {2, 3}), *least = input("least", {1, 1});
    ITensor* above = network->addElementWise(*x, *least, ElementWiseOperation::kGREATER)->getOutput(0);
    assert_that(*this, above, "all_above", "an element is too small");
    output(network->addUnary(*x, UnaryOperation::kNEG), "y");
  }
};

TEST(Assertions, OfData) {
  AllAbove b;
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Floats x{1, 2, 3, 4, 5, 6}, y(6);
  float least = 0;
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()) &&
              context->setTensorAddress("least", &least));
  for (int round = 0; round < 2; ++round) {
    least = 0;
    EXPECT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
    EXPECT_EQ(b.logger.take_errors(), "");
    EXPECT_EQ(y[5], -6);
    least = 3;
    EXPECT_FALSE(context->enqueueV3(nullptr));
    expect_refusal(b.logger.take_errors(), "all_above", "an element is too small");
    std::vector<void*> bindings(static_cast<size_t>(engine->getNbIOTensors()));
    for (int32_t i = 0; i < engine->getNbIOTensors(); ++i)
      bindings[static_cast<size_t>(i)] =
          const_cast<void*>(context->getTensorAddress(engine->getIOTensorName(i)));
    EXPECT_FALSE(context->executeV2(bindings.data()));
    expect_refusal(b.logger.take_errors(), "all_above", "an element is too small");
  }
}

// How many elements are not zero is known while the inference runs.
TEST(Assertions, OfSizesThatRunningFinds) {
  Bench b;
  ITensor* x = b.input("x", {6});
  ITensor* found = b.network->addNonZero(*x, DataType::kINT64)->getOutput(0);
  static const std::vector<int64_t> three{3};
  static const std::vector<int32_t> one{1};
  ITensor* count = b.network->addGather(*b.network->addShape(*found)->getOutput(0), *b.constant<int32_t>({1}, one), 0)
                       ->getOutput(0);
  ITensor* few =
      b.network->addElementWise(*count, *b.constant<int64_t>({1}, three), ElementWiseOperation::kLESS)->getOutput(0);
  assert_that(b, few, "few", "fewer than three are expected");
  b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
  b.output(b.network->addCast(*found, DataType::kINT64), "places");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Floats data{0, 1, 0, 1, 0, 0}, y(6);
  std::vector<int64_t> places(6);
  ASSERT_TRUE(context->setTensorAddress("x", data.data()) && context->setTensorAddress("y", y.data()) &&
              context->setTensorAddress("places", places.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  data[0] = 1;
  EXPECT_FALSE(context->enqueueV3(nullptr));
  expect_refusal(b.logger.take_errors(), "few", "fewer than three are expected");
}

// What the profiles leave no shape for fails the build.
TEST(Assertions, ThatNoShapeFulfilsFailTheBuild) {
  Bench b;
  ITensor* x = b.input("x", {-1, 3});
  static const std::vector<int64_t> least{9, 3};
  ITensor* fewer = b.network
                       ->addElementWise(*b.network->addShape(*x)->getOutput(0), *b.constant<int64_t>({2}, least),
                                        ElementWiseOperation::kLESS)
                       ->getOutput(0);
  assert_that(b, b.network->addUnary(*fewer, UnaryOperation::kNOT)->getOutput(0), "nine", "nine rows are needed");
  b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
  b.profile("x", {1, 3}, {4, 3}, {8, 3});
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("nine rows are needed"), std::string::npos) << why;
  EXPECT_NE(why.find("'nine'"), std::string::npos) << why;
}

// What follows from constants alone is known once they are folded.
TEST(Assertions, OfConstants) {
  for (const float value : {1.F, -1.F}) {
    Bench b;
    ITensor* x = b.input("x", {3});
    const Floats number{value}, zero{0};
    ITensor* root = b.network->addUnary(*b.constant<float>({1}, number), UnaryOperation::kSIN)->getOutput(0);
    assert_that(
        b, b.network->addElementWise(*root, *b.constant<float>({1}, zero), ElementWiseOperation::kGREATER)->getOutput(0),
        "positive", "the constant is positive");
    b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
    const Owned<ICudaEngine> engine = b.engine();
    EXPECT_EQ(engine != nullptr, value > 0);
    const std::string why = b.logger.take_errors();
    if (value > 0)
      EXPECT_EQ(why, "");
    else
      EXPECT_NE(why.find("the constant is positive"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace wootz_test
