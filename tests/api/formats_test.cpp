// ITensor::setAllowedFormats and BuilderFlag::kDIRECT_IO: inputs and outputs in other formats than the linear one.
#include <random>

#include "api/dense.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

constexpr TensorFormats bit(TensorFormat format) { return 1U << static_cast<uint32_t>(format); }

// y = relu(conv(x)) from `channels` to 32, 5 x 7 pixels, batch open.
struct Convolved : Bench {
  explicit Convolved(int channels) : channels(channels) {
    wootz_config_set_option(config.get(), "timing", "0");
    std::mt19937 random(static_cast<unsigned>(wootz::test_seed()));
    filter.resize(static_cast<size_t>(32 * channels * 9));
    for (float& v : filter) v = std::uniform_real_distribution<float>(-0.2F, 0.2F)(random);
    x = input("x", {-1, channels, 5, 7});
    auto* conv = network->addConvolutionNd(*x, 32, dims({3, 3}), weights(filter), kNone);
    conv->setPaddingNd(dims({1, 1}));
    ILayer* relu = network->addActivation(*conv->getOutput(0), ActivationType::kRELU);
    y = relu->getOutput(0);
    output(relu, "y");
    profile("x", {1, channels, 5, 7}, {2, channels, 5, 7}, {4, channels, 5, 7});
    data.resize(static_cast<size_t>(3 * channels * 35));
    for (float& v : data) v = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  // Of batch 3.
  Floats results(ICudaEngine& engine, const Floats& from, size_t count) {
    const Owned<IExecutionContext> context(engine.createExecutionContext());
    EXPECT_TRUE(context->setInputShape("x", dims({3, channels, 5, 7})));
    Floats result(count + 1, -7);
    EXPECT_TRUE(context->setInputTensorAddress("x", from.data()));
    EXPECT_TRUE(context->setTensorAddress("y", result.data()));
    EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.errors();
    EXPECT_EQ(result.back(), -7);
    result.pop_back();
    return result;
  }
  int channels;
  ITensor *x, *y;
  Floats filter, data;
};

// [3, c, 35] as [3, c / group, 35, group], channels padded with zeros; a group of 0: [3, 35, c].
Floats moved(const Floats& rows, size_t c, size_t group) {
  const size_t blocks = group == 0 ? 1 : (c + group - 1) / group, width = group == 0 ? c : group;
  Floats out(3 * blocks * 35 * width, 0);
  for (size_t n = 0; n < 3; ++n)
    for (size_t k = 0; k < c; ++k)
      for (size_t p = 0; p < 35; ++p)
        out[((n * blocks + k / width) * 35 + p) * width + k % width] = rows[(n * c + k) * 35 + p];
  return out;
}

Floats expected(int channels) {
  Convolved plain(channels);
  const Owned<ICudaEngine> engine = plain.engine();
  EXPECT_NE(engine, nullptr) << plain.logger.errors();
  return engine == nullptr ? Floats() : plain.results(*engine, plain.data, 3 * 32 * 35);
}

struct Case {
  TensorFormat format;
  size_t group;  // 0: channels innermost
  int together;
  std::vector<int64_t> strides;  // of the output [3, 32, 5, 7]
};

TEST(Formats, InputsAndOutputsHaveTheFormatThatIsAllowed) {
  const Case cases[] = {{TensorFormat::kHWC, 0, 1, {1120, 1, 224, 32}},
                        {TensorFormat::kHWC8, 0, 8, {140, 1, 28, 4}},
                        {TensorFormat::kHWC16, 0, 16, {70, 1, 14, 2}},
                        {TensorFormat::kCHW16, 16, 16, {70, 35, 7, 1}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.format));
    const Floats want = expected(16);
    Convolved b(16);
    b.x->setAllowedFormats(bit(c.format));
    b.y->setAllowedFormats(bit(c.format));
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    for (const char* name : {"x", "y"}) {
      EXPECT_EQ(engine->getTensorFormat(name), c.format);
      EXPECT_EQ(engine->getTensorComponentsPerElement(name), c.together);
      EXPECT_EQ(engine->getTensorVectorizedDim(name), c.together > 1 ? 1 : -1);
      EXPECT_EQ(engine->getTensorBytesPerComponent(name), c.together > 1 ? 4 : -1);
      EXPECT_EQ(std::string(engine->getTensorFormatDesc(name)).find("Row-major"), std::string::npos);
      EXPECT_EQ(list(engine->getTensorShape(name))[0], -1);
    }
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_TRUE(context->setInputShape("x", dims({3, 16, 5, 7})));
    EXPECT_EQ(list(context->getTensorStrides("y")), c.strides);
    const Floats y = b.results(*engine, moved(b.data, 16, c.group), 3 * 32 * 35);
    expect_near(y, moved(want, 32, c.group), 1e-4F);
    EXPECT_EQ(b.logger.warnings(), "");
  }
}

// Channels that do not fill the last group are filled up with zeros.
TEST(Formats, GroupsArePadded) {
  const Floats want = expected(11);
  Convolved b(11);
  b.x->setAllowedFormats(bit(TensorFormat::kCHW16));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  expect_near(b.results(*engine, moved(b.data, 11, 16), 3 * 32 * 35), want, 1e-4F);
  EXPECT_EQ(engine->getTensorFormat("y"), TensorFormat::kLINEAR);
}

