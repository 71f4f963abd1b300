// Layers that compute: each made by the API and compared with numbers worked out by hand.
#include "api/layer_check.h"

namespace wootz_test {
namespace {

TEST(Layers, EveryActivation) {
  const Floats x{-2, -0.5F, 0, 0.5F, 2};
  const auto f = [](ActivationType type, float a, float b, float v) -> float {
    switch (type) {
      case ActivationType::kRELU: return std::max(0.F, v);
      case ActivationType::kSIGMOID: return 1 / (1 + std::exp(-v));
      case ActivationType::kTANH: return std::tanh(v);
      case ActivationType::kLEAKY_RELU: return v >= 0 ? v : a * v;
      case ActivationType::kELU: return v >= 0 ? v : a * (std::exp(v) - 1);
      case ActivationType::kSELU: return v > 0 ? b * v : b * (a * std::exp(v) - a);
      case ActivationType::kSOFTSIGN: return v / (1 + std::abs(v));
      case ActivationType::kSOFTPLUS: return a * std::log(std::exp(b * v) + 1);
      case ActivationType::kCLIP: return std::max(a, std::min(b, v));
      case ActivationType::kHARD_SIGMOID: return std::max(0.F, std::min(1.F, a * v + b));
      case ActivationType::kSCALED_TANH: return a * std::tanh(b * v);
      case ActivationType::kTHRESHOLDED_RELU: return v > a ? v : 0;
      case ActivationType::kGELU_ERF: return 0.5F * v * (1 + std::erf(v / std::sqrt(2.F)));
      case ActivationType::kGELU_TANH:
        return 0.5F * v * (1 + std::tanh(std::sqrt(2 / 3.14159265F) * (v + 0.044715F * v * v * v)));
    }
    return 0;
  };
  for (int32_t i = 0; i < EnumMax<ActivationType>(); ++i) {
    const auto type = static_cast<ActivationType>(i);
    SCOPED_TRACE("activation " + std::to_string(i));
    Floats want;
    for (float v : x) want.push_back(f(type, 0.3F, 0.7F, v));
    check_layer({{{5}, x}}, {5}, want, [&](Bench& b, std::vector<ITensor*>& in) {
      IActivationLayer* layer = b.network->addActivation(*in[0], type);
      layer->setAlpha(0.3F);
      layer->setBeta(0.7F);
      return layer;
    });
  }
}

TEST(Layers, UnaryAndElementWise) {
  const Floats x{0.25F, 0.5F, 0.75F};
  const std::vector<std::pair<UnaryOperation, float (*)(float)>> unary{
      {UnaryOperation::kEXP, [](float v) { return std::exp(v); }},
      {UnaryOperation::kLOG, [](float v) { return std::log(v); }},
      {UnaryOperation::kSQRT, [](float v) { return std::sqrt(v); }},
      {UnaryOperation::kRECIP, [](float v) { return 1 / v; }},
      {UnaryOperation::kNEG, [](float v) { return -v; }},
      {UnaryOperation::kATANH, [](float v) { return std::atanh(v); }},
      {UnaryOperation::kCEIL, [](float v) { return std::ceil(v); }},
      {UnaryOperation::kROUND, [](float v) { return std::nearbyint(v); }},
      {UnaryOperation::kERF, [](float v) { return std::erf(v); }},
      {UnaryOperation::kISNAN, [](float) { return 0.F; }}};
  for (const auto& [op, f] : unary) {
    Floats want;
    for (float v : x) want.push_back(f(v));
    check_layer({{{3}, x}}, {3}, want,
                [&, o = op](Bench& b, std::vector<ITensor*>& in) { return b.network->addUnary(*in[0], o); });
  }
  const Floats a{7, -7, 3, 2}, c{2, 2, 3, 4};
  const std::vector<std::pair<ElementWiseOperation, float (*)(float, float)>> binary{
      {ElementWiseOperation::kSUM, [](float p, float q) { return p + q; }},
      {ElementWiseOperation::kPROD, [](float p, float q) { return p * q; }},
      {ElementWiseOperation::kMAX, [](float p, float q) { return std::max(p, q); }},
      {ElementWiseOperation::kMIN, [](float p, float q) { return std::min(p, q); }},
      {ElementWiseOperation::kSUB, [](float p, float q) { return p - q; }},
      {ElementWiseOperation::kDIV, [](float p, float q) { return p / q; }},
      {ElementWiseOperation::kPOW, [](float p, float q) { return std::pow(p, q); }},
      {ElementWiseOperation::kFLOOR_DIV, [](float p, float q) { return std::floor(p / q); }},
      {ElementWiseOperation::kEQUAL, [](float p, float q) { return p == q ? 1.F : 0.F; }},
      {ElementWiseOperation::kGREATER, [](float p, float q) { return p > q ? 1.F : 0.F; }},
      {ElementWiseOperation::kLESS, [](float p, float q) { return p < q ? 1.F : 0.F; }}};
  for (const auto& [op, f] : binary) {
    Floats want;
    for (size_t i = 0; i < a.size(); ++i) want.push_back(f(a[i], c[i]));
    check_layer({{{2, 2}, a}, {{2, 2}, c}}, {2, 2}, want, [&, o = op](Bench& b, std::vector<ITensor*>& in) {
      return b.network->addElementWise(*in[0], *in[1], o);
    });
  }
  // Broadcast, and integers: the quotient toward minus infinity.
  check_layer({{{4}, a}, {{4}, c}}, {4}, {3, -4, 1, 0}, [](Bench& b, std::vector<ITensor*>& in) {
    ITensor* p = b.network->addCast(*in[0], DataType::kINT32)->getOutput(0);
    ITensor* q = b.network->addCast(*in[1], DataType::kINT32)->getOutput(0);
    return b.network->addElementWise(*p, *q, ElementWiseOperation::kFLOOR_DIV);
  });
}

TEST(Layers, SelectPreluCastIdentity) {
  const Floats x{-1, 2, -3, 4};
  check_layer({{{2, 2}, x}, {{2, 2}, {0, 0, 0, 0}}}, {2, 2}, {0, 2, 0, 4}, [](Bench& b, std::vector<ITensor*>& in) {
    ITensor* positive = b.network->addElementWise(*in[0], *in[1], ElementWiseOperation::kGREATER)->getOutput(0);
    return b.network->addSelect(*positive, *in[0], *in[1]);
  });
  check_layer({{{2, 2}, x}, {{1, 2}, {0.5F, 0.1F}}}, {2, 2}, {-0.5F, 2, -1.5F, 4},
              [](Bench& b, std::vector<ITensor*>& in) { return b.network->addParametricReLU(*in[0], *in[1]); });
  check_layer({{{3}, {1.7F, -1.7F, 0}}}, {3}, {1, -1, 0}, [](Bench& b, std::vector<ITensor*>& in) {
    IIdentityLayer* layer = b.network->addIdentity(*in[0]);
    layer->setOutputType(0, DataType::kINT32);
    EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kINT32);
    return layer;
  });
}

TEST(Layers, ConvolutionWithGroupsPaddingAndTensorWeights) {
  // Two channels, each in a group of its own; the kernel is the identity of the centre, then a sum of the row.
  static const Floats kernel{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0}, bias{10, 20};
  const Floats x = iota(8);
  const Floats want{10, 11, 12, 13, 29, 29, 33, 33};
  const auto configure = [](IConvolutionLayer* c) {
    c->setNbGroups(2);
    c->setPaddingNd(dims({1, 1}));
    EXPECT_EQ(list(c->getPrePadding()), (std::vector<int64_t>{1, 1}));
    return c;
  };
  check_layer({{{1, 2, 2, 2}, x}}, {1, 2, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
    return configure(b.network->addConvolutionNd(*in[0], 2, dims({3, 3}), weights(kernel), weights(bias)));
  });
  check_layer({{{1, 2, 2, 2}, x}, {{2, 1, 3, 3}, kernel}}, {1, 2, 2, 2}, want,
              [&](Bench& b, std::vector<ITensor*>& in) {
                IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 2, dims({3, 3}), kNone, weights(bias));
                c->setInput(1, *in[1]);
                return configure(c);
              });
  // Same padding, and rounding up where the window does not fit.
  check_layer({{{1, 1, 1, 5}, iota(5)}}, {1, 1, 1, 3}, {0, 2, 4}, [&](Bench& b, std::vector<ITensor*>& in) {
    static const Floats one{1};
    IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 1, dims({1, 1}), weights(one), kNone);
    c->setStrideNd(dims({1, 2}));
    c->setPaddingMode(PaddingMode::kSAME_UPPER);
    return c;
  });
  check_layer({{{1, 1, 1, 4}, {1, 2, 3, 4}}}, {1, 1, 1, 2}, {6, 4}, [&](Bench& b, std::vector<ITensor*>& in) {
    static const Floats ones{1, 1, 1};
    IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 1, dims({1, 3}), weights(ones), kNone);
    c->setStrideNd(dims({1, 3}));
    c->setPaddingMode(PaddingMode::kEXPLICIT_ROUND_UP);
    return c;
  });
}

