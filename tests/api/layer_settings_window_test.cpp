// Settings of convolution, deconvolution, pooling and padding layers.
#include "api/outcome.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

Floats ramp(size_t n, float step = 0.25F) {
  Floats v(n);
  for (size_t i = 0; i < n; ++i) v[i] = step * static_cast<float>(i % 9) - 1;
  return v;
}

// What both kinds of convolution have in common. `make` gives a layer of 2 maps and 3x3 windows over [1, 2, 6, 6].
template <class L>
struct Convolutions {
  std::function<L*(Bench&)> make;

  // `set` makes the layer another one, and its result the values that `values` says of the output.
  void changes(const std::function<void(L&)>& set, const Ints& shape) const {
    const Outcome before = outcome([&](Bench& b) { return make(b)->getOutput(0); });
    const Outcome after = outcome([&](Bench& b) {
      L* l = make(b);
      set(*l);
      return l->getOutput(0);
    });
    EXPECT_EQ(after.shape, shape);
    EXPECT_FALSE(after == before) << "the setting changes nothing";
  }
  // Two ways to the same result.
  void same(const std::function<void(L&)>& one, const std::function<void(L&)>& other) const {
    expect_setting<L>(make, one, [&](Bench& b) {
      L* l = make(b);
      other(*l);
      return l;
    });
  }
};

static const Floats kFilter = ramp(2 * 2 * 9), kOther = ramp(2 * 2 * 9, 0.5F), kBias{1, -1}, kSmall = ramp(2 * 2),
                    kGrouped = ramp(2 * 9), kMore = ramp(4 * 2 * 9);

TEST(WindowSettings, Convolution) {
  using L = IConvolutionLayer;
  const Convolutions<L> c{[](Bench& b) {
    return b.network->addConvolutionNd(*b.input("x", {1, 2, 6, 6}), 2, dims({3, 3}), weights(kFilter), kNone);
  }};
  c.changes(
      [](L& l) {
        EXPECT_EQ(list(l.getStrideNd()), (Ints{1, 1}));
        l.setStrideNd(dims({2, 1}));
        EXPECT_EQ(list(l.getStrideNd()), (Ints{2, 1}));
      },
      {1, 2, 2, 4});
  c.changes(
      [](L& l) {
        l.setDilationNd(dims({2, 1}));
        EXPECT_EQ(list(l.getDilationNd()), (Ints{2, 1}));
      },
      {1, 2, 2, 4});
  c.changes(
      [](L& l) {
        EXPECT_EQ(l.getPaddingMode(), PaddingMode::kEXPLICIT_ROUND_DOWN);
        l.setPaddingMode(PaddingMode::kSAME_LOWER);
        EXPECT_EQ(l.getPaddingMode(), PaddingMode::kSAME_LOWER);
      },
      {1, 2, 6, 6});
  c.changes([](L& l) { l.setPrePadding(dims({2, 0})); }, {1, 2, 6, 4});
  c.changes(
      [](L& l) {
        l.setPostPadding(dims({0, 1}));
        EXPECT_EQ(list(l.getPostPadding()), (Ints{0, 1}));
        EXPECT_EQ(list(l.getPrePadding()), (Ints{0, 0}));
      },
      {1, 2, 4, 5});
  c.same(
      [](L& l) {
        l.setPaddingNd(dims({1, 2}));
        EXPECT_EQ(list(l.getPaddingNd()), (Ints{1, 2}));
      },
      [](L& l) {
        l.setPrePadding(dims({1, 2}));
        l.setPostPadding(dims({1, 2}));
      });
  c.changes(
      [](L& l) {
        l.setKernelWeights(weights(kOther));
        EXPECT_EQ(l.getKernelWeights().values, kOther.data());
      },
      {1, 2, 4, 4});
  c.changes(
      [](L& l) {
        l.setBiasWeights(weights(kBias));
        EXPECT_EQ(l.getBiasWeights().values, kBias.data());
      },
      {1, 2, 4, 4});
  c.changes(
      [](L& l) {
        l.setKernelSizeNd(dims({1, 1}));
        l.setKernelWeights(weights(kSmall));
        EXPECT_EQ(list(l.getKernelSizeNd()), (Ints{1, 1}));
      },
      {1, 2, 6, 6});
  c.changes(
      [](L& l) {
        l.setNbGroups(2);
        l.setKernelWeights(weights(kGrouped));
        EXPECT_EQ(l.getNbGroups(), 2);
      },
      {1, 2, 4, 4});
  c.changes(
      [](L& l) {
        l.setNbOutputMaps(4);
        l.setKernelWeights(weights(kMore));
        EXPECT_EQ(l.getNbOutputMaps(), 4);
      },
      {1, 4, 4, 4});
}

