// Networks with FP8 Q/DQ, built for GPUs that are not there: what multiplies floats of 8 bits does so, with and without
// the flag, and what does not gets the plan that it got before.
#include <algorithm>

#include "api/harness.h"
#include "backends/cuda/jit/compiler.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

constexpr int64_t kWidth = 64, kInner = 128;

// A network's numbers, which it only refers to.
struct Numbers {
  bool by_column = false;  // weights have a scale for each column
  std::vector<float> steps = std::vector<float>(kInner, 0.25F);
  std::vector<float> one{1}, step{0.125F}, ones = std::vector<float>(kInner, 1);
  std::vector<float> weights = std::vector<float>(kWidth * kInner, 0.5F);
};

// In the type that the network computes in.
ITensor* quantized(Bench& b, ITensor* x, const Numbers& n) {
  ITensor* scale = b.constant<float>({}, n.step);
  ITensor* q = b.network->addQuantize(*x, *scale, DataType::kFP8)->getOutput(0);
  return b.network->addDequantize(*q, *scale, x->getType())->getOutput(0);
}

// Scales that are not all the same.
ITensor* by_columns(Bench& b, ITensor* x, int64_t columns, const Numbers& n) {
  ITensor* scale = b.network->addConstant(dims({columns}), {DataType::kFLOAT, n.steps.data(), columns})->getOutput(0);
  IQuantizeLayer* q = b.network->addQuantize(*x, *scale, DataType::kFP8);
  q->setAxis(2);
  IDequantizeLayer* back = b.network->addDequantize(*q->getOutput(0), *scale, x->getType());
  back->setAxis(2);
  return back->getOutput(0);
}

ITensor* as(Bench& b, ITensor* x, DataType type) {
  return x->getType() == type ? x : b.network->addCast(*x, type)->getOutput(0);
}

ITensor* product(Bench& b, ITensor* x, int64_t depth, int64_t columns, const Numbers& n) {
  const DataType type = x->getType();
  ITensor* plain = as(b, b.constant<float>({1, depth, columns}, n.weights), type);
  ITensor* w = n.by_column ? by_columns(b, plain, columns, n) : quantized(b, plain, n);
  ITensor* y = b.network->addMatrixMultiply(*quantized(b, x, n), MatrixOperation::kNONE, *w, MatrixOperation::kNONE)
                   ->getOutput(0);
  ITensor* bias =
      b.network->addConstant(dims({1, 1, columns}), {DataType::kFLOAT, n.ones.data(), columns})->getOutput(0);
  return b.network->addElementWise(*y, *as(b, bias, type), ElementWiseOperation::kSUM)->getOutput(0);
}

// A block of a transformer behind its attention: normalization, two products around a GELU, the residual.
void block(Bench& b, const Numbers& n, DataType type = DataType::kFLOAT) {
  ITensor* x = b.input("x", {2, 16, kWidth}, type);
  const Weights first{DataType::kFLOAT, n.ones.data(), kWidth};
  ITensor* scale = as(b, b.network->addConstant(dims({1, 1, kWidth}), first)->getOutput(0), type);
  ITensor* norm = b.network->addNormalization(*x, *scale, *scale, 1U << 2)->getOutput(0);
  ITensor* inner = product(b, norm, kWidth, kInner, n);
  inner = b.network->addActivation(*inner, ActivationType::kGELU_ERF)->getOutput(0);
  ITensor* outer = product(b, inner, kInner, kWidth, n);
  b.output(b.network->addElementWise(*outer, *norm, ElementWiseOperation::kSUM), "y");
}

std::vector<std::byte> build(Bench& b, const char* device) {
  EXPECT_EQ(wootz_config_set_option(b.config.get(), "device", device), 0);
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  if (plan == nullptr) return {};
  const auto* bytes = static_cast<const std::byte*>(plan->data());
  return {bytes, bytes + plan->size()};
}

std::vector<std::byte> build_block(const char* device, std::initializer_list<BuilderFlag> flags) {
  const Numbers numbers;
  Bench b;
  block(b, numbers);
  for (const BuilderFlag flag : flags) b.config->setFlag(flag);
  return build(b, device);
}

