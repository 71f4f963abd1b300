// Settings of layers that move, pick and make elements.
#include "api/outcome.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

TEST(DataSettings, Slice) {
  using L = ISliceLayer;
  const auto slice = [](Ints start, Ints size, Ints stride) {
    const auto to = [](const Ints& v) {
      Dims d{};
      for (const int64_t e : v) d.d[d.nbDims++] = e;
      return d;
    };
    return [=](Bench& b) { return b.network->addSlice(*b.input("x", {4, 6}), to(start), to(size), to(stride)); };
  };
  const auto plain = slice({0, 0}, {2, 2}, {1, 1});
  expect_setting<L>(
      plain,
      [](L& l) {
        EXPECT_EQ(list(l.getStart()), (Ints{0, 0}));
        l.setStart(dims({1, 3}));
        EXPECT_EQ(list(l.getStart()), (Ints{1, 3}));
      },
      slice({1, 3}, {2, 2}, {1, 1}));
  expect_setting<L>(
      plain,
      [](L& l) {
        l.setSize(dims({3, 4}));
        EXPECT_EQ(list(l.getSize()), (Ints{3, 4}));
      },
      slice({0, 0}, {3, 4}, {1, 1}));
  expect_setting<L>(
      plain,
      [](L& l) {
        l.setStride(dims({2, 3}));
        EXPECT_EQ(list(l.getStride()), (Ints{2, 3}));
      },
      slice({0, 0}, {2, 2}, {2, 3}));
  // One axis alone: the others are whole.
  expect_setting<L>(
      slice({1, 0}, {2, 6}, {1, 1}),
      [](L& l) {
        EXPECT_EQ(l.getAxes().nbDims, 0);
        l.setAxes(dims({1}));
        EXPECT_EQ(list(l.getAxes()), (Ints{1}));
        l.setStart(dims({2}));
        l.setSize(dims({3}));
        l.setStride(dims({1}));
      },
      slice({0, 2}, {4, 3}, {1, 1}));
  expect_setting<L>(
      plain,
      [](L& l) {
        EXPECT_EQ(l.getMode(), SampleMode::kSTRICT_BOUNDS);
        l.setMode(SampleMode::kWRAP);
        EXPECT_EQ(l.getMode(), SampleMode::kWRAP);
        l.setStart(dims({4, 6}));
        l.setStride(dims({1, 2}));
      },
      slice({0, 0}, {2, 2}, {1, 2}));
}

TEST(DataSettings, Shuffle) {
  const auto order = [](std::initializer_list<int32_t> axes) {
    Permutation p{};
    std::copy(axes.begin(), axes.end(), p.order);
    return p;
  };
  const auto shuffle = [&](bool first) {
    return outcome([&](Bench& b) {
      IShuffleLayer* l = b.network->addShuffle(*b.input("x", {2, 3}));
      EXPECT_EQ(l->getFirstTranspose().order[0], 0);
      EXPECT_EQ(l->getSecondTranspose().order[1], 1);
      if (first) {
        l->setFirstTranspose(order({1, 0}));
        EXPECT_EQ(l->getFirstTranspose().order[0], 1);
      } else {
        l->setSecondTranspose(order({1, 0}));
        EXPECT_EQ(l->getSecondTranspose().order[0], 1);
      }
      l->setReshapeDimensions(dims({3, 2}));
      return l->getOutput(0);
    });
  };
  const Outcome before = shuffle(true), after = shuffle(false);
  EXPECT_EQ(before.shape, (Ints{3, 2}));
  EXPECT_EQ(after.shape, (Ints{2, 3}));
  EXPECT_NE(before.values, after.values);
  // A zero is the input's extent, or an extent of nothing.
  Bench b;
  IShuffleLayer* l = b.network->addShuffle(*b.input("x", {0, 3}));
  l->setReshapeDimensions(dims({3, 0}));
  EXPECT_TRUE(l->getZeroIsPlaceholder());
  EXPECT_EQ(l->getOutput(0)->getDimensions().nbDims, -1) << "3 of 3 rows of nothing are 9 elements";
  b.logger.take_errors();
  l->setZeroIsPlaceholder(false);
  EXPECT_FALSE(l->getZeroIsPlaceholder());
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (Ints{3, 0}));
}