TEST(Formats, TheLinearOneIsTakenWhereItIsAllowed) {
  Convolved b(16);
  b.x->setAllowedFormats(bit(TensorFormat::kLINEAR) | bit(TensorFormat::kCHW4));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kLINEAR);
  EXPECT_EQ(engine->getTensorBytesPerComponent("x"), -1);
}

TEST(Formats, WhatCannotBeHadIsRefusedByName) {
  Convolved b(11);
  b.x->setAllowedFormats(bit(TensorFormat::kCDHW32) | bit(TensorFormat::kDLA_HWC4) | bit(TensorFormat::kDHWC));
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  for (const char* part : {"'x'", "kCDHW32", "kDLA_HWC4", "kDHWC", "kLINEAR"})
    EXPECT_NE(why.find(part), std::string::npos) << part << ": " << why;
  b.x->setAllowedFormats(0);
  EXPECT_NE(b.logger.take_errors().find("ITensor::setAllowedFormats"), std::string::npos);
  b.x->setAllowedFormats(1U << 20);
  EXPECT_NE(b.logger.take_errors().find("ITensor::setAllowedFormats"), std::string::npos);
  EXPECT_EQ(b.x->getAllowedFormats(),
            bit(TensorFormat::kCDHW32) | bit(TensorFormat::kDLA_HWC4) | bit(TensorFormat::kDHWC));
}

// Each format at each rank: it is had, or refused with its reason.
TEST(Formats, RanksThatTheyAreFor) {
  for (int32_t number = 0; number < EnumMax<TensorFormat>(); ++number)
    for (int32_t rank = 1; rank <= 6; ++rank) {
      const auto format = static_cast<TensorFormat>(number);
      SCOPED_TRACE("format " + std::to_string(number) + ", rank " + std::to_string(rank));
      const bool volumes =
          format == TensorFormat::kDHWC8 || format == TensorFormat::kCDHW32 || format == TensorFormat::kDHWC;
      const bool dla = format == TensorFormat::kDLA_LINEAR || format == TensorFormat::kDLA_HWC4;
      const int32_t had = volumes ? 5 : 4;
      Bench b;
      wootz_config_set_option(b.config.get(), "timing", "0");
      Dims extents{rank, {}};
      std::fill_n(extents.d, rank, 2);
      ITensor* x = b.network->addInput("x", DataType::kHALF, extents);
      b.output(b.network->addUnary(*x, UnaryOperation::kNEG), "y");
      x->setAllowedFormats(bit(format));
      const Owned<ICudaEngine> engine = b.engine();
      const std::string why = b.logger.take_errors();
      if (format == TensorFormat::kLINEAR || (!dla && rank == had)) {
        ASSERT_NE(engine, nullptr) << why;
        EXPECT_EQ(engine->getTensorFormat("x"), format);
        continue;
      }
      EXPECT_EQ(engine, nullptr);
      EXPECT_NE(why.find("'x'"), std::string::npos) << why;
      const std::string reason = dla              ? "DLA"
                                 : rank < had - 1 ? std::to_string(had - 1) + " dimensions or more"
                                                  : "of " + std::to_string(had) + " dimensions here";
      EXPECT_NE(why.find(reason), std::string::npos) << why;
      // With the linear one beside it, that is had.
      x->setAllowedFormats(bit(format) | bit(TensorFormat::kLINEAR));
      const Owned<ICudaEngine> linear = b.engine();
      ASSERT_NE(linear, nullptr) << b.logger.errors();
      EXPECT_EQ(linear->getTensorFormat("x"), TensorFormat::kLINEAR);
    }
}

// An input that is read under another shape, too.
TEST(Formats, ReshapedInputsAreBroughtIntoRows) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* x = b.input("x", {3, 4, 5, 7});
  IShuffleLayer* shuffle = b.network->addShuffle(*x);
  shuffle->setReshapeDimensions(dims({3, 140}));
  b.output(b.network->addUnary(*shuffle->getOutput(0), UnaryOperation::kNEG), "y");
  x->setAllowedFormats(bit(TensorFormat::kHWC));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Floats rows(3 * 4 * 35), want;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i), want.push_back(-rows[i]);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(run(*context, {{"x", moved(rows, 4, 0).data()}}, "y"), want);
}

// Without a reformat, or not at all.
TEST(Formats, DirectInputsNeedLayersThatTakeThem) {
  Convolved b(16);
  b.config->setFlag(BuilderFlag::kDIRECT_IO);
  b.x->setAllowedFormats(bit(TensorFormat::kLINEAR) | bit(TensorFormat::kHWC));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  // Running sums are computed in rows alone.
  const std::vector<int32_t> axis{3};
  Bench rows;
  wootz_config_set_option(rows.config.get(), "timing", "0");
  ITensor* x = rows.input("x", {2, 16, 5, 7});
  ICumulativeLayer* sums =
      rows.network->addCumulative(*x, *rows.constant<int32_t>({}, axis), CumulativeOperation::kSUM, false, false);
  rows.output(sums, "y");
  x->setAllowedFormats(bit(TensorFormat::kCHW16));
  EXPECT_NE(rows.engine(), nullptr) << rows.logger.errors();
  rows.config->setFlag(BuilderFlag::kDIRECT_IO);
  EXPECT_EQ(rows.engine(), nullptr);
  EXPECT_NE(rows.logger.take_errors().find("'x' is to be read and written without a reformat"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
