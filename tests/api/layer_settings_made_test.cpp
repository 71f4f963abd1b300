// Settings of layers that suppress boxes, quantize, fill and assert.
#include "api/outcome.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

// Rows of batch, class and box of what a suppression keeps.
struct Boxes : Bench {
  Boxes() {
    wootz_config_set_option(config.get(), "timing", "0");
    // As corners the third lies on the first; as centres with sizes the second lies on the fourth, too.
    static const Floats corners{0, 0, 2, 2, 8, 8, 9, 9, 0, 0, 2.1F, 2, 9, 9, 10, 10}, scores{0.9F, 0.6F, 0.8F, 0.7F};
    static const Floats overlap{0.5F};
    static const std::vector<int32_t> most{4};
    layer = network->addNMS(*constant<float>({1, 4, 4}, corners), *input("scores", {1, 4, 1}),
                            *constant<int32_t>({}, most));
    layer->setInput(3, *constant<float>({}, overlap));
    values = scores;
  }
  Ints kept() {
    class Output final : public IOutputAllocator {
     public:
      void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
        data.resize(size / 4 + 1);
        return data.data();
      }
      void notifyShape(const char*, const Dims& dims) noexcept override { rows = dims.d[0]; }
      std::vector<int32_t> data;
      int64_t rows = -1;
    } to;
    output(layer->getOutput(0), "rows");
    const Owned<ICudaEngine> e = engine();
    EXPECT_NE(e, nullptr) << logger.errors();
    if (e == nullptr) return {-1};
    const Owned<IExecutionContext> context(e->createExecutionContext());
    EXPECT_TRUE(context->setTensorAddress("scores", values.data()) && context->setOutputAllocator("rows", &to));
    EXPECT_TRUE(context->enqueueV3(nullptr)) << logger.errors();
    Ints boxes;
    for (int64_t r = 0; r < to.rows; ++r) boxes.push_back(to.data[static_cast<size_t>(r) * 3 + 2]);
    return boxes;
  }
  INMSLayer* layer;
  Floats values;
};

TEST(DataSettings, SuppressionTakesTheBestBoxesAlone) {
  Boxes all;
  EXPECT_EQ(all.layer->getTopKBoxLimit(), 2000);
  EXPECT_EQ(all.kept(), (Ints{0, 3, 1}));
  Boxes best;
  best.layer->setTopKBoxLimit(3);
  EXPECT_EQ(best.layer->getTopKBoxLimit(), 3);
  EXPECT_EQ(best.kept(), (Ints{0, 3})) << "the third best lies on the best, and the fourth is not looked at";
  best.layer->setTopKBoxLimit(0);
  EXPECT_EQ(best.layer->getTopKBoxLimit(), 3);
  EXPECT_NE(best.logger.take_errors().find("INMSLayer::setTopKBoxLimit"), std::string::npos);
}

TEST(DataSettings, SuppressionReadsBoxesAsCentres) {
  Boxes centres;
  EXPECT_EQ(centres.layer->getBoundingBoxFormat(), BoundingBoxFormat::kCORNER_PAIRS);
  centres.layer->setBoundingBoxFormat(BoundingBoxFormat::kCENTER_SIZES);
  EXPECT_EQ(centres.layer->getBoundingBoxFormat(), BoundingBoxFormat::kCENTER_SIZES);
  EXPECT_EQ(centres.kept(), (Ints{0, 3}));
  Bench b;
  static const std::vector<int32_t> most{4};
  INMSLayer* l = b.network->addNMS(*b.input("boxes", {1, 4, 4}), *b.input("scores", {1, 4, 1}),
                                   *b.constant<int32_t>({}, most), DataType::kINT64);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT64);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT64);
  EXPECT_TRUE(l->setIndicesType(DataType::kINT32));
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT32);
  EXPECT_FALSE(l->setIndicesType(DataType::kBOOL));
  EXPECT_NE(b.logger.take_errors().find("INMSLayer::setIndicesType"), std::string::npos);
}