TEST(WindowSettings, Deconvolution) {
  using L = IDeconvolutionLayer;
  const Convolutions<L> c{[](Bench& b) {
    return b.network->addDeconvolutionNd(*b.input("x", {1, 2, 4, 4}), 2, dims({3, 3}), weights(kFilter), kNone);
  }};
  c.changes(
      [](L& l) {
        l.setStrideNd(dims({2, 1}));
        EXPECT_EQ(list(l.getStrideNd()), (Ints{2, 1}));
      },
      {1, 2, 9, 6});
  c.changes(
      [](L& l) {
        l.setDilationNd(dims({2, 1}));
        EXPECT_EQ(list(l.getDilationNd()), (Ints{2, 1}));
      },
      {1, 2, 8, 6});
  c.changes(
      [](L& l) {
        l.setPaddingMode(PaddingMode::kSAME_UPPER);
        EXPECT_EQ(l.getPaddingMode(), PaddingMode::kSAME_UPPER);
      },
      {1, 2, 4, 4});
  c.changes(
      [](L& l) {
        l.setPrePadding(dims({2, 0}));
        EXPECT_EQ(list(l.getPrePadding()), (Ints{2, 0}));
      },
      {1, 2, 4, 6});
  c.changes(
      [](L& l) {
        l.setPostPadding(dims({0, 1}));
        EXPECT_EQ(list(l.getPostPadding()), (Ints{0, 1}));
      },
      {1, 2, 6, 5});
  c.same(
      [](L& l) {
        l.setPaddingNd(dims({1, 2}));
        EXPECT_EQ(list(l.getPaddingNd()), (Ints{1, 2}));
      },
      [](L& l) {
        l.setPrePadding(dims({1, 2}));
        l.setPostPadding(dims({1, 2}));
      });
  c.changes(
      [](L& l) {
        l.setKernelWeights(weights(kOther));
        EXPECT_EQ(l.getKernelWeights().values, kOther.data());
      },
      {1, 2, 6, 6});
  c.changes(
      [](L& l) {
        l.setBiasWeights(weights(kBias));
        EXPECT_EQ(l.getBiasWeights().values, kBias.data());
      },
      {1, 2, 6, 6});
  c.changes(
      [](L& l) {
        l.setKernelSizeNd(dims({1, 1}));
        l.setKernelWeights(weights(kSmall));
        EXPECT_EQ(list(l.getKernelSizeNd()), (Ints{1, 1}));
      },
      {1, 2, 4, 4});
  c.changes(
      [](L& l) {
        l.setNbGroups(2);
        l.setKernelWeights(weights(kGrouped));
        EXPECT_EQ(l.getNbGroups(), 2);
      },
      {1, 2, 6, 6});
  c.changes(
      [](L& l) {
        EXPECT_EQ(l.getNbOutputMaps(), 2);
        l.setNbOutputMaps(4);
        l.setKernelWeights(weights(kMore));
        EXPECT_EQ(l.getNbOutputMaps(), 4);
      },
      {1, 4, 6, 6});
}

// A deconvolution is named as what it is where it refuses.
TEST(WindowSettings, RefusalsNameTheLayer) {
  Bench b;
  IDeconvolutionLayer* l =
      b.network->addDeconvolutionNd(*b.input("x", {1, 2, 4, 4}), 2, dims({3, 3}), weights(kFilter), kNone);
  l->setStrideNd(dims({0, 1}));
  EXPECT_NE(b.logger.take_errors().find("below 1"), std::string::npos);
  EXPECT_EQ(list(l->getStrideNd()), (Ints{1, 1}));
  l->setNbGroups(0);
  EXPECT_NE(b.logger.take_errors().find("not positive"), std::string::npos);
  EXPECT_EQ(l->getNbGroups(), 1);
}

