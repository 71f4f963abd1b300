// A convolution adds what the step just before it has made: on the device the two may overlap, and a kernel that loads
// the operand without waiting for it finds other numbers there. The first block of a stage of a RegNet, whose last two
// steps are such ones.
#include "base/testing.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

struct Sizes {
  int from, to, group, pixels;
};
// As found, and one that the emulator is fast enough for.
constexpr Sizes kFound{160, 400, 16, 14}, kSmall{16, 40, 8, 6};

struct Mode {
  const char* name;
  BuilderFlag flag;
  float allowed;  // of the largest value
};
constexpr Mode kModes[] = {{"TF32", BuilderFlag::kTF32, 5e-3F}, {"FP16", BuilderFlag::kFP16, 2e-2F}};

class CudaResidual : public ::testing::Test {
 protected:
  ITensor* conv(Bench& bench, ITensor* x, int from, int to, int size, int stride, int groups) {
    INetworkDefinition& n = *bench.network;
    const int depth = from / groups * size * size;
    const float scale = std::sqrt(2.F / static_cast<float>(depth));
    values_.push_back(numbers(static_cast<size_t>(to * depth), scale));
    values_.push_back(numbers(static_cast<size_t>(to), 0.1F));
    auto* layer =
        n.addConvolutionNd(*x, to, dims({size, size}), weights(values_[values_.size() - 2]), weights(values_.back()));
    layer->setNbGroups(groups);
    layer->setStrideNd(dims({stride, stride}));
    layer->setPaddingNd(dims({size / 2, size / 2}));
    return layer->getOutput(0);
  }
  std::vector<float> numbers(size_t count, float scale) {
    std::vector<float> made(count);
    for (float& v : made) v = std::normal_distribution<float>(0, scale)(rng_);
    return made;
  }
  // The same numbers for the same seed.
  Owned<ICudaEngine> engine(Bench& bench, const Sizes& s, const char* backend, BuilderFlag flag) {
    rng_.seed(seed_);
    INetworkDefinition& n = *bench.network;
    const auto relu = [&](ITensor* t) { return n.addActivation(*t, ActivationType::kRELU)->getOutput(0); };
    ITensor* x = relu(conv(bench, bench.input("x", {1, s.from, s.pixels, s.pixels}), s.from, s.from, 1, 1, 1));
    ITensor* shortcut = conv(bench, x, s.from, s.to, 1, 2, 1);
    ITensor* y = relu(conv(bench, x, s.from, s.to, 1, 1, 1));
    y = relu(conv(bench, y, s.to, s.to, 3, 2, s.to / s.group));
    y = conv(bench, y, s.to, s.to, 1, 1, 1);
    bench.output(n.addElementWise(*shortcut, *y, ElementWiseOperation::kSUM), "y");
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    bench.config->setFlag(flag);
    Owned<ICudaEngine> made = bench.engine();
    EXPECT_NE(made, nullptr) << bench.logger.errors();
    return made;
  }

  const uint64_t seed_ = wootz::test_seed();
  std::mt19937_64 rng_{seed_};
  std::vector<std::vector<float>> values_;  // of weights, as long as networks refer to them
};

TEST_F(CudaResidual, IsThereBeforeItIsAdded) {
  const Sizes& s = real_gpu() ? kFound : kSmall;
  values_.reserve(64);
  const std::vector<float> x = numbers(static_cast<size_t>(s.from * s.pixels * s.pixels), 1);
  Bench plain;
  const Owned<ICudaEngine> reference = engine(plain, s, "cpu", BuilderFlag::kTF32);
  ASSERT_NE(reference, nullptr);
  const std::vector<float> want =
      run(*Owned<IExecutionContext>(reference->createExecutionContext()), {{"x", x.data()}}, "y");
  float largest = 0;
  for (const float v : want) largest = std::max(largest, std::abs(v));
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    Bench bench;
    const Owned<ICudaEngine> made = engine(bench, s, "cuda", mode.flag);
    ASSERT_NE(made, nullptr);
    const Owned<IExecutionContext> context(made->createExecutionContext());
    void* const in = wootz_device_allocate(made.get(), x.size() * sizeof(float));
    void* const out = wootz_device_allocate(made.get(), want.size() * sizeof(float));
    ASSERT_EQ(wootz_device_copy(made.get(), in, x.data(), x.size() * sizeof(float)), 0);
    ASSERT_TRUE(context->setTensorAddress("x", in) && context->setTensorAddress("y", out));
    const Stream stream;
    for (int round = 0; round < 8; ++round) {
      ASSERT_TRUE(context->enqueueV3(reinterpret_cast<cudaStream_t>(stream.handle)));
      stream.wait();
      std::vector<float> got(want.size());
      ASSERT_EQ(wootz_device_copy(made.get(), got.data(), out, got.size() * sizeof(float)), 0);
      expect_near(got, want, mode.allowed * largest);
      if (HasFailure()) break;
    }
    wootz_device_free(made.get(), in);
    wootz_device_free(made.get(), out);
  }
}

}  // namespace
}  // namespace wootz_test
