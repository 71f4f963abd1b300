// Settings of attention, rotary embeddings, key-value caches, loops and conditionals.
#include "api/outcome.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

// softmax(q k^T) v over [1, 1, 3, 4].
struct Attending : Bench {
  explicit Attending(bool causal = false) {
    wootz_config_set_option(config.get(), "timing", "0");
    for (const char* name : {"q", "k", "v"}) inputs.push_back(input(name, {1, 1, 3, 4}));
    layer = network->addAttention(*inputs[0], *inputs[1], *inputs[2], AttentionNormalizationOp::kSOFTMAX, causal);
  }
  // Empty: it could not be built.
  Floats result() {
    if (network->getNbOutputs() == 0) output(network->addIdentity(*layer->getOutput(0)), "y");
    const Owned<ICudaEngine> e = engine();
    if (e == nullptr) return {};
    const Owned<IExecutionContext> context(e->createExecutionContext());
    std::vector<Floats> data(inputs.size());
    Inputs bound;
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] = iota(12, static_cast<float>(i), 0.1F);
      bound.emplace_back(inputs[i]->getName(), data[i].data());
    }
    return run(*context, bound, "y");
  }
  std::vector<ITensor*> inputs;
  IAttention* layer;
};

TEST(SequenceSettings, AttentionOverMasksAndCausalKeys) {
  Attending plain, causal(true), set, masked;
  EXPECT_FALSE(plain.layer->getCausal());
  EXPECT_TRUE(causal.layer->getCausal());
  const Floats whole = plain.result(), triangle = causal.result();
  EXPECT_NE(whole, triangle);
  EXPECT_TRUE(set.layer->setCausal(true));
  EXPECT_TRUE(set.layer->getCausal());
  expect_near(set.result(), triangle);
  // The same by a mask that is added: nothing of what comes later.
  static const Floats later{0, -1e9F, -1e9F, 0, 0, -1e9F, 0, 0, 0};
  EXPECT_EQ(masked.layer->getMask(), nullptr);
  ITensor* mask = masked.constant<float>({1, 1, 3, 3}, later);
  EXPECT_TRUE(masked.layer->setMask(*mask));
  EXPECT_EQ(masked.layer->getMask(), mask);
  expect_near(masked.result(), triangle);
}

TEST(SequenceSettings, AttentionTakesOtherInputs) {
  Attending b;
  EXPECT_EQ(b.layer->getNbInputs(), 3);
  EXPECT_EQ(b.layer->getNbOutputs(), 1);
  EXPECT_EQ(b.layer->getInput(2), b.inputs[2]);
  EXPECT_EQ(b.layer->getInput(3), nullptr);
  const Floats before = b.result();
  EXPECT_TRUE(b.layer->setInput(2, *b.inputs[0]));
  EXPECT_EQ(b.layer->getInput(2), b.inputs[0]);
  EXPECT_NE(b.result(), before);
  EXPECT_FALSE(b.layer->setInput(3, *b.inputs[0]));
  EXPECT_NE(b.logger.take_errors().find("IAttention::setInput"), std::string::npos);
}

TEST(SequenceSettings, AttentionWithoutNormalizationIsTwoProducts) {
  Attending b;
  EXPECT_EQ(b.layer->getNormalizationOperation(), AttentionNormalizationOp::kSOFTMAX);
  const Floats before = b.result();
  EXPECT_TRUE(b.layer->setNormalizationOperation(AttentionNormalizationOp::kNONE));
  EXPECT_EQ(b.layer->getNormalizationOperation(), AttentionNormalizationOp::kNONE);
  EXPECT_FALSE(b.layer->getDecomposable());
  EXPECT_EQ(b.result(), Floats()) << "one kernel is asked for";
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("setDecomposable"), std::string::npos) << why;
  EXPECT_TRUE(b.layer->setDecomposable(true));
  EXPECT_TRUE(b.layer->getDecomposable());
  const Floats after = b.result();
  EXPECT_EQ(after.size(), 12u) << b.logger.errors();
  EXPECT_NE(after, before);
}

