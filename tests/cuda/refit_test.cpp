// New weights for engines on a device: the same places, and what is recorded stays right.
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// relu(scale(conv(x))), mean over the pixels, a product: [N, 8, 8, 8] to [N, 10], with weights from a seed.
struct Refitted : Bench {
  explicit Refitted(unsigned seed, bool refittable = true) : gpu(real_gpu()), rng(seed) {
    filter = numbers(576), bias = numbers(8), scale = numbers(8), shift = numbers(8), matrix = numbers(80);
    INetworkDefinition& n = *network;
    ITensor* x = input("x", {-1, 8, 8, 8});
    auto* conv = n.addConvolutionNd(*x, 8, dims({3, 3}), weights(filter), weights(bias));
    conv->setPaddingNd(dims({1, 1}));
    conv->setName("conv");
    IScaleLayer* norm = n.addScale(*conv->getOutput(0), ScaleMode::kCHANNEL, weights(shift), weights(scale), kNone);
    norm->setName("norm");
    ITensor* active = n.addActivation(*norm->getOutput(0), ActivationType::kRELU)->getOutput(0);
    ITensor* mean = n.addReduce(*active, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false)->getOutput(0);
    IConstantLayer* right = n.addConstant(dims({8, 10}), weights(matrix));
    right->setName("right");
    output(n.addMatrixMultiply(*mean, MatrixOperation::kNONE, *right->getOutput(0), MatrixOperation::kNONE), "y");
    profile("x", {1, 8, 8, 8}, {2, 8, 8, 8}, {4, 8, 8, 8});
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
    if (refittable) config->setFlag(BuilderFlag::kREFIT);
  }
  std::vector<float> numbers(size_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.3F, 0.3F)(rng);
    return values;
  }
  void offer_to(IRefitter& refitter) const {
    EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kKERNEL, weights(filter)));
    EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kBIAS, weights(bias)));
    EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSCALE, weights(scale)));
    EXPECT_TRUE(refitter.setWeights("norm", WeightsRole::kSHIFT, weights(shift)));
    EXPECT_TRUE(refitter.setWeights("right", WeightsRole::kCONSTANT, weights(matrix)));
  }
  bool gpu;
  std::mt19937 rng;
  std::vector<float> filter, bias, scale, shift, matrix;
};

std::vector<float> results_of(ICudaEngine& engine) {
  Owned<IExecutionContext> context(engine.createExecutionContext());
  Batch batch(engine, 2);
  Stream stream;
  EXPECT_TRUE(batch.enqueue(*context, stream.handle));
  stream.wait();
  return batch.results();
}

TEST(CudaRefit, TakesThePlacesOfTheOldWeights) {
  Refitted before(1), after(2), plain(2, false);
  const auto engine = before.engine(), fresh = after.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  Batch batch(*engine, 2);
  Stream stream;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << before.logger.errors();
  stream.wait();
  const std::vector<float> old = batch.results();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  after.offer_to(*refitter);
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  const cuda::EmulatorCounts counts = cuda::emulator_counts();
  ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << before.logger.errors();
  stream.wait();
  if (!real_gpu())
    EXPECT_EQ(cuda::emulator_counts().instantiations, counts.instantiations) << "nothing is recorded again";
  const std::vector<float> got = batch.results();
  EXPECT_NE(got, old);
  EXPECT_EQ(got, results_of(*fresh));
  EXPECT_EQ(got, results_of(*usual));
  // In the order of a stream: what was enqueued before has the weights of before.
  before.offer_to(*refitter);
  ASSERT_TRUE(refitter->refitCudaEngineAsync(reinterpret_cast<cudaStream_t>(stream.handle)));
  ASSERT_TRUE(batch.enqueue(*context, stream.handle));
  stream.wait();
  EXPECT_EQ(batch.results(), old);
  EXPECT_EQ(before.logger.errors(), "");
}

TEST(CudaRefit, BringsTheWeightsOfAStrippedPlan) {
  Refitted stripped(5), plain(5, false);
  stripped.config->setFlag(BuilderFlag::kSTRIP_PLAN);
  const auto engine = stripped.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << stripped.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Batch batch(*engine, 2);
  Stream stream;
  EXPECT_FALSE(batch.enqueue(*context, stream.handle));
  EXPECT_NE(stripped.logger.take_errors().find("has no weights"), std::string::npos);
  const Owned<IRefitter> refitter(createInferRefitter(*engine, stripped.logger));
  EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 5);
  stripped.offer_to(*refitter);
  ASSERT_TRUE(refitter->refitCudaEngineAsync(reinterpret_cast<cudaStream_t>(stream.handle)));
  ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << stripped.logger.errors();
  stream.wait();
  EXPECT_EQ(batch.results(), results_of(*usual));
}

TEST(CudaRefit, AHundredTakeNoMemoryOfTheDevice) {
  Refitted one(3), two(4);
  const auto engine = one.engine();
  ASSERT_NE(engine, nullptr) << one.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, one.logger));
  const std::vector<float> first = results_of(*engine);
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  for (int i = 0; i < 100; ++i) {
    (i % 2 == 0 ? two : one).offer_to(*refitter);
    ASSERT_TRUE(refitter->refitCudaEngine()) << one.logger.errors();
  }
  if (!real_gpu()) EXPECT_EQ(cuda::emulator_counts().allocations, before.allocations);
  EXPECT_EQ(results_of(*engine), first);
}

}  // namespace
}  // namespace wootz_test