TEST(DataSettings, GatherAndScatter) {
  using G = IGatherLayer;
  static const std::vector<int32_t> at{0, 2, 1, 0};
  const auto gather = [](GatherMode mode, int32_t axis, int32_t batch) {
    return [=](Bench& b) {
      ITensor* x = b.input("x", {2, 3, 2});
      G* l = b.network->addGatherV2(*x, *b.constant<int32_t>({2, 2}, at), mode);
      l->setGatherAxis(axis);
      if (batch != 0) l->setNbElementWiseDims(batch);
      EXPECT_EQ(l->getGatherAxis(), axis);
      EXPECT_EQ(l->getNbElementWiseDims(), batch);
      return l;
    };
  };
  expect_setting<G>(
      gather(GatherMode::kDEFAULT, 1, 0), [](G& l) { l.setNbElementWiseDims(1); }, gather(GatherMode::kDEFAULT, 1, 1));
  const auto pick = [](GatherMode mode) {
    return [mode](Bench& b) {
      ITensor* x = b.input("x", {3, 2});
      static const std::vector<int32_t> one{1, 0};
      return b.network->addGatherV2(*x, *b.constant<int32_t>({1, 2}, one), mode);
    };
  };
  expect_setting<G>(
      pick(GatherMode::kDEFAULT),
      [](G& l) {
        EXPECT_EQ(l.getMode(), GatherMode::kDEFAULT);
        l.setMode(GatherMode::kND);
        EXPECT_EQ(l.getMode(), GatherMode::kND);
      },
      pick(GatherMode::kND));

  using S = IScatterLayer;
  static const std::vector<int32_t> rows{1, 0};
  static const Floats news{9, 8};
  const auto scatter = [](ScatterMode mode, int32_t axis) {
    return [=](Bench& b) {
      ITensor* x = b.input("x", {2, 2});
      S* l = b.network->addScatter(*x, *b.constant<int32_t>({1, 2}, rows), *b.constant<float>({1, 2}, news), mode);
      l->setAxis(axis);
      EXPECT_EQ(l->getAxis(), axis);
      EXPECT_EQ(l->getMode(), mode);
      return l;
    };
  };
  expect_setting<S>(
      scatter(ScatterMode::kELEMENT, 0), [](S& l) { l.setAxis(1); }, scatter(ScatterMode::kELEMENT, 1));
  // A whole row of one position: the updates' shape does not fit any more.
  Bench b;
  S* l = scatter(ScatterMode::kELEMENT, 0)(b);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (Ints{2, 2}));
  l->setMode(ScatterMode::kND);
  EXPECT_EQ(l->getMode(), ScatterMode::kND);
  EXPECT_EQ(l->getOutput(0)->getDimensions().nbDims, -1);
  EXPECT_NE(b.logger.take_errors().find("Scatter"), std::string::npos);
}

TEST(DataSettings, OneHotAndReverseSequence) {
  static const std::vector<int32_t> which{2, 0}, depth{3}, lengths{2, 3, 1};
  static const Floats off_on{0, 1};
  const auto hot = [](int32_t axis) {
    return [axis](Bench& b) {
      return b.network->addOneHot(*b.constant<int32_t>({2}, which), *b.constant<float>({2}, off_on),
                                  *b.constant<int32_t>({}, depth), axis);
    };
  };
  expect_setting<IOneHotLayer>(
      hot(-1),
      [](IOneHotLayer& l) {
        EXPECT_EQ(l.getAxis(), -1);
        l.setAxis(0);
        EXPECT_EQ(l.getAxis(), 0);
      },
      hot(0));
  using R = IReverseSequenceLayer;
  const auto reverse = [](int32_t batch, int32_t time) {
    return outcome([=](Bench& b) {
      R* l = b.network->addReverseSequence(*b.input("x", {3, 3, 2}), *b.constant<int32_t>({3}, lengths));
      EXPECT_EQ(l->getBatchAxis(), 1);
      EXPECT_EQ(l->getSequenceAxis(), 0);
      l->setBatchAxis(batch);
      l->setSequenceAxis(time);
      EXPECT_EQ(l->getBatchAxis(), batch);
      EXPECT_EQ(l->getSequenceAxis(), time);
      return l->getOutput(0);
    });
  };
  EXPECT_NE(reverse(1, 0).values, reverse(0, 1).values);
}

TEST(DataSettings, NonZeroSaysItsIndices) {
  Bench b;
  INonZeroLayer* l = b.network->addNonZero(*b.input("x", {2, 3}), DataType::kINT64);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT64);
  EXPECT_TRUE(l->setIndicesType(DataType::kINT32));
  EXPECT_EQ(l->getIndicesType(), DataType::kINT32);
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT32);
  EXPECT_FALSE(l->setIndicesType(DataType::kFLOAT));
  EXPECT_NE(b.logger.take_errors().find("INonZeroLayer::setIndicesType"), std::string::npos);
}