TEST(SequenceSettings, AttentionIsNamedAndDescribed) {
  Attending b;
  EXPECT_TRUE(b.layer->setName("who looks where"));
  EXPECT_STREQ(b.layer->getName(), "who looks where");
  EXPECT_TRUE(b.layer->setMetadata("block 3"));
  EXPECT_STREQ(b.layer->getMetadata(), "block 3");
  ILayer* found = nullptr;
  for (int32_t i = 0; i < b.network->getNbLayers(); ++i)
    if (b.network->getLayer(i)->getType() == LayerType::kATTENTION_OUTPUT) found = b.network->getLayer(i);
  ASSERT_NE(found, nullptr);
  EXPECT_STREQ(found->getName(), "who looks where");
  EXPECT_EQ(static_cast<IAttentionOutputLayer*>(found)->getAttention(), b.layer);
  b.result();
  b.layer->setInput(0, *made<float>(b, {1}, {0}));
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("who looks where"), std::string::npos) << why;
}

TEST(SequenceSettings, AttentionRefusesWhatItCannotCompute) {
  Attending b;
  const auto refused = [&](bool done, const char* call) {
    EXPECT_FALSE(done) << call;
    const std::string why = b.logger.take_errors();
    EXPECT_NE(why.find(call), std::string::npos) << why;
  };
  refused(b.layer->setNormalizationQuantizeScale(*b.inputs[0]), "IAttention::setNormalizationQuantizeScale");
  EXPECT_EQ(b.layer->getNormalizationQuantizeScale(), nullptr);
  refused(b.layer->setNormalizationQuantizeToType(DataType::kINT8), "IAttention::setNormalizationQuantizeToType");
  EXPECT_EQ(b.layer->getNormalizationQuantizeToType(), DataType::kFP8);
  refused(b.layer->setNbRanks(2), "IAttention::setNbRanks");
  EXPECT_TRUE(b.layer->setNbRanks(1));
  EXPECT_EQ(b.layer->getNbRanks(), 1);
}

TEST(SequenceSettings, RotaryEmbedding) {
  using L = IRotaryEmbeddingLayer;
  static const Floats zero{0, 0}, one{1, 1}, none{0}, single{1};
  const auto rotary = [](bool interleaved, int32_t width) {
    return [=](Bench& b) {
      const Floats &c = width == 2 ? none : zero, &s = width == 2 ? single : one;
      const int64_t half = width == 2 ? 1 : 2;
      ITensor* x = b.input("x", {1, 1, 1, 4});
      return b.network->addRotaryEmbedding(*x, *b.constant<float>({1, 1, half}, c), *b.constant<float>({1, 1, half}, s),
                                           interleaved, width);
    };
  };
  expect_setting<L>(
      rotary(false, 0),
      [](L& l) {
        EXPECT_FALSE(l.getInterleaved());
        l.setInterleaved(true);
        EXPECT_TRUE(l.getInterleaved());
      },
      rotary(true, 0));
  Bench b;
  L* l = rotary(false, 2)(b);
  EXPECT_EQ(l->getRotaryEmbeddingDim(), 2);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (Ints{1, 1, 1, 4}));
  EXPECT_TRUE(l->setRotaryEmbeddingDim(8));
  EXPECT_EQ(l->getRotaryEmbeddingDim(), 8);
  EXPECT_EQ(l->getOutput(0)->getDimensions().nbDims, -1) << "eight of four elements";
  b.logger.take_errors();
  EXPECT_FALSE(l->setRotaryEmbeddingDim(3));
  EXPECT_NE(b.logger.take_errors().find("IRotaryEmbeddingLayer::setRotaryEmbeddingDim"), std::string::npos);
}

TEST(SequenceSettings, KeyValueCacheHasOneMode) {
  Bench b;
  ITensor* cache = b.input("cache", {1, 1, 8, 4});
  ITensor* update = b.input("update", {1, 1, 2, 4});
  IKVCacheUpdateLayer* l =
      b.network->addKVCacheUpdate(*cache, *update, *b.input("at", {1}, DataType::kINT32), KVCacheMode::kLINEAR);
  ASSERT_NE(l, nullptr) << b.logger.errors();
  EXPECT_TRUE(l->setCacheMode(KVCacheMode::kLINEAR));
  EXPECT_EQ(l->getCacheMode(), KVCacheMode::kLINEAR);
  EXPECT_FALSE(l->setCacheMode(static_cast<KVCacheMode>(7)));
  EXPECT_NE(b.logger.take_errors().find("IKVCacheUpdateLayer::setCacheMode"), std::string::npos);
}

