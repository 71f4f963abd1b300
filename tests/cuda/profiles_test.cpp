// Several profiles: each has tactics that serve its extents, whichever is the larger, and weights are there once.
#include <algorithm>

#include "base/json.h"
#include "cuda/on_device.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;

constexpr int64_t kDepth = 48, kColumns = 40;

// y = relu(x w), and z = y w2 taken as images of one pixel: a product and a convolution of as many rows as the batch,
// of which there are kernels for a few.
class TwoProducts {
 public:
  TwoProducts(const char* backend, const std::vector<std::array<int64_t, 3>>& profiles) {
    std::mt19937 rng(11);
    for (Floats* values : {&w_, &filter_})
      for (float& v : *values) v = std::uniform_real_distribution<float>(-0.5F, 0.5F)(rng);
    INetworkDefinition& n = *bench.network;
    ITensor* x = bench.input("x", {-1, kDepth});
    ITensor* product = n.addMatrixMultiply(*x, MatrixOperation::kNONE, *bench.constant<float>({kDepth, kColumns}, w_),
                                           MatrixOperation::kNONE)
                           ->getOutput(0);
    bench.output(n.addActivation(*product, ActivationType::kRELU), "y");
    IShuffleLayer* pixels = n.addShuffle(*n.getOutput(0));
    pixels->setReshapeDimensions(dims({-1, kColumns, 1, 1}));
    bench.output(
        n.addConvolutionNd(*pixels->getOutput(0), static_cast<int64_t>(kDepth), dims({1, 1}), weights(filter_), kNone),
        "z");
    for (const auto& [min, opt, max] : profiles) bench.profile("x", {min, kDepth}, {opt, kDepth}, {max, kDepth});
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", backend), 0);
    EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
    bench.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    engine = bench.engine();
    EXPECT_NE(engine, nullptr) << bench.logger.errors();
  }

  // Runs so many rows in a profile, and compares.
  void check(IExecutionContext& context, int32_t profile, int64_t rows) {
    SCOPED_TRACE("profile " + std::to_string(profile) + ", rows " + std::to_string(rows));
    ASSERT_TRUE(context.setOptimizationProfileAsync(profile, nullptr)) << bench.logger.errors();
    ASSERT_TRUE(context.setInputShape("x", dims({rows, kDepth}))) << bench.logger.errors();
    Floats x(static_cast<size_t>(rows * kDepth));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) + static_cast<float>(rows));
    const Floats y = times(x, w_, rows, kDepth, kColumns, true), z = images(y, rows);
    Floats got_y(y.size()), got_z(z.size());
    const bool device = wootz_engine_on_device(engine.get()) != 0;
    const auto place = [&](Floats* values) -> void* {
      if (!device) return values->data();
      void* memory = wootz_device_allocate(engine.get(), values->size() * sizeof(float));
      EXPECT_EQ(wootz_device_copy(engine.get(), memory, values->data(), values->size() * sizeof(float)), 0);
      return memory;
    };
    void *const in = place(&x), *const out_y = place(&got_y), *const out_z = place(&got_z);
    EXPECT_TRUE(context.setTensorAddress("x", in) && context.setTensorAddress("y", out_y) &&
                context.setTensorAddress("z", out_z));
    EXPECT_TRUE(context.enqueueV3(nullptr)) << bench.logger.errors();
    if (device) {
      EXPECT_EQ(wootz_device_copy(engine.get(), got_y.data(), out_y, got_y.size() * sizeof(float)), 0);
      EXPECT_EQ(wootz_device_copy(engine.get(), got_z.data(), out_z, got_z.size() * sizeof(float)), 0);
      for (void* memory : {in, out_y, out_z}) wootz_device_free(engine.get(), memory);
    }
    expect_near(got_y, y, 4e-3F);  // TF32 on a GPU
    expect_near(got_z, z, 8e-3F);
  }

  Bench bench;
  Owned<ICudaEngine> engine;

 private:
  static Floats times(const Floats& a, const Floats& b, int64_t rows, int64_t depth, int64_t columns, bool relu) {
    Floats c;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t m = 0; m < columns; ++m) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += a[static_cast<size_t>(r * depth + k)] * b[static_cast<size_t>(k * columns + m)];
        c.push_back(relu ? std::max(sum, 0.0F) : sum);
      }
    return c;
  }
  Floats images(const Floats& y, int64_t rows) const {
    Floats turned(filter_.size());  // [to, from] as [from, to]
    for (int64_t m = 0; m < kDepth; ++m)
      for (int64_t k = 0; k < kColumns; ++k)
        turned[static_cast<size_t>(k * kDepth + m)] = filter_[static_cast<size_t>(m * kColumns + k)];
    return times(y, turned, rows, kColumns, kDepth, false);
  }

  Floats w_ = Floats(kDepth * kColumns), filter_ = Floats(kDepth * kColumns);
};

class CudaProfiles : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { real_gpu(); }
};

TEST_P(CudaProfiles, ASmallFirstProfileDoesNotLimitTheSecond) {
  TwoProducts net(GetParam(), {{1, 4, 8}, {1, 32, 64}});
  ASSERT_NE(net.engine, nullptr);
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  for (const int64_t rows : {1, 8}) net.check(*context, 0, rows);
  for (const int64_t rows : {64, 9, 1}) net.check(*context, 1, rows);
  net.check(*context, 0, 5);  // and back
  EXPECT_FALSE(context->setInputShape("x", dims({9, kDepth})));
  Owned<IExecutionContext> other(net.engine->createExecutionContext());
  net.check(*other, 1, 33);
}

TEST_P(CudaProfiles, NorDoesTheOrderMatter) {
  TwoProducts net(GetParam(), {{16, 32, 64}, {1, 1, 8}, {2, 2, 300}});
  ASSERT_NE(net.engine, nullptr);
  Owned<IExecutionContext> context(net.engine->createExecutionContext());
  net.check(*context, 0, 64);
  net.check(*context, 1, 1);
  net.check(*context, 2, 300);
  net.check(*context, 2, 2);
}

// Tactics of a list of layers.
std::vector<std::string> tactics_of(const wootz::OrderedJson& layers) {
  std::vector<std::string> names;
  for (const wootz::OrderedJson& layer : layers) names.push_back(layer.at("TacticName"));
  return names;
}

TEST(CudaProfileTactics, AFewRowsAndManyHaveDifferentTactics) {
  real_gpu();
  TwoProducts net("cuda", {{1, 1, 4}, {33, 48, 64}});
  ASSERT_NE(net.engine, nullptr);
  const Owned<IEngineInspector> inspector(net.engine->createEngineInspector());
  const auto shown = wootz::OrderedJson::parse(inspector->getEngineInformation(LayerInformationFormat::kJSON));
  const std::vector<std::string> few = tactics_of(shown.at("Layers"));
  const std::vector<std::string> many = tactics_of(shown.at("Profiles").at(0).at("Layers"));
  EXPECT_NE(few, many);
  const bool vector = std::any_of(few.begin(), few.end(), [](const std::string& name) {
    return name.find("gemm_generated_vector") != std::string::npos;
  });
  EXPECT_TRUE(vector) << "no kernel for few rows, which the second profile has no use for: " << shown;
}

INSTANTIATE_TEST_SUITE_P(Backends, CudaProfiles, ::testing::Values("cuda", "cpu"),
                         [](const ::testing::TestParamInfo<const char*>& p) { return std::string(p.param); });

}  // namespace
}  // namespace wootz_test