TEST(DataSettings, Resize) {
  using L = IResizeLayer;
  using T = ResizeCoordinateTransformation;
  const auto resize = [](InterpolationMode mode, T transformation, Ints to = {1, 1, 5, 5}) {
    return [=](Bench& b) {
      L* l = b.network->addResize(*b.input("x", {1, 1, 3, 4}));
      Dims d{};
      for (const int64_t e : to) d.d[d.nbDims++] = e;
      l->setOutputDimensions(d);
      l->setResizeMode(mode);
      l->setCoordinateTransformation(transformation);
      EXPECT_EQ(list(l->getOutputDimensions()), to);
      EXPECT_EQ(l->getResizeMode(), mode);
      EXPECT_EQ(l->getCoordinateTransformation(), transformation);
      return l;
    };
  };
  const auto changes = [&](const std::function<L*(Bench&)>& make, const std::function<void(L&)>& set) {
    const Outcome before = outcome([&](Bench& b) { return make(b)->getOutput(0); });
    const Outcome after = outcome([&](Bench& b) {
      L* l = make(b);
      set(*l);
      return l->getOutput(0);
    });
    EXPECT_FALSE(after == before) << "the setting changes nothing";
  };
  expect_setting<L>(
      resize(InterpolationMode::kNEAREST, T::kASYMMETRIC), [](L& l) { l.setResizeMode(InterpolationMode::kLINEAR); },
      resize(InterpolationMode::kLINEAR, T::kASYMMETRIC));
  expect_setting<L>(
      resize(InterpolationMode::kLINEAR, T::kASYMMETRIC),
      [](L& l) { l.setCoordinateTransformation(T::kALIGN_CORNERS); },
      resize(InterpolationMode::kLINEAR, T::kALIGN_CORNERS));
  changes(resize(InterpolationMode::kCUBIC, T::kHALF_PIXEL), [](L& l) {
    EXPECT_EQ(l.getCubicCoeff(), -0.75F);
    l.setCubicCoeff(-0.5F);
    EXPECT_EQ(l.getCubicCoeff(), -0.5F);
  });
  changes(resize(InterpolationMode::kCUBIC, T::kHALF_PIXEL), [](L& l) {
    EXPECT_FALSE(l.getExcludeOutside());
    l.setExcludeOutside(true);
    EXPECT_TRUE(l.getExcludeOutside());
  });
  changes(resize(InterpolationMode::kNEAREST, T::kHALF_PIXEL, {1, 1, 4, 7}), [](L& l) {
    EXPECT_EQ(l.getNearestRounding(), ResizeRoundMode::kFLOOR);
    l.setNearestRounding(ResizeRoundMode::kCEIL);
    EXPECT_EQ(l.getNearestRounding(), ResizeRoundMode::kCEIL);
  });
  // One row out of three: its middle, or the first.
  changes(resize(InterpolationMode::kLINEAR, T::kHALF_PIXEL, {1, 1, 1, 4}), [](L& l) {
    EXPECT_EQ(l.getSelectorForSinglePixel(), ResizeSelector::kFORMULA);
    l.setSelectorForSinglePixel(ResizeSelector::kUPPER);
    EXPECT_EQ(l.getSelectorForSinglePixel(), ResizeSelector::kUPPER);
  });
}

TEST(DataSettings, GridSample) {
  using L = IGridSampleLayer;
  static const Floats grid{-1, -1, 0.3F, 0.4F, 1, 1, 1.6F, -1.2F};
  const auto sample = [](InterpolationMode mode, bool align, SampleMode outside) {
    return [=](Bench& b) {
      L* l = b.network->addGridSample(*b.input("x", {1, 1, 3, 4}), *b.constant<float>({1, 2, 2, 2}, grid));
      l->setInterpolationMode(mode);
      l->setAlignCorners(align);
      EXPECT_TRUE(l->setSampleMode(outside));
      EXPECT_EQ(l->getInterpolationMode(), mode);
      EXPECT_EQ(l->getAlignCorners(), align);
      EXPECT_EQ(l->getSampleMode(), outside);
      return l;
    };
  };
  const auto plain = sample(InterpolationMode::kLINEAR, true, SampleMode::kFILL);
  expect_setting<L>(
      plain, [](L& l) { l.setInterpolationMode(InterpolationMode::kNEAREST); },
      sample(InterpolationMode::kNEAREST, true, SampleMode::kFILL));
  expect_setting<L>(
      plain, [](L& l) { l.setAlignCorners(false); }, sample(InterpolationMode::kLINEAR, false, SampleMode::kFILL));
  expect_setting<L>(
      plain, [](L& l) { EXPECT_TRUE(l.setSampleMode(SampleMode::kCLAMP)); },
      sample(InterpolationMode::kLINEAR, true, SampleMode::kCLAMP));
  Bench b;
  EXPECT_FALSE(plain(b)->setSampleMode(SampleMode::kWRAP));
  EXPECT_NE(b.logger.take_errors().find("IGridSampleLayer::setSampleMode"), std::string::npos);
}

// Rows of batch, class and box of what a suppression keeps.
struct Boxes : Bench {
  explicit Boxes(bool centres = false) {
    wootz_config_set_option(config.get(), "timing", "0");
    // As corners the third lies on the first; as centres with sizes the second lies on the fourth, too.
    static const Floats corners{0, 0, 2, 2, 8, 8, 9, 9, 0, 0, 2.1F, 2, 9, 9, 10, 10}, scores{0.9F, 0.6F, 0.8F, 0.7F};
    static const Floats overlap{0.5F};
    static const std::vector<int32_t> most{4};
    layer = network->addNMS(*constant<float>({1, 4, 4}, corners), *input("scores", {1, 4, 1}),
                            *constant<int32_t>({}, most));
    layer->setInput(3, *constant<float>({}, overlap));
    if (centres) layer->setBoundingBoxFormat(BoundingBoxFormat::kCENTER_SIZES);
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
  Boxes centres(true);
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