// The columns of x [2, 3] one after the other: the sums so far, along an axis.
struct Columns : Bench {
  Columns() {
    wootz_config_set_option(config.get(), "timing", "0");
    static const std::vector<int32_t> count{3};
    loop = network->addLoop();
    limit = loop->addTripLimit(*constant<int32_t>({}, count), TripLimit::kCOUNT);
    columns = loop->addIterator(*input("x", {2, 3}), 1);
    static const Floats zero{0, 0};
    sum = loop->addRecurrence(*constant<float>({2}, zero));
    sum->setInput(
        1,
        *network->addElementWise(*sum->getOutput(0), *columns->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0));
    all = loop->addLoopOutput(*sum->getInput(1), LoopOutput::kCONCATENATE, 1);
    all->setInput(1, *constant<int32_t>({}, count));
    output(all, "y");
  }
  Floats result() {
    const Owned<ICudaEngine> e = engine();
    EXPECT_NE(e, nullptr) << logger.errors();
    if (e == nullptr) return {};
    const Owned<IExecutionContext> context(e->createExecutionContext());
    const Floats x{1, 2, 3, 10, 20, 30};
    return run(*context, {{"x", x.data()}}, "y");
  }
  ILoop* loop;
  ITripLimitLayer* limit;
  IIteratorLayer* columns;
  IRecurrenceLayer* sum;
  ILoopOutputLayer* all;
};

TEST(SequenceSettings, IteratorsGoBothWays) {
  Columns b;
  EXPECT_EQ(b.columns->getAxis(), 1);
  EXPECT_FALSE(b.columns->getReverse());
  EXPECT_EQ(b.result(), (Floats{1, 3, 6, 10, 30, 60}));
  b.columns->setReverse(true);
  EXPECT_TRUE(b.columns->getReverse());
  EXPECT_EQ(b.result(), (Floats{3, 5, 6, 30, 50, 60}));
  b.columns->setAxis(0);
  EXPECT_EQ(b.columns->getAxis(), 0);
  EXPECT_EQ(list(b.columns->getOutput(0)->getDimensions()), (Ints{3}));
}

TEST(SequenceSettings, LoopOutputsAreStackedAlongTheirAxis) {
  Columns b;
  EXPECT_EQ(b.all->getAxis(), 1);
  EXPECT_EQ(b.all->getLoopOutput(), LoopOutput::kCONCATENATE);
  b.all->setAxis(0);
  EXPECT_EQ(b.all->getAxis(), 0);
  EXPECT_EQ(list(b.all->getOutput(0)->getDimensions()), (Ints{3, 2}));
  EXPECT_EQ(b.result(), (Floats{1, 10, 3, 30, 6, 60}));
}

TEST(SequenceSettings, LoopsAndConditionalsAreNamed) {
  Columns b;
  b.loop->setName("over columns");
  EXPECT_STREQ(b.loop->getName(), "over columns");
  EXPECT_EQ(b.limit->getLoop(), b.loop);
  EXPECT_EQ(b.columns->getLoop(), b.loop);
  EXPECT_EQ(b.limit->getTripLimit(), TripLimit::kCOUNT);
  b.all->setAxis(7);  // there is none: the refusal names the loop's layer
  b.all->setName("the sums");
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_NE(why.find("the sums"), std::string::npos) << why;
  IIfConditional* either = b.network->addIfConditional();
  ASSERT_NE(either, nullptr);
  either->setName("one or the other");
  EXPECT_STREQ(either->getName(), "one or the other");
  either->setName(nullptr);
  EXPECT_NE(b.logger.take_errors().find("null"), std::string::npos);
  EXPECT_STREQ(either->getName(), "one or the other");
}

}  // namespace
}  // namespace wootz_test
