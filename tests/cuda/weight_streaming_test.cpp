// Weights that come to the device beside the steps: the same bits, recorded once, and memory as the budget says.
#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
constexpr uint32_t kTyped = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

// Four convolutions, mean over the pixels, a product: [N, 8, 8, 8] to [N, 10].
struct Deep : Bench {
  explicit Deep(unsigned seed, std::vector<BuilderFlag> flags = {BuilderFlag::kWEIGHT_STREAMING})
      : Bench(kTyped), gpu(real_gpu()), rng(seed) {
    INetworkDefinition& n = *network;
    ITensor* last = input("x", {-1, 8, 8, 8});
    int64_t channels = 8;
    for (int k = 0; k < 4; ++k, channels = 32) filters.push_back(numbers(static_cast<size_t>(32 * channels * 9)));
    matrix = numbers(320);
    for (size_t k = 0; k < filters.size(); ++k) {
      auto* conv = n.addConvolutionNd(*last, 32, dims({3, 3}), weights(filters[k]), kNone);
      conv->setPaddingNd(dims({1, 1}));
      conv->setName(("conv" + std::to_string(k)).c_str());
      last = n.addActivation(*conv->getOutput(0), ActivationType::kTANH)->getOutput(0);
    }
    ITensor* mean = n.addReduce(*last, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false)->getOutput(0);
    IConstantLayer* right = n.addConstant(dims({32, 10}), weights(matrix));
    right->setName("right");
    output(n.addMatrixMultiply(*mean, MatrixOperation::kNONE, *right->getOutput(0), MatrixOperation::kNONE), "y");
    profile("x", {1, 8, 8, 8}, {2, 8, 8, 8}, {4, 8, 8, 8});
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
    for (const BuilderFlag flag : flags) config->setFlag(flag);
  }
  std::vector<float> numbers(size_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.1F, 0.1F)(rng);
    return values;
  }
  void offer_to(IRefitter& refitter) const {
    for (size_t k = 0; k < filters.size(); ++k)
      EXPECT_TRUE(refitter.setWeights(("conv" + std::to_string(k)).c_str(), WeightsRole::kKERNEL, weights(filters[k])));
    EXPECT_TRUE(refitter.setWeights("right", WeightsRole::kCONSTANT, weights(matrix)));
  }
  bool gpu;
  std::mt19937 rng;
  std::vector<std::vector<float>> filters;
  std::vector<float> matrix;
};

std::vector<float> results_of(ICudaEngine& engine, int64_t count, int times = 1) {
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  if (context == nullptr) return {};
  Batch batch(engine, count);
  Stream stream;
  for (int i = 0; i < times; ++i) EXPECT_TRUE(batch.enqueue(*context, stream.handle));
  stream.wait();
  return batch.results();
}

TEST(CudaWeightStreaming, TheSameBitsUnderEveryBudget) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  Deep net(seed), plain(seed, {});
  const auto engine = net.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  ASSERT_NE(usual, nullptr) << plain.logger.errors();
  const std::vector<float> two = results_of(*usual, 2), four = results_of(*usual, 4);
  const int64_t all = engine->getStreamableWeightsSize(), activations = engine->getDeviceMemorySizeV2();
  EXPECT_GE(all, 3 * 32 * 32 * 9 * 4);
  EXPECT_EQ(engine->getWeightStreamingBudgetV2(), all);
  EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), 0);
  EXPECT_GT(engine->getWeightStreamingAutomaticBudget(), 0);
  EXPECT_GT(engine->getMinimumWeightStreamingBudget(), 0);
  for (const int64_t budget : {int64_t{0}, all / 2, all}) {
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(budget)) << net.logger.errors();
    const int64_t scratch = engine->getWeightStreamingScratchMemorySize();
    EXPECT_EQ(scratch > 0, budget < all);
    EXPECT_LT(scratch, all) << "not all of them are on their way at once";
    EXPECT_EQ(engine->getDeviceMemorySizeV2(), activations + scratch);
    EXPECT_EQ(results_of(*engine, 2, 3), two) << budget;
    EXPECT_EQ(results_of(*engine, 4, 3), four) << budget;
  }
  EXPECT_EQ(net.logger.errors(), "");
}

TEST(CudaWeightStreaming, IsPartOfWhatIsRecorded) {
  if (real_gpu()) GTEST_SKIP() << "counted on the emulator";
  Deep net(1), plain(1, {});
  const auto engine = net.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0)) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext()), other(engine->createExecutionContext());
  Batch a(*engine, 2), b(*engine, 2);
  Stream one, two;
  ASSERT_TRUE(a.enqueue(*context, one.handle) && b.enqueue(*other, two.handle)) << net.logger.errors();
  const cuda::EmulatorCounts before = cuda::emulator_counts();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(a.enqueue(*context, one.handle));
    ASSERT_TRUE(b.enqueue(*other, two.handle));
  }
  one.wait();
  two.wait();
  const cuda::EmulatorCounts after = cuda::emulator_counts();
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.launches, before.launches);
  EXPECT_EQ(after.allocations, before.allocations);
  const std::vector<float> want = results_of(*usual, 2);
  EXPECT_EQ(a.results(), want);
  EXPECT_EQ(b.results(), want);
  EXPECT_EQ(cuda::emulator_faults(), "");
}

TEST(CudaWeightStreaming, OneByOneAndInMemoryOfTheCaller) {
  Deep net(2), plain(2, {});
  const auto engine = net.engine(), usual = plain.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0)) << net.logger.errors();
  const std::vector<float> want = results_of(*usual, 2);
  const auto bytes = static_cast<size_t>(engine->getDeviceMemorySizeV2());
  const Owned<IExecutionContext> context(
      engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
  void* const memory = wootz_device_allocate(engine.get(), bytes);
  context->setDeviceMemoryV2(memory, static_cast<int64_t>(bytes));
  struct Layers final : IProfiler {
    void reportLayerTime(const char*, float) noexcept override { ++count; }
    int count = 0;
  } layers;
  context->setProfiler(&layers);
  Batch batch(*engine, 2);
  Stream stream;
  ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << net.logger.errors();
  stream.wait();
  EXPECT_EQ(batch.results(), want);
  EXPECT_GT(layers.count, 0);
  wootz_device_free(engine.get(), memory);
}

TEST(CudaWeightStreaming, TakesNewWeights) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  using Flags = std::vector<BuilderFlag>;
  for (const Flags& flags : {Flags{BuilderFlag::kWEIGHT_STREAMING, BuilderFlag::kREFIT},
                             Flags{BuilderFlag::kWEIGHT_STREAMING, BuilderFlag::kREFIT, BuilderFlag::kSTRIP_PLAN}}) {
    Deep net(seed, flags), after(seed + 1, {});
    const auto engine = net.engine(), fresh = after.engine();
    ASSERT_NE(engine, nullptr) << net.logger.errors();
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(engine->getStreamableWeightsSize() / 2)) << net.logger.errors();
    const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
    net.offer_to(*refitter);
    ASSERT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    Batch batch(*engine, 2);
    Stream stream;
    ASSERT_TRUE(batch.enqueue(*context, stream.handle)) << net.logger.errors();
    stream.wait();
    after.offer_to(*refitter);
    ASSERT_TRUE(refitter->refitCudaEngineAsync(reinterpret_cast<cudaStream_t>(stream.handle))) << net.logger.errors();
    ASSERT_TRUE(batch.enqueue(*context, stream.handle));
    stream.wait();
    EXPECT_EQ(batch.results(), results_of(*fresh, 2));
  }
}

}  // namespace
}  // namespace wootz_test