TEST(Layers, Deconvolution) {
  static const Floats kernel{1, 2, 3, 4}, bias{0.5F};
  check_layer(
      {{{1, 1, 2, 2}, {1, 2, 3, 4}}}, {1, 1, 4, 4},
      {1.5F, 2.5F, 2.5F, 4.5F, 3.5F, 4.5F, 6.5F, 8.5F, 3.5F, 6.5F, 4.5F, 8.5F, 9.5F, 12.5F, 12.5F, 16.5F},
      [&](Bench& b, std::vector<ITensor*>& in) {
        IDeconvolutionLayer* d = b.network->addDeconvolutionNd(*in[0], 1, dims({2, 2}), weights(kernel), weights(bias));
        d->setStrideNd(dims({2, 2}));
        return d;
      });
}

TEST(Layers, Pooling) {
  const Floats x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const In image{{1, 1, 3, 3}, x};
  check_layer({image}, {1, 1, 2, 2}, {5, 6, 8, 9}, [](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addPoolingNd(*in[0], PoolingType::kMAX, dims({2, 2}));
  });
  for (const bool exclusive : {true, false}) {
    const Floats want = exclusive ? Floats{1, 2.5F, 5.5F, 7} : Floats{0.25F, 1.25F, 2.75F, 7};
    check_layer({image}, {1, 1, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
      IPoolingLayer* p = b.network->addPoolingNd(*in[0], PoolingType::kAVERAGE, dims({2, 2}));
      p->setPrePadding(dims({1, 1}));
      p->setStrideNd(dims({2, 2}));
      p->setAverageCountExcludesPadding(exclusive);
      return p;
    });
  }
  check_layer({image}, {1, 1, 1, 1}, {0.75F * 9 + 0.25F * 5}, [](Bench& b, std::vector<ITensor*>& in) {
    IPoolingLayer* p = b.network->addPoolingNd(*in[0], PoolingType::kMAX_AVERAGE_BLEND, dims({3, 3}));
    p->setBlendFactor(0.25F);
    return p;
  });
  check_layer({image}, {1, 1, 2, 2}, {5, 6, 8, 9}, [](Bench& b, std::vector<ITensor*>& in) {
    IPoolingLayer* p = b.network->addPoolingNd(*in[0], PoolingType::kMAX, dims({2, 2}));
    p->setStrideNd(dims({2, 2}));
    p->setPaddingMode(PaddingMode::kEXPLICIT_ROUND_UP);
    return p;
  });
}

