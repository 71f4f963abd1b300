// Settings of layers that compute: each changes the result into that of the layer that was made so.
#include "api/outcome.h"

namespace wootz_test {
namespace {

ITensor& x23(Bench& b) { return *b.input("x", {2, 3}); }

TEST(LayerSettings, Activation) {
  using L = IActivationLayer;
  const auto elu = [](Bench& b) { return b.network->addActivation(x23(b), ActivationType::kELU); };
  expect_setting<L>(
      elu,
      [](L& l) {
        EXPECT_EQ(l.getActivationType(), ActivationType::kELU);
        l.setActivationType(ActivationType::kTANH);
        EXPECT_EQ(l.getActivationType(), ActivationType::kTANH);
      },
      [](Bench& b) { return b.network->addActivation(x23(b), ActivationType::kTANH); });
  // alpha * tanh(beta * x)
  const auto tanh = [](Bench& b) { return b.network->addActivation(x23(b), ActivationType::kSCALED_TANH); };
  expect_setting<L>(
      tanh,
      [](L& l) {
        l.setAlpha(3);
        l.setBeta(0.5F);
        EXPECT_EQ(l.getAlpha(), 3);
        EXPECT_EQ(l.getBeta(), 0.5F);
      },
      Net([](Bench& b) {
        ITensor* half = b.network->addElementWise(x23(b), *made<float>(b, {1, 1}, {0.5F}), ElementWiseOperation::kPROD)
                            ->getOutput(0);
        ITensor* t = b.network->addActivation(*half, ActivationType::kTANH)->getOutput(0);
        return b.network->addElementWise(*t, *made<float>(b, {1, 1}, {3}), ElementWiseOperation::kPROD)->getOutput(0);
      }));
}

TEST(LayerSettings, UnaryElementWiseAndCast) {
  expect_setting<IUnaryLayer>([](Bench& b) { return b.network->addUnary(x23(b), UnaryOperation::kNEG); },
                              [](IUnaryLayer& l) {
                                l.setOperation(UnaryOperation::kABS);
                                EXPECT_EQ(l.getOperation(), UnaryOperation::kABS);
                              },
                              [](Bench& b) { return b.network->addUnary(x23(b), UnaryOperation::kABS); });
  const auto binary = [](ElementWiseOperation op) {
    return [op](Bench& b) {
      ITensor& x = x23(b);
      return b.network->addElementWise(x, *b.input("z", {1, 3}), op);
    };
  };
  expect_setting<IElementWiseLayer>(
      binary(ElementWiseOperation::kSUM),
      [](IElementWiseLayer& l) {
        l.setOperation(ElementWiseOperation::kMAX);
        EXPECT_EQ(l.getOperation(), ElementWiseOperation::kMAX);
      },
      binary(ElementWiseOperation::kMAX));
  expect_setting<ICastLayer>([](Bench& b) { return b.network->addCast(x23(b), DataType::kFLOAT); },
                             [](ICastLayer& l) {
                               l.setToType(DataType::kINT32);
                               EXPECT_EQ(l.getToType(), DataType::kINT32);
                               EXPECT_EQ(l.getOutput(0)->getType(), DataType::kINT32);
                             },
                             [](Bench& b) { return b.network->addCast(x23(b), DataType::kINT32); });
}

TEST(LayerSettings, Constant) {
  static const Floats six{1, 2, 3, 4, 5, 6}, other{9, 8, 7, 6, 5, 4};
  using L = IConstantLayer;
  const auto make = [](Bench& b) { return b.network->addConstant(dims({2, 3}), weights(six)); };
  expect_setting<L>(
      make,
      [](L& l) {
        EXPECT_EQ(l.getWeights().values, six.data());
        l.setWeights(weights(other));
        EXPECT_EQ(l.getWeights().values, other.data());
      },
      [](Bench& b) {
        return b.network->addConstant(dims({2, 3}), weights(other));
      });
  expect_setting<L>(
      make,
      [](L& l) {
        EXPECT_EQ(list(l.getDimensions()), (std::vector<int64_t>{2, 3}));
        l.setDimensions(dims({6}));
        EXPECT_EQ(list(l.getDimensions()), (std::vector<int64_t>{6}));
      },
      [](Bench& b) { return b.network->addConstant(dims({6}), weights(six)); });
}

TEST(LayerSettings, MatrixMultiplyAndEinsum) {
  using M = IMatrixMultiplyLayer;
  const auto product = [](MatrixOperation right) {
    return [right](Bench& b) {
      ITensor& x = x23(b);
      return b.network->addMatrixMultiply(x, MatrixOperation::kNONE, *b.input("z", {3, 3}), right);
    };
  };
  expect_setting<M>(
      product(MatrixOperation::kNONE),
      [](M& l) {
        EXPECT_EQ(l.getOperation(1), MatrixOperation::kNONE);
        l.setOperation(1, MatrixOperation::kTRANSPOSE);
        EXPECT_EQ(l.getOperation(0), MatrixOperation::kNONE);
        EXPECT_EQ(l.getOperation(1), MatrixOperation::kTRANSPOSE);
      },
      product(MatrixOperation::kTRANSPOSE));
  const auto einsum = [](const char* equation) {
    return [equation](Bench& b) {
      ITensor* x = b.input("x", {2, 3});
      return b.network->addEinsum(&x, 1, equation);
    };
  };
  expect_setting<IEinsumLayer>(
      einsum("ij->ji"),
      [](IEinsumLayer& l) {
        EXPECT_TRUE(l.setEquation("ij->i"));
        EXPECT_STREQ(l.getEquation(), "ij->i");
        EXPECT_FALSE(l.setEquation(nullptr));
      },
      einsum("ij->i"));
}

TEST(LayerSettings, ReduceAndTopK) {
  using R = IReduceLayer;
  const auto reduce = [](ReduceOperation op, uint32_t axes, bool keep) {
    return [=](Bench& b) { return b.network->addReduce(x23(b), op, axes, keep); };
  };
  expect_setting<R>(
      reduce(ReduceOperation::kSUM, 1, false),
      [](R& l) {
        l.setOperation(ReduceOperation::kMAX);
        EXPECT_EQ(l.getOperation(), ReduceOperation::kMAX);
      },
      reduce(ReduceOperation::kMAX, 1, false));
  expect_setting<R>(
      reduce(ReduceOperation::kSUM, 1, false),
      [](R& l) {
        l.setReduceAxes(2);
        EXPECT_EQ(l.getReduceAxes(), 2u);
      },
      reduce(ReduceOperation::kSUM, 2, false));
  expect_setting<R>(
      reduce(ReduceOperation::kSUM, 1, false),
      [](R& l) {
        EXPECT_FALSE(l.getKeepDimensions());
        l.setKeepDimensions(true);
        EXPECT_TRUE(l.getKeepDimensions());
      },
      reduce(ReduceOperation::kSUM, 1, true));

  using T = ITopKLayer;
  const auto top = [](TopKOperation op, int32_t k, uint32_t axes) {
    return [=](Bench& b) { return b.network->addTopK(x23(b), op, k, axes); };
  };
  expect_setting<T>(
      top(TopKOperation::kMAX, 1, 2),
      [](T& l) {
        l.setOperation(TopKOperation::kMIN);
        EXPECT_EQ(l.getOperation(), TopKOperation::kMIN);
      },
      top(TopKOperation::kMIN, 1, 2));
  expect_setting<T>(
      top(TopKOperation::kMAX, 1, 2),
      [](T& l) {
        l.setK(2);
        EXPECT_EQ(l.getK(), 2);
      },
      top(TopKOperation::kMAX, 2, 2));
  expect_setting<T>(
      top(TopKOperation::kMAX, 1, 2),
      [](T& l) {
        l.setReduceAxes(1);
        EXPECT_EQ(l.getReduceAxes(), 1u);
      },
      top(TopKOperation::kMAX, 1, 1));
  Bench b;
  ITopKLayer* l = top(TopKOperation::kMAX, 1, 2)(b);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT32);
  EXPECT_TRUE(l->setIndicesType(DataType::kINT64));
  EXPECT_EQ(l->getIndicesType(), DataType::kINT64);
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kINT64);
  EXPECT_FALSE(l->setIndicesType(DataType::kFLOAT));
  EXPECT_NE(b.logger.take_errors().find("ITopKLayer::setIndicesType"), std::string::npos);
}

