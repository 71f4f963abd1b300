// Engines with new weights: the same bits as an engine that was built with them.
#include <malloc.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "api/refit_net.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
TEST(Refit, GivesTheBitsOfABuildWithTheseWeights) {
  Cnn before(1), after(2), plain(2, false);
  const auto engine = before.engine(), fresh = after.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  EXPECT_TRUE(engine->isRefittable());
  EXPECT_FALSE(usual->isRefittable());
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats old = infer(*context);
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  ASSERT_NE(refitter, nullptr) << before.logger.errors();
  offer_all(*refitter, after);
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  const Floats got = infer(*context);
  EXPECT_NE(got, old);
  EXPECT_EQ(got, infer(*fresh));
  EXPECT_EQ(got, infer(*usual));
  EXPECT_EQ(got, infer(*engine)) << "in a context made afterwards";
  EXPECT_EQ(before.logger.errors(), "");
  // What was written is the plan of a build with these weights.
  const Owned<IHostMemory> mine(engine->serialize()), theirs(fresh->serialize());
  ASSERT_EQ(mine->size(), theirs->size());
  EXPECT_EQ(std::memcmp(mine->data(), theirs->data(), mine->size()), 0);
}

TEST(Refit, PartOfTheWeightsAndTheRestStays) {
  Cnn before(3), other(4);
  const auto engine = before.engine();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kBIAS, weights(other.bias)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  EXPECT_TRUE(refitter->setWeights("norm", WeightsRole::kSCALE, weights(other.scale)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  Cnn both(3);
  std::copy(other.bias.begin(), other.bias.end(), both.bias.begin());
  std::copy(other.scale.begin(), other.scale.end(), both.scale.begin());
  EXPECT_EQ(infer(*engine), infer(*both.engine()));
}

TEST(Refit, TellsWhatThereIs) {
  Cnn b(5);
  const auto engine = b.engine();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  EXPECT_EQ(refitter->getAllWeights(0, nullptr), 1);
  const char* name = nullptr;
  EXPECT_EQ(refitter->getAllWeights(1, &name), 1);
  EXPECT_STREQ(name, "the matrix");
  EXPECT_EQ(refitter->getAll(0, nullptr, nullptr), 5);
  std::vector<const char*> layers(5);
  std::vector<WeightsRole> roles(5);
  refitter->getAll(5, layers.data(), roles.data());
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
  const Weights prototype = refitter->getWeightsPrototype("the matrix");
  EXPECT_EQ(prototype.count, 160);
  EXPECT_EQ(prototype.type, DataType::kFLOAT);
  EXPECT_EQ(refitter->getWeightsPrototype("none").count, -1);
  EXPECT_EQ(refitter->getNamedWeights("the matrix").count, 0);
  EXPECT_TRUE(refitter->setNamedWeights("the matrix", weights(b.matrix)));
  EXPECT_EQ(refitter->getNamedWeights("the matrix").values, b.matrix.data());
  EXPECT_EQ(refitter->getWeightsLocation("the matrix"), TensorLocation::kHOST);
  EXPECT_TRUE(refitter->unsetNamedWeights("the matrix"));
  EXPECT_FALSE(refitter->unsetNamedWeights("the matrix"));
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(Refit, RefusesWhatDoesNotFit) {
  Cnn b(6);
  const auto engine = b.engine();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  const auto refused = [&](bool done) { return !done && !b.logger.take_errors().empty(); };
  const Floats one(1);
  EXPECT_TRUE(refused(refitter->setNamedWeights("none", weights(one))));
  EXPECT_TRUE(refused(refitter->setNamedWeights(nullptr, weights(one))));
  EXPECT_TRUE(refused(refitter->setNamedWeights("the matrix", weights(one))));
  EXPECT_TRUE(refused(refitter->setNamedWeights("the matrix", {DataType::kINT32, b.matrix.data(), 160})));
  EXPECT_TRUE(refused(refitter->setWeights("conv", WeightsRole::kSHIFT, weights(b.shift))));
  EXPECT_TRUE(refused(refitter->setWeights("nobody", WeightsRole::kBIAS, weights(b.bias))));
  EXPECT_TRUE(refused(refitter->setMaxThreads(0)));
  EXPECT_TRUE(refused(refitter->setDynamicRange("x", -1, 1)));
  Floats bad = b.matrix;
  bad[7] = INFINITY;
  EXPECT_TRUE(refused(refitter->setNamedWeights("the matrix", weights(bad))));
  refitter->setWeightsValidation(false);
  EXPECT_TRUE(refitter->setNamedWeights("the matrix", weights(bad)));
  Cnn plain(6, false);
  const auto other = plain.engine();
  EXPECT_EQ(createInferRefitter(*other, plain.logger), nullptr);
  EXPECT_NE(plain.logger.errors().find("kREFIT"), std::string::npos);
}

TEST(Refit, OnlyMarkedWeights) {
  Cnn b(7, true, BuilderFlag::kREFIT_INDIVIDUAL);
  EXPECT_FALSE(b.network->markWeightsRefittable("none"));
  EXPECT_TRUE(b.network->setWeightsName(weights(b.bias), "the bias"));
  EXPECT_FALSE(b.network->setWeightsName(weights(Floats(3)), "elsewhere"));
  EXPECT_TRUE(b.network->markWeightsRefittable("the bias"));
  EXPECT_TRUE(b.network->areWeightsMarkedRefittable("the bias"));
  EXPECT_FALSE(b.network->areWeightsMarkedRefittable("the matrix"));
  b.logger.take_errors();
  const auto engine = b.engine();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  const char* name = nullptr;
  ASSERT_EQ(refitter->getAllWeights(1, &name), 1);
  EXPECT_STREQ(name, "the bias");
  EXPECT_FALSE(refitter->setNamedWeights("the matrix", weights(b.matrix)));
  EXPECT_TRUE(refitter->setNamedWeights("the bias", weights(b.shift)));
  EXPECT_TRUE(refitter->refitCudaEngine()) << b.logger.errors();
}

// x * factor + bias, with values that a build makes use of.
struct Simple : Bench {
  Simple(float factor_value, float bias_value) : factor(8, factor_value), bias(8, bias_value) {
    wootz_config_set_option(config.get(), "timing", "0");
    wootz_config_set_option(config.get(), "backend", "cpu");
    config->setFlag(BuilderFlag::kREFIT);
    ITensor* x = input("x", {4, 8});
    ITensor* product =
        network->addElementWise(*x, *named({1, 8}, factor, "factor"), ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* soft = network->addActivation(*product, ActivationType::kTANH)->getOutput(0);
    output(network->addElementWise(*soft, *named({1, 8}, bias, "bias"), ElementWiseOperation::kSUM), "y");
  }
  ITensor* named(std::initializer_list<int64_t> shape, const Floats& values, const char* name) {
    ITensor* made = constant(shape, values);
    EXPECT_TRUE(network->setWeightsName(weights(values), name));
    return made;
  }
  Floats factor, bias;
};

TEST(Refit, WhatTheBuildMadeUseOfIsRightOrRefused) {
  Floats x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1F * static_cast<float>(i) - 1;
  const auto values = [&](ICudaEngine& engine) {
    const Owned<IExecutionContext> context(engine.createExecutionContext());
    return run(*context, {{"x", x.data()}}, "y");
  };
  const float kinds[] = {0, 1, 0.5F, -2};
  for (const float from : kinds) {
    for (const float to : kinds) {
      Simple before(from, from), after(to, to);
      const auto engine = before.engine(), fresh = after.engine();
      ASSERT_NE(engine, nullptr) << before.logger.errors();
      const Floats old = values(*engine);
      const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
      EXPECT_TRUE(refitter->setNamedWeights("factor", weights(after.factor)));
      EXPECT_TRUE(refitter->setNamedWeights("bias", weights(after.bias)));
      if (refitter->refitCudaEngine()) {
        EXPECT_EQ(values(*engine), values(*fresh)) << from << " to " << to;
        EXPECT_EQ(before.logger.errors(), "");
      } else {
        EXPECT_EQ(values(*engine), old) << from << " to " << to;
        EXPECT_NE(before.logger.errors().find("'factor'"), std::string::npos) << before.logger.errors();
      }
    }
  }
}

TEST(Refit, AHundredTakeNoMemory) {
  Cnn one(8), two(9);
  const auto engine = one.engine();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Owned<IRefitter> refitter(createInferRefitter(*engine, one.logger));
  const auto refit = [&](const Cnn& to) {
    offer_all(*refitter, to);
    EXPECT_TRUE(refitter->refitCudaEngine()) << one.logger.errors();
    return infer(*context);
  };
  const Floats first = refit(two), second = refit(one);
  for (int i = 0; i < 5; ++i) refit(two), refit(one);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(refit(two), first);
    EXPECT_EQ(refit(one), second);
  }
  const size_t after = mallinfo2().uordblks;
  EXPECT_LE(after, before + (size_t{64} << 10));
}

TEST(Refit, InTheOrderOfAStream) {
  Cnn one(12), two(13);
  const auto engine = one.engine();
  const Floats first = infer(*engine), second = infer(*two.engine());
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Owned<IRefitter> refitter(createInferRefitter(*engine, one.logger));
  void* const stream = wootz_stream_create();
  Floats x(1024), before(20), after(20);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const auto enqueue = [&](Floats& y) {
    return context->setInputShape("x", dims({2, 8, 8, 8})) && context->setInputTensorAddress("x", x.data()) &&
           context->setTensorAddress("y", y.data()) && context->enqueueV3(static_cast<cudaStream_t>(stream));
  };
  EXPECT_TRUE(enqueue(before));
  offer_all(*refitter, two);
  EXPECT_TRUE(refitter->refitCudaEngineAsync(static_cast<cudaStream_t>(stream))) << one.logger.errors();
  EXPECT_TRUE(enqueue(after));
  EXPECT_EQ(wootz_stream_synchronize(stream), 0);
  EXPECT_EQ(before, first);
  EXPECT_EQ(after, second);
  wootz_stream_destroy(stream);
}

// Every inference has either all old weights or all new ones.
TEST(Refit, WhileContextsRun) {
  Cnn one(10), two(11);
  const auto engine = one.engine();
  const Floats first = infer(*engine), second = infer(*two.engine());
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const Owned<IExecutionContext> context(engine->createExecutionContext());
      while (!stop) {
        const Floats y = infer(*context);
        if (y != first && y != second) ++bad;
      }
    });
  const Owned<IRefitter> refitter(createInferRefitter(*engine, one.logger));
  void* const stream = wootz_stream_create();
  size_t before = 0;
  for (int i = 0; i < 100; ++i) {
    offer_all(*refitter, i % 2 == 0 ? two : one);
    const bool done =
        i % 4 < 2 ? refitter->refitCudaEngine() : refitter->refitCudaEngineAsync(static_cast<cudaStream_t>(stream));
    EXPECT_TRUE(done) << one.logger.errors();
    if (i == 20) before = mallinfo2().uordblks;
  }
  const size_t after = mallinfo2().uordblks;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  wootz_stream_destroy(stream);
  EXPECT_EQ(bad, 0);
  EXPECT_LE(after, before + (size_t{1} << 20)) << "each inference at work holds some";
  EXPECT_EQ(infer(*engine), first);
}

}  // namespace
}  // namespace wootz_test