std::vector<wootz::Step> steps_of(const std::vector<std::byte>& bytes, wootz::Family family) {
  std::vector<wootz::Step> found;
  const auto program = wootz::read_plan(bytes);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  if (!program.ok()) return found;
  for (const wootz::Step& step : (*program)->steps)
    if (step.problem.is(family)) found.push_back(step);
  return found;
}

std::vector<std::string> products_of(const std::vector<std::byte>& bytes) {
  std::vector<std::string> kernels;
  for (const wootz::Step& step : steps_of(bytes, wootz::Family::kGemm)) kernels.push_back(step.tactic.kernel);
  return kernels;
}

// Both products are of the 8 bits, whoever computes them; the types of their results.
std::vector<wootz::DType> results_in_eight_bits(const std::vector<std::byte>& bytes) {
  std::vector<wootz::DType> results;
  for (const wootz::Step& step : steps_of(bytes, wootz::Family::kGemm)) {
    EXPECT_EQ(step.problem.inputs[0].dtype, wootz::DType::kF8E4M3) << step.name;
    EXPECT_EQ(step.problem.inputs[1].dtype, wootz::DType::kF8E4M3) << step.name;
    results.push_back(step.problem.outputs[0].dtype);
  }
  EXPECT_EQ(results.size(), 2u);
  return results;
}

ITensor* convolution(Bench& b, const Numbers& n, DataType type, ITensor* x, int64_t columns, int64_t window) {
  const int64_t channels = x->getDimensions().d[1];
  const Weights own{DataType::kFLOAT, n.weights.data(), columns * channels * window * window};
  ITensor* plain = as(b, b.network->addConstant(dims({columns, channels, window, window}), own)->getOutput(0), type);
  IConvolutionLayer* conv =
      b.network->addConvolutionNd(*quantized(b, x, n), columns, dims({window, window}), {DataType::kFLOAT, nullptr, 0},
                                  {DataType::kFLOAT, n.ones.data(), columns});
  conv->setInput(1, *quantized(b, plain, n));
  conv->setPaddingNd(dims({window / 2, window / 2}));
  return conv->getOutput(0);
}

// Two convolutions, the first with an activation and a maximum of windows behind it, the second with a residual, and
// the mean of the image.
void images(Bench& b, const Numbers& n, DataType type) {
  ITensor* x = b.input("x", {2, 16, 16, 16}, type);
  ITensor* first = convolution(b, n, type, x, 16, 1);
  first = b.network->addActivation(*first, ActivationType::kRELU)->getOutput(0);
  IPoolingLayer* pool = b.network->addPoolingNd(*first, PoolingType::kMAX, dims({2, 2}));
  pool->setStrideNd(dims({2, 2}));
  ITensor* residual = quantized(b, pool->getOutput(0), n);
  ITensor* second = convolution(b, n, type, pool->getOutput(0), 16, 3);
  ITensor* sum = b.network->addElementWise(*second, *residual, ElementWiseOperation::kSUM)->getOutput(0);
  sum = quantized(b, sum, n);
  b.output(b.network->addReduce(*sum, ReduceOperation::kAVG, 12, true), "y");
}

TEST(DevicelessFp8, ProductsAreOfTheEightBitsWithAndWithoutTheFlag) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const std::vector<std::byte> bytes = build_block("h200", {BuilderFlag::kFP16});
  results_in_eight_bits(bytes);
  EXPECT_TRUE(build_block("h200", {BuilderFlag::kFP16, BuilderFlag::kFP8}) == bytes);
  const auto program = wootz::read_plan(bytes);
  ASSERT_TRUE(program.ok());
  // The normalization gives its result twice, and nothing else rounds: the first product does so itself.
  size_t norms = 0, roundings = 0;
  for (const wootz::Step& step : (*program)->steps) {
    norms += step.problem.is(wootz::Family::kNorm) && step.outputs.size() == 2;
    const auto& outputs = step.problem.outputs;
    roundings += step.problem.is(wootz::Family::kPointwise) && outputs[0].dtype == wootz::DType::kF8E4M3;
  }
  EXPECT_EQ(norms, 1u);
  EXPECT_EQ(roundings, 0u);
}