TEST(LayerSettings, Cumulative) {
  using L = ICumulativeLayer;
  const auto sum = [](bool exclusive, bool reverse) {
    return [=](Bench& b) {
      ITensor& x = x23(b);
      return b.network->addCumulative(x, *made<int32_t>(b, {}, {1}), CumulativeOperation::kSUM, exclusive, reverse);
    };
  };
  expect_setting<L>(
      sum(false, false),
      [](L& l) {
        EXPECT_FALSE(l.getExclusive());
        l.setExclusive(true);
        EXPECT_TRUE(l.getExclusive());
      },
      sum(true, false));
  expect_setting<L>(
      sum(false, false),
      [](L& l) {
        EXPECT_FALSE(l.getReverse());
        l.setReverse(true);
        EXPECT_TRUE(l.getReverse());
      },
      sum(false, true));
  Bench b;
  L* l = sum(false, false)(b);
  EXPECT_TRUE(l->setOperation(CumulativeOperation::kSUM));
  EXPECT_EQ(l->getOperation(), CumulativeOperation::kSUM);
  EXPECT_FALSE(l->setOperation(static_cast<CumulativeOperation>(9)));
  EXPECT_NE(b.logger.take_errors().find("ICumulativeLayer::setOperation"), std::string::npos);
}

TEST(LayerSettings, Scale) {
  static const Floats one{0.5F}, two{2}, three{2, 3, 4}, square{2};
  using L = IScaleLayer;
  // Of absolute values: a power of what is negative is no number.
  const auto scale = [](ScaleMode mode, const Floats* shift, const Floats* by, const Floats* power, int32_t axis) {
    const auto of = [](const Floats* v) { return v == nullptr ? kNone : weights(*v); };
    return [=](Bench& b) {
      ITensor* x = b.network->addUnary(x23(b), UnaryOperation::kABS)->getOutput(0);
      return b.network->addScaleNd(*x, mode, of(shift), of(by), of(power), axis);
    };
  };
  expect_setting<L>(
      scale(ScaleMode::kUNIFORM, &one, nullptr, nullptr, 0),
      [](L& l) {
        EXPECT_EQ(l.getShift().values, one.data());
        l.setShift(weights(two));
        EXPECT_EQ(l.getShift().values, two.data());
      },
      scale(ScaleMode::kUNIFORM, &two, nullptr, nullptr, 0));
  expect_setting<L>(
      scale(ScaleMode::kUNIFORM, nullptr, &one, nullptr, 0),
      [](L& l) {
        l.setScale(weights(two));
        EXPECT_EQ(l.getScale().values, two.data());
      },
      scale(ScaleMode::kUNIFORM, nullptr, &two, nullptr, 0));
  expect_setting<L>(
      scale(ScaleMode::kUNIFORM, nullptr, &two, nullptr, 0),
      [](L& l) {
        l.setPower(weights(square));
        EXPECT_EQ(l.getPower().values, square.data());
      },
      scale(ScaleMode::kUNIFORM, nullptr, &two, &square, 0));
  // One scale for all, which is then one for each channel.
  expect_setting<L>(
      scale(ScaleMode::kUNIFORM, nullptr, &two, nullptr, 1),
      [](L& l) {
        EXPECT_EQ(l.getMode(), ScaleMode::kUNIFORM);
        l.setMode(ScaleMode::kCHANNEL);
        l.setScale(weights(three));
        EXPECT_EQ(l.getMode(), ScaleMode::kCHANNEL);
      },
      scale(ScaleMode::kCHANNEL, nullptr, &three, nullptr, 1));
  // Three scales do not fit the two rows: the axis must be the other one.
  Bench b;
  L* l = scale(ScaleMode::kCHANNEL, nullptr, &three, nullptr, 1)(b);
  EXPECT_EQ(l->getChannelAxis(), 1);
  l->setChannelAxis(0);
  EXPECT_EQ(l->getChannelAxis(), 0);
  b.output(l, "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.take_errors().find("3"), std::string::npos);
  l->setChannelAxis(1);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
}

TEST(LayerSettings, LocalResponse) {
  using L = ILRNLayer;
  const auto lrn = [](int64_t window, float alpha, float beta, float k) {
    return [=](Bench& b) { return b.network->addLRN(*b.input("x", {1, 5, 2, 2}), window, alpha, beta, k); };
  };
  expect_setting<L>(
      lrn(3, 1, 0.75F, 1),
      [](L& l) {
        EXPECT_EQ(l.getWindowSize(), 3);
        l.setWindowSize(5);
        EXPECT_EQ(l.getWindowSize(), 5);
        l.setWindowSize(4);
        EXPECT_EQ(l.getWindowSize(), 5) << "an even window is refused";
      },
      lrn(5, 1, 0.75F, 1));
  expect_setting<L>(
      lrn(3, 1, 0.75F, 1),
      [](L& l) {
        l.setAlpha(2);
        EXPECT_EQ(l.getAlpha(), 2);
      },
      lrn(3, 2, 0.75F, 1));
  expect_setting<L>(
      lrn(3, 1, 0.75F, 1),
      [](L& l) {
        l.setBeta(0.5F);
        EXPECT_EQ(l.getBeta(), 0.5F);
      },
      lrn(3, 1, 0.5F, 1));
  expect_setting<L>(
      lrn(3, 1, 0.75F, 1),
      [](L& l) {
        l.setK(2);
        EXPECT_EQ(l.getK(), 2);
      },
      lrn(3, 1, 0.75F, 2));
}

TEST(LayerSettings, Normalization) {
  using L = INormalizationLayer;
  const auto norm = [](uint32_t axes) {
    return [=](Bench& b) {
      ITensor* x = b.input("x", {2, 4, 2, 2});
      ITensor* scale = made<float>(b, {1, 1, 1, 1}, {2});
      return b.network->addNormalization(*x, *scale, *made<float>(b, {1, 1, 1, 1}, {1}), axes);
    };
  };
  expect_setting<L>(
      norm(1U << 1 | 1U << 2 | 1U << 3),
      [](L& l) {
        EXPECT_EQ(l.getAxes(), 14u);
        l.setAxes(1U << 3);
        EXPECT_EQ(l.getAxes(), 8u);
      },
      norm(1U << 3));
  // (x - mean) / sqrt(variance + epsilon) of an epsilon that is all: x - mean, a thousandth of it.
  const Outcome large = outcome([&](Bench& b) {
    L* l = norm(1U << 3)(b);
    EXPECT_EQ(l->getEpsilon(), 1e-5F);
    l->setEpsilon(1e8F);
    EXPECT_EQ(l->getEpsilon(), 1e8F);
    return l->getOutput(0);
  });
  for (const float v : large.values) EXPECT_NEAR(v, 1.F, 1e-2F);
  const auto groups = [](int64_t n) {
    return [n](Bench& b) {
      ITensor* x = b.input("x", {2, 4, 2, 2});
      ITensor* scale = made<float>(b, {1, 4, 1, 1}, {1, 2, 3, 4});
      ITensor* bias = made<float>(b, {1, 4, 1, 1}, {0, 1, 0, 1});
      L* l = b.network->addNormalization(*x, *scale, *bias, 1U << 2 | 1U << 3);
      l->setNbGroups(n);
      EXPECT_EQ(l->getNbGroups(), n);
      return l->getOutput(0);
    };
  };
  EXPECT_NE(outcome(groups(2)).values, outcome(groups(1)).values);
}

TEST(LayerSettings, NormalizationComputesInFloats) {
  Bench b;
  ITensor* x = b.input("x", {2, 4});
  ITensor* one = made<float>(b, {1, 1}, {1});
  INormalizationLayer* l = b.network->addNormalization(*x, *one, *one, 2);
  EXPECT_EQ(l->getComputePrecision(), DataType::kFLOAT);
  l->setComputePrecision(DataType::kHALF);
  EXPECT_EQ(l->getComputePrecision(), DataType::kHALF);
  EXPECT_NE(b.logger.warnings().find("INormalizationLayer::setComputePrecision: "), std::string::npos);
  l->setComputePrecision(DataType::kINT32);
  EXPECT_EQ(l->getComputePrecision(), DataType::kHALF);
  EXPECT_NE(b.logger.take_errors().find("INormalizationLayer::setComputePrecision"), std::string::npos);
}

TEST(LayerSettings, SoftMax) {
  using L = ISoftMaxLayer;
  const auto softmax = [](uint32_t axes) {
    return [axes](Bench& b) {
      L* l = b.network->addSoftMax(x23(b));
      if (axes != 0) l->setAxes(axes);
      EXPECT_EQ(l->getAxes(), axes != 0 ? axes : 1U) << "the third axis from the back, or the first";
      return l->getOutput(0);
    };
  };
  EXPECT_NE(outcome(softmax(1)).values, outcome(softmax(2)).values);
  EXPECT_EQ(outcome(softmax(0)).values, outcome(softmax(1)).values);
}

}  // namespace
}  // namespace wootz_test
