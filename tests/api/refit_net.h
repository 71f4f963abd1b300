// A small network with weights of several roles, for tests of refits.
#pragma once

#include <random>

#include "api/harness.h"

namespace wootz_test {

using namespace nvinfer1;  // NOLINT: for tests
using Floats = std::vector<float>;

// relu(scale(conv(x))) and a product, in a network whose weights come from a seed.
struct Cnn : Bench {
  explicit Cnn(unsigned seed, bool refittable = true, BuilderFlag flag = BuilderFlag::kREFIT)
      : Cnn(seed, refittable ? std::vector<BuilderFlag>{flag} : std::vector<BuilderFlag>{}) {}
  Cnn(unsigned seed, const std::vector<BuilderFlag>& flags) : rng(seed) {
    wootz_config_set_option(config.get(), "timing", "0");
    wootz_config_set_option(config.get(), "backend", "cpu");
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    filter = numbers(16 * 8 * 9), bias = numbers(16), scale = numbers(16), shift = numbers(16), matrix = numbers(160);
    ITensor* x = input("x", {-1, 8, 8, 8});
    auto* conv = network->addConvolutionNd(*x, 16, dims({3, 3}), weights(filter), weights(bias));
    conv->setPaddingNd(dims({1, 1}));
    conv->setName("conv");
    IScaleLayer* norm =
        network->addScale(*conv->getOutput(0), ScaleMode::kCHANNEL, weights(shift), weights(scale), kNone);
    norm->setName("norm");
    ITensor* active = network->addActivation(*norm->getOutput(0), ActivationType::kRELU)->getOutput(0);
    ITensor* mean = network->addReduce(*active, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false)->getOutput(0);
    IConstantLayer* right = network->addConstant(dims({16, 10}), weights(matrix));
    right->setName("right");
    auto* product =
        network->addMatrixMultiply(*mean, MatrixOperation::kNONE, *right->getOutput(0), MatrixOperation::kNONE);
    output(product, "y");
    EXPECT_TRUE(network->setWeightsName(weights(matrix), "the matrix"));
    profile("x", {1, 8, 8, 8}, {2, 8, 8, 8}, {4, 8, 8, 8});
  }
  Floats numbers(size_t count) {
    Floats values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.5F, 0.5F)(rng);
    return values;
  }
  std::mt19937 rng;
  Floats filter, bias, scale, shift, matrix;
};

// All of `from`'s weights.
inline void offer_all(IRefitter& refitter, const Cnn& from) {
  EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kKERNEL, weights(from.filter)));
  EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kBIAS, weights(from.bias)));
  EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSCALE, weights(from.scale)));
  EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSHIFT, weights(from.shift)));
  EXPECT_TRUE(refitter.setNamedWeights("the matrix", weights(from.matrix)));
}

inline Floats infer(IExecutionContext& context, int64_t batch = 2) {
  Floats x(static_cast<size_t>(batch) * 512);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  EXPECT_TRUE(context.setInputShape("x", dims({batch, 8, 8, 8})));
  return run(context, {{"x", x.data()}}, "y");
}

inline Floats infer(ICudaEngine& engine) {
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  return infer(*context);
}

}  // namespace wootz_test