TEST(DevicelessFp8, ElsewhereTheyAreOfWiderFloats) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const Numbers numbers;
  Bench b;
  block(b, numbers);
  b.config->setFlag(BuilderFlag::kFP16);
  const std::vector<std::string> products = products_of(build(b, "a100"));
  EXPECT_EQ(products.size(), 2u);
  for (const std::string& name : products) EXPECT_EQ(name.find("f8"), std::string::npos) << name;
  EXPECT_NE(b.logger.infos().find("computed in wider floats: sm_80"), std::string::npos) << b.logger.infos();
}

// The library adds no bias to results in FP32: a kernel of our own does.
TEST(DevicelessFp8, ResultsInSinglePrecision) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  results_in_eight_bits(build_block("h200", {}));
}

TEST(DevicelessFp8, StronglyTypedNetworks) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const Numbers numbers;
  Bench b(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  block(b, numbers, DataType::kHALF);
  results_in_eight_bits(build(b, "h200"));
}

// The library does not round what has a scale for each column: a kernel of our own does.
TEST(DevicelessFp8, ScalesByColumn) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  Numbers numbers;
  numbers.by_column = true;
  for (size_t i = 0; i < numbers.steps.size(); ++i) numbers.steps[i] = 0.25F + 0.01F * static_cast<float>(i);
  Bench b;
  block(b, numbers);
  b.config->setFlag(BuilderFlag::kFP16);
  EXPECT_EQ(results_in_eight_bits(build(b, "h200")),
            (std::vector<wootz::DType>{wootz::DType::kF8E4M3, wootz::DType::kF16}));
}

// Whichever of the two is rounded writes the 8 bits, and the other one adds them; no sum is in wider floats.
TEST(DevicelessFp8, SumsOfConvolutionsOfWhichOneIsRounded) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const Numbers numbers;
  for (const bool first : {true, false}) {
    Bench b;
    ITensor* x = b.input("x", {2, 16, 16, 16}, DataType::kFLOAT);
    ITensor* left = convolution(b, numbers, DataType::kFLOAT, x, 32, 3);
    ITensor* right = convolution(b, numbers, DataType::kFLOAT, x, 32, 1);
    (first ? left : right) = quantized(b, first ? left : right, numbers);
    ITensor* sum = b.network->addElementWise(*left, *right, ElementWiseOperation::kSUM)->getOutput(0);
    sum = b.network->addActivation(*sum, ActivationType::kRELU)->getOutput(0);
    b.output(b.network->addReduce(*quantized(b, sum, numbers), ReduceOperation::kAVG, 12, true), "y");
    b.config->setFlag(BuilderFlag::kFP16);
    const auto convolutions = steps_of(build(b, "h200"), wootz::Family::kConv);
    ASSERT_EQ(convolutions.size(), 2u);
    size_t residuals = 0;
    for (const wootz::Step& step : convolutions) {
      EXPECT_EQ(step.problem.outputs[0].dtype, wootz::DType::kF8E4M3) << step.name;
      for (size_t i = 3; i < step.problem.inputs.size(); ++i)
        residuals += step.problem.inputs[i].dtype == wootz::DType::kF8E4M3;
    }
    EXPECT_EQ(residuals, 1u);
  }
}

TEST(DevicelessFp8, ConvolutionsAndWhatIsAroundThem) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const Numbers numbers;
  for (const char* device : {"h200", "l4"})
    for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
      Bench b(type == DataType::kFLOAT ? 0
                                       : 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
      images(b, numbers, type);
      const std::vector<std::byte> bytes = build(b, device);
      const auto convolutions = steps_of(bytes, wootz::Family::kConv);
      ASSERT_EQ(convolutions.size(), 2u);
      for (const wootz::Step& step : convolutions) {
        EXPECT_NE(step.tactic.kernel.find("float8"), std::string::npos) << step.tactic.kernel;
        EXPECT_EQ(step.problem.outputs[0].dtype, wootz::DType::kF8E4M3);
      }
      for (const wootz::Step& step : steps_of(bytes, wootz::Family::kPool))
        EXPECT_EQ(step.problem.inputs[0].dtype, wootz::DType::kF8E4M3);
    }
}

