// Small networks made by the API, built, run, and compared with numbers worked out by hand.
#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

TEST(FirstNetworks, MlpOfTwoProducts) {
  Bench b;
  ITensor* x = b.input("x", {2, 3});
  const std::vector<float> w1{1, 0, 0, 1, 1, 1}, w2{1, -1};
  ITensor* a = b.network->addConstant(dims({3, 2}), weights(w1))->getOutput(0);
  ITensor* c = b.network->addConstant(dims({2, 1}), weights(w2))->getOutput(0);
  ITensor* h = b.network->addMatrixMultiply(*x, MatrixOperation::kNONE, *a, MatrixOperation::kNONE)->getOutput(0);
  EXPECT_EQ(list(h->getDimensions()), (std::vector<int64_t>{2, 2}));
  ITensor* r = b.network->addActivation(*h, ActivationType::kRELU)->getOutput(0);
  b.output(b.network->addMatrixMultiply(*r, MatrixOperation::kNONE, *c, MatrixOperation::kNONE), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getNbIOTensors(), 2);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_NE(context, nullptr) << b.logger.errors();
  const std::vector<float> input{1, 2, 3, -1, -2, 1};
  // Row 0: h = (4, 5) -> -1. Row 1: h = (0, -1) -> (0, 0) -> 0.
  expect_near(run(*context, {{"x", input.data()}}, "y"), {-1, 0});
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(FirstNetworks, ConvolutionPoolSoftmax) {
  Bench b;
  ITensor* x = b.input("x", {1, 1, 4, 4});
  const std::vector<float> kernel{1, 1, 1, 1, 0, 0, 0, 1}, bias{0, 1};
  IConvolutionLayer* conv = b.network->addConvolutionNd(*x, 2, dims({2, 2}), weights(kernel), weights(bias));
  conv->setStrideNd(dims({2, 2}));
  EXPECT_EQ(list(conv->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 2, 2, 2}));
  IPoolingLayer* pool = b.network->addPoolingNd(*conv->getOutput(0), PoolingType::kMAX, dims({2, 2}));
  ISoftMaxLayer* softmax = b.network->addSoftMax(*pool->getOutput(0));
  softmax->setAxes(1U << 1);
  b.output(softmax, "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> input(16);
  for (size_t i = 0; i < 16; ++i) input[i] = static_cast<float>(i) * 0.1F;
  // Channel 0: largest sum of a block: (10 + 11 + 14 + 15) / 10 = 5.0; channel 1: 1.5 + 1 = 2.5.
  const float e = std::exp(2.5F);
  expect_near(run(*context, {{"x", input.data()}}, "y"), {e / (1 + e), 1 / (1 + e)});
}

}  // namespace
}  // namespace wootz_test