TEST(WindowSettings, Pooling) {
  using L = IPoolingLayer;
  const auto pool = [](PoolingType type) {
    return [type](Bench& b) { return b.network->addPoolingNd(*b.input("x", {1, 2, 5, 6}), type, dims({2, 2})); };
  };
  const Convolutions<L> max{pool(PoolingType::kMAX)}, average{pool(PoolingType::kAVERAGE)};
  expect_setting<L>(
      pool(PoolingType::kMAX),
      [](L& l) {
        EXPECT_EQ(l.getPoolingType(), PoolingType::kMAX);
        l.setPoolingType(PoolingType::kAVERAGE);
        EXPECT_EQ(l.getPoolingType(), PoolingType::kAVERAGE);
      },
      pool(PoolingType::kAVERAGE));
  max.changes(
      [](L& l) {
        EXPECT_EQ(list(l.getWindowSizeNd()), (Ints{2, 2}));
        l.setWindowSizeNd(dims({3, 1}));
        EXPECT_EQ(list(l.getWindowSizeNd()), (Ints{3, 1}));
      },
      {1, 2, 3, 6});
  max.changes(
      [](L& l) {
        l.setStrideNd(dims({2, 2}));
        EXPECT_EQ(list(l.getStrideNd()), (Ints{2, 2}));
      },
      {1, 2, 2, 3});
  max.changes(
      [](L& l) {
        l.setStrideNd(dims({2, 2}));
        l.setPaddingMode(PaddingMode::kEXPLICIT_ROUND_UP);
        EXPECT_EQ(l.getPaddingMode(), PaddingMode::kEXPLICIT_ROUND_UP);
      },
      {1, 2, 3, 3});
  max.changes(
      [](L& l) {
        l.setPrePadding(dims({1, 0}));
        EXPECT_EQ(list(l.getPrePadding()), (Ints{1, 0}));
      },
      {1, 2, 5, 5});
  max.changes(
      [](L& l) {
        l.setPostPadding(dims({0, 1}));
        EXPECT_EQ(list(l.getPostPadding()), (Ints{0, 1}));
      },
      {1, 2, 4, 6});
  average.same(
      [](L& l) {
        l.setPaddingNd(dims({1, 1}));
        EXPECT_EQ(list(l.getPaddingNd()), (Ints{1, 1}));
      },
      [](L& l) {
        l.setPrePadding(dims({1, 1}));
        l.setPostPadding(dims({1, 1}));
      });
  // Padding counts as zeros, or it does not.
  const auto padded = [&](bool excluded) {
    return outcome([&](Bench& b) {
      L* l = pool(PoolingType::kAVERAGE)(b);
      l->setPaddingNd(dims({1, 1}));
      EXPECT_TRUE(l->getAverageCountExcludesPadding());
      l->setAverageCountExcludesPadding(excluded);
      EXPECT_EQ(l->getAverageCountExcludesPadding(), excluded);
      return l->getOutput(0);
    });
  };
  const Outcome with = padded(false), without = padded(true);
  EXPECT_NEAR(with.values[0] * 4, without.values[0], 1e-5F);  // the corner: one element of four
  // (1 - blend) max + blend average
  const auto blended = [&](float blend) {
    return outcome([&](Bench& b) {
      L* l = pool(PoolingType::kMAX_AVERAGE_BLEND)(b);
      l->setBlendFactor(blend);
      EXPECT_EQ(l->getBlendFactor(), blend);
      return l->getOutput(0);
    });
  };
  const Floats most = outcome([&](Bench& b) { return pool(PoolingType::kMAX)(b)->getOutput(0); }).values;
  const Floats mean = outcome([&](Bench& b) { return pool(PoolingType::kAVERAGE)(b)->getOutput(0); }).values;
  Floats want;
  for (size_t i = 0; i < most.size(); ++i) want.push_back(0.75F * most[i] + 0.25F * mean[i]);
  expect_near(blended(0.25F).values, want);
}

TEST(WindowSettings, Padding) {
  using L = IPaddingLayer;
  const auto pad = [](const Dims& pre, const Dims& post) {
    return [=](Bench& b) { return b.network->addPaddingNd(*b.input("x", {1, 1, 2, 3}), pre, post); };
  };
  expect_setting<L>(
      pad(dims({1, 0}), dims({0, 0})),
      [](L& l) {
        EXPECT_EQ(list(l.getPrePaddingNd()), (Ints{1, 0}));
        l.setPrePaddingNd(dims({0, 2}));
        EXPECT_EQ(list(l.getPrePaddingNd()), (Ints{0, 2}));
      },
      pad(dims({0, 2}), dims({0, 0})));
  expect_setting<L>(
      pad(dims({1, 0}), dims({0, 0})),
      [](L& l) {
        l.setPostPaddingNd(dims({-1, 1}));
        EXPECT_EQ(list(l.getPostPaddingNd()), (Ints{-1, 1}));
      },
      pad(dims({1, 0}), dims({-1, 1})));
}

}  // namespace
}  // namespace wootz_test
