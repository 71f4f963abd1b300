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

}  // namespace
}  // namespace wootz_test