TEST(DataSettings, QuantizeAndDequantize) {
  static const Floats rows{0.5F, 0.125F}, blocks{0.5F, 0.25F, 0.125F, 1};
  Bench b;
  ITensor* x = b.input("x", {2, 4});
  IQuantizeLayer* q = b.network->addQuantize(*x, *b.constant<float>({2}, rows), DataType::kINT8);
  EXPECT_EQ(q->getToType(), DataType::kINT8);
  q->setAxis(0);
  EXPECT_EQ(q->getAxis(), 0);
  EXPECT_EQ(q->getOutput(0)->getType(), DataType::kINT8);
  q->setToType(DataType::kFP8);
  EXPECT_EQ(q->getToType(), DataType::kFP8);
  EXPECT_EQ(q->getOutput(0)->getType(), DataType::kFP8);
  IDequantizeLayer* d = b.network->addDequantize(*q->getOutput(0), *b.constant<float>({2}, rows), DataType::kFLOAT);
  d->setAxis(0);
  EXPECT_EQ(d->getAxis(), 0);
  EXPECT_EQ(d->getToType(), DataType::kFLOAT);
  d->setToType(DataType::kHALF);
  EXPECT_EQ(d->getToType(), DataType::kHALF);
  EXPECT_EQ(d->getOutput(0)->getType(), DataType::kHALF);
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(DataSettings, BlocksAreThoseOfTheScale) {
  static const Floats blocks{0.5F, 0.25F, 0.125F, 1};
  Bench b;
  ITensor* scale = b.constant<float>({2, 2}, blocks);
  IQuantizeLayer* q = b.network->addQuantize(*b.input("x", {2, 4}), *scale, DataType::kINT8);
  IDequantizeLayer* d = b.network->addDequantize(*q->getOutput(0), *scale, DataType::kFLOAT);
  EXPECT_TRUE(q->setBlockShape(dims({1, 2})));
  EXPECT_TRUE(d->setBlockShape(dims({1, 2})));
  EXPECT_EQ(list(q->getBlockShape()), (Ints{1, 2}));
  EXPECT_EQ(list(d->getBlockShape()), (Ints{1, 2}));
  b.output(d, "y");
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(d->setBlockShape(dims({2, 1})));
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("blocks of 2 along dimension 0"), std::string::npos) << why;
  EXPECT_FALSE(d->setBlockShape(dims({4})));
  EXPECT_FALSE(q->setBlockShape(dims({4})));
  EXPECT_NE(b.logger.take_errors().find("2 dimensions"), std::string::npos);
  EXPECT_EQ(list(d->getBlockShape()), (Ints{2, 1}));
}

TEST(DataSettings, Fill) {
  using L = IFillLayer;
  const auto fill = [](const Dims& shape, double from, double step) {
    return [=](Bench& b) {
      L* l = b.network->addFill(shape, FillOperation::kLINSPACE, DataType::kFLOAT);
      l->setAlpha(from);
      l->setBeta(step);
      EXPECT_EQ(l->getAlpha(), from);
      EXPECT_EQ(l->getBeta(), step);
      return l;
    };
  };
  expect_setting<L>(
      fill(dims({4}), 0, 1), [](L& l) { l.setAlpha(7); }, fill(dims({4}), 7, 1));
  expect_setting<L>(
      fill(dims({4}), 0, 1), [](L& l) { l.setBeta(0.5); }, fill(dims({4}), 0, 0.5));
  expect_setting<L>(
      fill(dims({4}), 0, 1),
      [](L& l) {
        EXPECT_EQ(list(l.getDimensions()), (Ints{4}));
        l.setDimensions(dims({6}));
        EXPECT_EQ(list(l.getDimensions()), (Ints{6}));
      },
      fill(dims({6}), 0, 1));
  expect_setting<L>(
      fill(dims({4}), 0, 1),
      [](L& l) {
        EXPECT_FALSE(l.isAlphaBetaInt64());
        l.setAlphaInt64(3);
        l.setBetaInt64(2);
        EXPECT_TRUE(l.isAlphaBetaInt64());
        EXPECT_EQ(l.getAlphaInt64(), 3);
        EXPECT_EQ(l.getBetaInt64(), 2);
      },
      fill(dims({4}), 3, 2));
  // Random numbers lie in [alpha, beta) and differ.
  const Outcome random = outcome([&](Bench& b) {
    L* l = fill(dims({64}), 3, 4)(b);
    EXPECT_EQ(l->getOperation(), FillOperation::kLINSPACE);
    l->setOperation(FillOperation::kRANDOM_UNIFORM);
    EXPECT_EQ(l->getOperation(), FillOperation::kRANDOM_UNIFORM);
    return l->getOutput(0);
  });
  for (const float v : random.values) EXPECT_TRUE(v >= 3 && v < 4) << v;
  EXPECT_NE(random.values.front(), random.values.back());
  Bench b;
  L* l = fill(dims({4}), 0, 1)(b);
  EXPECT_EQ(l->getToType(), DataType::kFLOAT);
  l->setToType(DataType::kINT64);
  EXPECT_EQ(l->getToType(), DataType::kINT64);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT64);
  // Without a type: floats.
  EXPECT_EQ(b.network->addFill(dims({4}), FillOperation::kLINSPACE)->getOutput(0)->getType(), DataType::kFLOAT);
}

TEST(DataSettings, AssertionsThatFailSayTheirMessage) {
  Bench b;
  ITensor* x = b.input("x", {2, 3});
  ITensor* extent = b.network->addShape(*x)->getOutput(0);
  static const std::vector<int64_t> wanted{2, 4};
  ITensor* holds =
      b.network->addElementWise(*extent, *b.constant<int64_t>({2}, wanted), ElementWiseOperation::kEQUAL)->getOutput(0);
  IAssertionLayer* l = b.network->addAssertion(*holds, "the first message");
  ASSERT_NE(l, nullptr);
  EXPECT_STREQ(l->getMessage(), "the first message");
  l->setMessage("four columns are wanted");
  EXPECT_STREQ(l->getMessage(), "four columns are wanted");
  b.output(b.network->addIdentity(*x), "y");
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("four columns are wanted"), std::string::npos) << why;
}

}  // namespace
}  // namespace wootz_test
