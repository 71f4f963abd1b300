// Which precision a network's layers get on the device.
#include <map>

#include "cuda/on_device.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

// What other backends compute as one step (a depthwise convolution with the pointwise one behind it, a convolution with
// its pooling) must not hide layers from the precision that was asked for.
TEST(CudaPrecision, NoConvolutionOfMobileBlocksStaysInFp32) {
  real_gpu();
  Bench bench;
  INetworkDefinition& n = *bench.network;
  std::mt19937 rng(3);
  std::vector<std::vector<float>> filters;
  const auto conv = [&](ITensor* x, int from, int to, int size, int groups) {
    filters.emplace_back(static_cast<size_t>(to * (from / groups) * size * size));
    for (float& v : filters.back()) v = std::uniform_real_distribution<float>(-0.3F, 0.3F)(rng);
    auto* layer = n.addConvolutionNd(*x, to, dims({size, size}), weights(filters.back()), kNone);
    layer->setNbGroups(groups);
    layer->setPaddingNd(dims({size / 2, size / 2}));
    return n.addActivation(*layer->getOutput(0), ActivationType::kRELU)->getOutput(0);
  };
  filters.reserve(8);
  ITensor* y = conv(bench.input("x", {1, 8, 24, 24}), 8, 16, 3, 1);
  IPoolingLayer* pool = n.addPoolingNd(*y, PoolingType::kMAX, dims({2, 2}));
  pool->setStrideNd(dims({2, 2}));
  y = conv(pool->getOutput(0), 16, 32, 1, 1);
  y = conv(y, 32, 32, 3, 32);
  y = conv(y, 32, 16, 1, 1);
  bench.output(y, "y");
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
  bench.config->setFlag(BuilderFlag::kFP16);
  const Owned<IHostMemory> plan(bench.builder->buildSerializedNetwork(n, *bench.config));
  ASSERT_NE(plan, nullptr) << bench.logger.errors();
  const auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  int convolutions = 0;
  for (const wootz::Step& step : (*program)->steps) {
    if (step.problem.family() != wootz::Family::kConv) continue;
    ++convolutions;
    EXPECT_EQ(step.problem.inputs[0].dtype, wootz::DType::kF16) << step.name;
  }
  EXPECT_EQ(convolutions, 4);
}

// Three products one after the other, the middle one asked for `middle`.
struct Products {
  explicit Products(BuilderFlag allowed, DataType middle) {
    real_gpu();
    INetworkDefinition& n = *bench.network;
    for (float& v : matrix) v = std::uniform_real_distribution<float>(-0.2F, 0.2F)(rng);
    ITensor* y = bench.input("x", {24, 24});
    for (const char* name : {"first", "middle", "last"}) {
      ITensor* w = bench.constant<float>({24, 24}, matrix);
      auto* product = n.addMatrixMultiply(*y, MatrixOperation::kNONE, *w, MatrixOperation::kNONE);
      product->setName(name);
      if (std::string_view(name) == "middle") product->setPrecision(middle);
      y = n.addActivation(*product->getOutput(0), ActivationType::kTANH)->getOutput(0);
    }
    bench.output(y, "y");
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    bench.config->setFlag(allowed);
    bench.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  }
  // The types that the products read, by name.
  std::map<std::string, wootz::DType> types() {
    std::map<std::string, wootz::DType> read;
    const Owned<IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *bench.config));
    if (plan == nullptr) return read;
    const auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
    EXPECT_TRUE(program.ok()) << program.status().to_string();
    for (const wootz::Step& step : (*program)->steps)
      for (const char* name : {"first", "middle", "last"})
        if (step.problem.family() == wootz::Family::kGemm && step.name.starts_with(name))
          read[name] = step.problem.inputs[0].dtype;
    return read;
  }
  Bench bench;
  std::mt19937 rng{7};
  std::vector<float> matrix = std::vector<float>(24 * 24);
};

TEST(CudaPrecision, ALayerStaysInFp32WhereItIsAsked) {
  Products p(BuilderFlag::kFP16, DataType::kFLOAT);
  using wootz::DType;
  const std::map<std::string, DType> want{{"first", DType::kF16}, {"middle", DType::kF32}, {"last", DType::kF16}};
  EXPECT_EQ(p.types(), want) << p.bench.logger.errors();
}

TEST(CudaPrecision, ALayerGetsItsOwnSixteenBits) {
  Products p(BuilderFlag::kFP16, DataType::kBF16);
  EXPECT_TRUE(p.types().empty());
  const std::string why = p.bench.logger.take_errors();
  EXPECT_NE(why.find("'middle' is asked to compute in bf16"), std::string::npos) << why;
  p.bench.config->setFlag(BuilderFlag::kBF16);
  using wootz::DType;
  const std::map<std::string, DType> want{{"first", DType::kF16}, {"middle", DType::kBF16}, {"last", DType::kF16}};
  EXPECT_EQ(p.types(), want) << p.bench.logger.errors();
}

}  // namespace
}  // namespace wootz_test