TEST(Layers, Scale) {
  const Floats x = iota(8);
  static const Floats two{2}, one{1}, scale{1, 2}, shift{0, 1}, each{1, 2, 3, 4, 5, 6, 7, 8};
  const In image{{1, 2, 2, 2}, x};
  Floats want;
  for (float v : x) want.push_back((v * 2 + 1) * (v * 2 + 1));
  check_layer({image}, {1, 2, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScale(*in[0], ScaleMode::kUNIFORM, weights(one), weights(two), weights(two));
  });
  check_layer({image}, {1, 2, 2, 2}, {0, 1, 2, 3, 9, 11, 13, 15}, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScale(*in[0], ScaleMode::kCHANNEL, weights(shift), weights(scale), kNone);
  });
  check_layer({image}, {1, 2, 2, 2}, {0, 2, 6, 12, 20, 30, 42, 56}, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScaleNd(*in[0], ScaleMode::kELEMENTWISE, kNone, weights(each), kNone, 1);
  });
}

TEST(Layers, Normalizations) {
  const Floats x{1, 3, 2, 6};
  // Over the last axis: mean 2, deviation 1; mean 4, deviation 2.
  check_layer({{{2, 2}, x}, {{1, 2}, {1, 2}}, {{1, 2}, {0, 1}}}, {2, 2}, {-1, 3, -1, 3},
              [](Bench& b, std::vector<ITensor*>& in) {
                INormalizationLayer* n = b.network->addNormalization(*in[0], *in[1], *in[2], 1U << 1);
                n->setEpsilon(0);
                return n;
              });
  // Over the first axis, which is not the last.
  check_layer({{{2, 2}, x}, {{1, 1}, {1}}, {{1, 1}, {0}}}, {2, 2}, {-1, -1, 1, 1},
              [](Bench& b, std::vector<ITensor*>& in) {
                INormalizationLayer* n = b.network->addNormalization(*in[0], *in[1], *in[2], 1U << 0);
                n->setEpsilon(0);
                return n;
              });
  // Instance normalization: two channels of two elements, scale and bias by channel.
  check_layer({{{1, 2, 1, 2}, x}, {{2}, {1, 2}}, {{2}, {0, 1}}}, {1, 2, 1, 2}, {-1, 1, -1, 3},
              [](Bench& b, std::vector<ITensor*>& in) {
                INormalizationLayer* n = b.network->addNormalizationV2(*in[0], *in[1], *in[2], 1U << 2 | 1U << 3);
                EXPECT_TRUE(n->isV2());
                n->setEpsilon(0);
                return n;
              });
  // One group of both channels: mean 3, deviation sqrt(3.5).
  const float d = std::sqrt(3.5F);
  check_layer({{{1, 4, 1, 1}, x}, {{4}, {1, 1, 1, 1}}, {{4}, {0, 0, 0, 0}}}, {1, 4, 1, 1}, {-1, 1, -1, 1},
              [](Bench& b, std::vector<ITensor*>& in) {
                INormalizationLayer* n = b.network->addNormalizationV2(*in[0], *in[1], *in[2], 1U << 2 | 1U << 3);
                n->setEpsilon(0);
                n->setNbGroups(2);
                return n;
              });
  (void)d;
  // x / (1 + 1/1 * x^2)^1 with a window of one channel.
  check_layer({{{1, 2, 1, 2}, x}}, {1, 2, 1, 2}, {0.5F, 0.3F, 0.4F, 6 / 37.F},
              [](Bench& b, std::vector<ITensor*>& in) { return b.network->addLRN(*in[0], 1, 1, 1, 1); });
  const float e = std::exp(1.F);
  check_layer({{{1, 3}, {0, 1, 5}}, {{1, 1}, {2}}}, {1, 3}, {1 / (1 + e), e / (1 + e), 0},
              [](Bench& b, std::vector<ITensor*>& in) {
                ITensor* bounds = b.network->addCast(*in[1], DataType::kINT32)->getOutput(0);
                return b.network->addRaggedSoftMax(*in[0], *bounds);
              });
}