TEST(DevicelessFp8, ElsewhereConvolutionsAreOfWiderFloats) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  const Numbers numbers;
  Bench b;
  images(b, numbers, DataType::kFLOAT);
  for (const wootz::Step& step : steps_of(build(b, "a100"), wootz::Family::kConv))
    EXPECT_NE(step.problem.inputs[0].dtype, wootz::DType::kF8E4M3);
  EXPECT_NE(b.logger.infos().find("computed in wider floats: sm_80"), std::string::npos) << b.logger.infos();
}

// Rows quantized while running, by blocks of 128, times a matrix with a scale for each 128 by 128 elements.
void blocks(Bench& b, DataType type) {
  constexpr int64_t kDepth = 256, kColumns = 128, kBlock = 128;
  static const std::vector<float> weights(kDepth * kColumns, 0.5F), steps{0.25F, 0.5F};
  ITensor* x = b.input("x", {-1, kDepth}, type);
  IOptimizationProfile* profile = b.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, kDepth}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({64, kDepth}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({256, kDepth}));
  b.config->addOptimizationProfile(profile);
  IDynamicQuantizeLayer* q = b.network->addDynamicQuantizeV2(*x, dims({1, kBlock}), DataType::kFP8, DataType::kFLOAT);
  IDequantizeLayer* rows = b.network->addDequantize(*q->getOutput(0), *q->getOutput(1), type);
  rows->setBlockShape(dims({1, kBlock}));
  ITensor* scale = b.constant<float>({1, kDepth / kBlock}, steps);
  ITensor* w =
      b.network->addQuantize(*b.constant<float>({kColumns, kDepth}, weights), *scale, DataType::kFP8)->getOutput(0);
  w = b.network->addDequantize(*w, *scale, type)->getOutput(0);
  b.output(b.network->addMatrixMultiply(*rows->getOutput(0), MatrixOperation::kNONE, *w, MatrixOperation::kTRANSPOSE),
           "y");
}

TEST(DevicelessFp8, BlocksWithScalesOnBothSides) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  for (const DataType type : {DataType::kFLOAT, DataType::kBF16})
    for (const char* device : {"h200", "l4", "a100"}) {
      Bench b(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
      blocks(b, type);
      const std::vector<std::byte> bytes = build(b, device);
      const auto products = steps_of(bytes, wootz::Family::kBlockGemm);
      EXPECT_EQ(products.size(), device == std::string_view("h200") ? 1u : 0u) << device;
      if (products.empty()) {
        EXPECT_NE(
            b.logger.infos().find("blocks have scales are computed in wider floats: it needs compute capability 9.0"),
            std::string::npos)
            << device << b.logger.infos();
      }
      for (const wootz::Step& step : products)
        EXPECT_EQ(step.problem.outputs[0].dtype, type == DataType::kFLOAT ? wootz::DType::kF32 : wootz::DType::kBF16);
    }
}

// Tensor cores sum floats of 8 bits in less than FP32.
TEST(DevicelessFp8, BlocksWithoutTf32AreOfWiderFloats) {
  if (const auto found = wootz::cuda::compiler_version(); !found.ok()) GTEST_SKIP() << found.status().to_string();
  Bench b(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  blocks(b, DataType::kFLOAT);
  b.config->clearFlag(BuilderFlag::kTF32);
  EXPECT_TRUE(steps_of(build(b, "h200"), wootz::Family::kBlockGemm).empty());
  EXPECT_NE(b.logger.infos().find("computed in wider floats: TF32 is not allowed"), std::string::npos)
      << b.logger.infos();
}

TEST(DevicelessFp8, TheFlagIsOfNoUseOnTheProcessor) {
  const Numbers numbers;
  Bench b;
  block(b, numbers);
  b.config->setFlag(BuilderFlag::kFP8);
  Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_NE(b.logger.warnings().find("BuilderFlag::kFP8"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
