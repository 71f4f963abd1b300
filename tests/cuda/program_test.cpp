// A program as one is written for TensorRT: nothing in it is of this library. Where there is a GPU it runs there,
// without any setting.
#include <cmath>
#include <cstdlib>

#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

// Nothing chooses a backend while this lives.
class NoWish {
 public:
  NoWish() {
    if (const char* wish = std::getenv("WOOTZ_BACKEND")) wish_ = wish;
    ::unsetenv("WOOTZ_BACKEND");
  }
  ~NoWish() {
    if (!wish_.empty()) ::setenv("WOOTZ_BACKEND", wish_.c_str(), 1);
  }
  NoWish(const NoWish&) = delete;
  NoWish& operator=(const NoWish&) = delete;

 private:
  std::string wish_;
};

class Log final : public ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kINFO) lines += std::string(text) + "\n";
  }
  std::string lines;
};

// What such programs call DeviceBuffer.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : bytes_(count * sizeof(float)) {
    EXPECT_EQ(driver().cuMemAlloc_v2(&memory_, bytes_), CUDA_SUCCESS);
  }
  ~DeviceBuffer() { driver().cuMemFree_v2(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return reinterpret_cast<void*>(memory_); }
  void fill(const Floats& values) const {
    ASSERT_EQ(values.size() * sizeof(float), bytes_);
    EXPECT_EQ(driver().cuMemcpy(memory_, reinterpret_cast<CUdeviceptr>(values.data()), bytes_), CUDA_SUCCESS);
  }
  Floats fetch() const {
    Floats values(bytes_ / sizeof(float));
    EXPECT_EQ(driver().cuMemcpy(reinterpret_cast<CUdeviceptr>(values.data()), memory_, bytes_), CUDA_SUCCESS);
    return values;
  }

 private:
  CUdeviceptr memory_ = 0;
  size_t bytes_;
};

constexpr int64_t kIn = 32, kOut = 10, kBatch = 4;

Floats expected(const Floats& x, const Floats& w) {
  Floats y;
  for (int64_t r = 0; r < kBatch; ++r) {
    std::vector<double> row(kOut, 0);
    double sum = 0;
    for (int64_t c = 0; c < kOut; ++c) {
      for (int64_t k = 0; k < kIn; ++k)
        row[static_cast<size_t>(c)] += static_cast<double>(x[static_cast<size_t>(r * kIn + k)]) *
                                       static_cast<double>(w[static_cast<size_t>(k * kOut + c)]);
      row[static_cast<size_t>(c)] = std::exp(row[static_cast<size_t>(c)]);
      sum += row[static_cast<size_t>(c)];
    }
    for (double v : row) y.push_back(static_cast<float>(v / sum));
  }
  return y;
}

TEST(CudaProgram, OneWrittenForTensorRtRunsOnTheGpuAsItIs) {
  real_gpu();
  const NoWish no_wish;
  std::mt19937 rng(static_cast<unsigned>(wootz::test_seed()));
  const auto numbers = [&](int64_t count) {
    Floats values(static_cast<size_t>(count));
    for (float& v : values) v = std::uniform_real_distribution<float>(-0.5F, 0.5F)(rng);
    return values;
  };
  const Floats w = numbers(kIn * kOut), x = numbers(kBatch * kIn), want = expected(x, w);

  Log log;
  std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  EXPECT_TRUE(builder->platformHasFastFp16());
  ITensor* input = network->addInput("x", DataType::kFLOAT, Dims2(-1, kIn));
  ITensor* weights_of = network->addConstant(Dims2(kIn, kOut), weights(w))->getOutput(0);
  ITensor* logits =
      network->addMatrixMultiply(*input, MatrixOperation::kNONE, *weights_of, MatrixOperation::kNONE)->getOutput(0);
  ISoftMaxLayer* softmax = network->addSoftMax(*logits);
  softmax->setAxes(1U << 1);
  softmax->getOutput(0)->setName("y");
  network->markOutput(*softmax->getOutput(0));
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims2(1, kIn));
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims2(kBatch, kIn));
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims2(16, kIn));
  config->addOptimizationProfile(profile);
  config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, 64U << 20);
  config->setBuilderOptimizationLevel(1);
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr) << log.lines;
  EXPECT_NE(log.lines.find("Backend: cuda"), std::string::npos) << log.lines;

  std::unique_ptr<IRuntime> runtime(createInferRuntime(log));
  std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << log.lines;
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const DeviceBuffer in(x.size()), out(want.size());
  in.fill(x);
  ASSERT_TRUE(context->setInputShape("x", Dims2(kBatch, kIn)));
  ASSERT_TRUE(context->setTensorAddress("x", in.data())) << log.lines;
  ASSERT_TRUE(context->setTensorAddress("y", out.data())) << log.lines;
  // Products may round to TF32, 2^-11 of each of the 32 summands, of at most 0.25.
  const float tolerance = 2 * 0.25F * 32 * 0x1p-11F;
  {
    const Stream stream;
    ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle))) << log.lines;
    stream.wait();
    expect_near(out.fetch(), want, tolerance);
  }
  out.fill(Floats(want.size(), -1));
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << log.lines;
  expect_near(out.fetch(), want, tolerance);
}

// Its types are those that it states: a flag that says otherwise contradicts it.
TEST(CudaProgram, AStronglyTypedNetworkTakesNoPrecisionFlag) {
  real_gpu();
  for (const bool half : {false, true}) {
    Bench bench(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
    const Floats filter(16 * 16, 0.3F);
    ITensor* x = bench.input("x", {8, 16});
    ITensor* product = bench.network
                           ->addMatrixMultiply(*x, MatrixOperation::kNONE, *bench.constant<float>({16, 16}, filter),
                                               MatrixOperation::kNONE)
                           ->getOutput(0);
    bench.output(bench.network->addActivation(*product, ActivationType::kTANH), "y");
    if (half) bench.config->setFlag(BuilderFlag::kFP16);
    ASSERT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
    ASSERT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    const Owned<IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *bench.config));
    EXPECT_EQ(plan == nullptr, half) << bench.logger.errors();
    EXPECT_EQ(bench.logger.errors().find("kFP16 is set for a strongly typed network") != std::string::npos, half)
        << bench.logger.errors();
  }
}

TEST(CudaProgram, ASettingIsOtherwiseObeyed) {
  real_gpu();
  const NoWish no_wish;
  const char* reason = "";
  EXPECT_STREQ(wootz_default_backend(&reason), "cuda");
  EXPECT_NE(std::string(reason), "");
  Bench bench;
  EXPECT_STREQ(wootz_config_get_option(bench.config.get(), "backend"), "cuda");
  ::setenv("WOOTZ_BACKEND", "cpu", 1);
  EXPECT_STREQ(wootz_default_backend(&reason), "cpu");
  EXPECT_NE(std::string(reason).find("WOOTZ_BACKEND"), std::string::npos) << reason;
  EXPECT_STREQ(wootz_config_get_option(bench.config.get(), "backend"), "cpu");
  ASSERT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
  EXPECT_STREQ(wootz_config_get_option(bench.config.get(), "backend"), "cuda") << "the config comes first";
  ::unsetenv("WOOTZ_BACKEND");
}

}  // namespace
}  // namespace wootz_test