TEST(Layers, ReduceTopKCumulative) {
  const Floats x{3, 1, 2, 6, 5, 4};
  const In in{{2, 3}, x};
  const std::vector<std::pair<ReduceOperation, Floats>> table{{ReduceOperation::kSUM, {6, 15}},
                                                              {ReduceOperation::kPROD, {6, 120}},
                                                              {ReduceOperation::kMAX, {3, 6}},
                                                              {ReduceOperation::kMIN, {1, 4}},
                                                              {ReduceOperation::kAVG, {2, 5}}};
  for (const auto& [op, want] : table) {
    check_layer({in}, {2}, want, [o = op](Bench& b, std::vector<ITensor*>& t) {
      return b.network->addReduce(*t[0], o, 1U << 1, false);
    });
    check_layer({in}, {2, 1}, want,
                [o = op](Bench& b, std::vector<ITensor*>& t) { return b.network->addReduce(*t[0], o, 1U << 1, true); });
  }
  check_layer({in}, {2, 2}, {3, 2, 6, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    ITopKLayer* k = b.network->addTopK(*t[0], TopKOperation::kMAX, 2, 1U << 1);
    EXPECT_EQ(k->getOutput(1)->getType(), DataType::kINT32);
    return k;
  });
  check_layer({in}, {2, 1}, {1, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITopKLayer* k = b.network->addTopK(*t[0], TopKOperation::kMIN, 1, 1U << 1, DataType::kINT64);
    return b.network->addIdentity(*k->getOutput(1));
  });
  static const std::vector<int32_t> axis{1};
  check_layer({in}, {2, 3}, {6, 3, 2, 15, 9, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* a = b.constant<int32_t>({}, axis);
    return b.network->addCumulative(*t[0], *a, CumulativeOperation::kSUM, false, true);
  });
}

TEST(Layers, MatrixProducts) {
  const Floats a{1, 2, 3, 4, 5, 6}, v{1, 0, -1};
  check_layer({{{2, 3}, a}, {{2, 3}, a}}, {2, 2}, {14, 32, 32, 77}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kNONE, *t[1], MatrixOperation::kTRANSPOSE);
  });
  check_layer({{{2, 3}, a}, {{3}, v}}, {2}, {-2, -2}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kNONE, *t[1], MatrixOperation::kVECTOR);
  });
  check_layer({{{3}, v}, {{3, 2}, a}}, {2}, {-4, -4}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kVECTOR, *t[1], MatrixOperation::kNONE);
  });
  check_layer({{{3}, v}, {{3}, v}}, {}, {2}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kVECTOR, *t[1], MatrixOperation::kVECTOR);
  });
  check_layer({{{2, 3}, a}, {{3}, v}}, {2}, {-2, -2},
              [](Bench& b, std::vector<ITensor*>& t) { return b.network->addEinsum(t.data(), 2, "ij,j->i"); });
}

}  // namespace
}  // namespace wootz_test
