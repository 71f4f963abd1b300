// Every kind of layer, made by the API and compared with numbers worked out by hand: with passes and without, and on
// the reference backend.
#include <functional>
#include <numeric>

#include "api/harness.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;
using Make = std::function<ILayer*(Bench&, std::vector<ITensor*>&)>;

struct In {
  std::vector<int64_t> shape;
  Floats values;
};

Floats iota(size_t n, float start = 0, float step = 1) {
  Floats v(n);
  for (size_t i = 0; i < n; ++i) v[i] = start + step * static_cast<float>(i);
  return v;
}

struct Mode {
  const char* backend;
  const char* passes;
};

// Builds a network of float inputs in1, in2, ... with `make`, whose layer's output 0 is compared.
void check(const std::vector<In>& inputs, const std::vector<int64_t>& shape, const Floats& want, const Make& make,
           float tolerance = 1e-5F) {
  for (const Mode mode : {Mode{"cpu", ""}, Mode{"cpu", "all"}, Mode{"reference", ""}}) {
    SCOPED_TRACE(std::string(mode.backend) + " without passes: " + mode.passes);
    Bench b;
    wootz_config_set_option(b.config.get(), "backend", mode.backend);
    wootz_config_set_option(b.config.get(), "disable_passes", mode.passes);
    wootz_config_set_option(b.config.get(), "timing", "0");
    std::vector<ITensor*> tensors;
    std::vector<std::string> names;
    for (size_t i = 0; i < inputs.size(); ++i) names.push_back("in" + std::to_string(i + 1));
    for (size_t i = 0; i < inputs.size(); ++i) {
      Dims d{};
      for (int64_t v : inputs[i].shape) d.d[d.nbDims++] = v;
      tensors.push_back(b.network->addInput(names[i].c_str(), DataType::kFLOAT, d));
    }
    ILayer* layer = make(b, tensors);
    ASSERT_NE(layer, nullptr) << b.logger.errors();
    EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), shape) << b.logger.errors();
    if (layer->getOutput(0)->getType() != DataType::kFLOAT)
      layer = b.network->addCast(*layer->getOutput(0), DataType::kFLOAT);
    b.output(layer, "y");
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    Inputs data;
    for (size_t i = 0; i < inputs.size(); ++i) data.emplace_back(names[i].c_str(), inputs[i].values.data());
    expect_near(run(*context, data, "y"), want, tolerance);
    EXPECT_EQ(b.logger.errors(), "");
  }
}

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
    check({{{5}, x}}, {5}, want, [&](Bench& b, std::vector<ITensor*>& in) {
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
    check({{{3}, x}}, {3}, want,
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
    check({{{2, 2}, a}, {{2, 2}, c}}, {2, 2}, want,
          [&, o = op](Bench& b, std::vector<ITensor*>& in) { return b.network->addElementWise(*in[0], *in[1], o); });
  }
  // Broadcast, and integers: the quotient toward minus infinity.
  check({{{4}, a}, {{4}, c}}, {4}, {3, -4, 1, 0}, [](Bench& b, std::vector<ITensor*>& in) {
    ITensor* p = b.network->addCast(*in[0], DataType::kINT32)->getOutput(0);
    ITensor* q = b.network->addCast(*in[1], DataType::kINT32)->getOutput(0);
    return b.network->addElementWise(*p, *q, ElementWiseOperation::kFLOOR_DIV);
  });
}

TEST(Layers, SelectPreluCastIdentity) {
  const Floats x{-1, 2, -3, 4};
  check({{{2, 2}, x}, {{2, 2}, {0, 0, 0, 0}}}, {2, 2}, {0, 2, 0, 4}, [](Bench& b, std::vector<ITensor*>& in) {
    ITensor* positive = b.network->addElementWise(*in[0], *in[1], ElementWiseOperation::kGREATER)->getOutput(0);
    return b.network->addSelect(*positive, *in[0], *in[1]);
  });
  check({{{2, 2}, x}, {{1, 2}, {0.5F, 0.1F}}}, {2, 2}, {-0.5F, 2, -1.5F, 4},
        [](Bench& b, std::vector<ITensor*>& in) { return b.network->addParametricReLU(*in[0], *in[1]); });
  check({{{3}, {1.7F, -1.7F, 0}}}, {3}, {1, -1, 0}, [](Bench& b, std::vector<ITensor*>& in) {
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
  check({{{1, 2, 2, 2}, x}}, {1, 2, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
    return configure(b.network->addConvolutionNd(*in[0], 2, dims({3, 3}), weights(kernel), weights(bias)));
  });
  check({{{1, 2, 2, 2}, x}, {{2, 1, 3, 3}, kernel}}, {1, 2, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
    IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 2, dims({3, 3}), kNone, weights(bias));
    c->setInput(1, *in[1]);
    return configure(c);
  });
  // Same padding, and rounding up where the window does not fit.
  check({{{1, 1, 1, 5}, iota(5)}}, {1, 1, 1, 3}, {0, 2, 4}, [&](Bench& b, std::vector<ITensor*>& in) {
    static const Floats one{1};
    IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 1, dims({1, 1}), weights(one), kNone);
    c->setStrideNd(dims({1, 2}));
    c->setPaddingMode(PaddingMode::kSAME_UPPER);
    return c;
  });
  check({{{1, 1, 1, 4}, {1, 2, 3, 4}}}, {1, 1, 1, 2}, {6, 4}, [&](Bench& b, std::vector<ITensor*>& in) {
    static const Floats ones{1, 1, 1};
    IConvolutionLayer* c = b.network->addConvolutionNd(*in[0], 1, dims({1, 3}), weights(ones), kNone);
    c->setStrideNd(dims({1, 3}));
    c->setPaddingMode(PaddingMode::kEXPLICIT_ROUND_UP);
    return c;
  });
}

TEST(Layers, Deconvolution) {
  static const Floats kernel{1, 2, 3, 4}, bias{0.5F};
  check(
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
  check({image}, {1, 1, 2, 2}, {5, 6, 8, 9}, [](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addPoolingNd(*in[0], PoolingType::kMAX, dims({2, 2}));
  });
  for (const bool exclusive : {true, false}) {
    const Floats want = exclusive ? Floats{1, 2.5F, 5.5F, 7} : Floats{0.25F, 1.25F, 2.75F, 7};
    check({image}, {1, 1, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
      IPoolingLayer* p = b.network->addPoolingNd(*in[0], PoolingType::kAVERAGE, dims({2, 2}));
      p->setPrePadding(dims({1, 1}));
      p->setStrideNd(dims({2, 2}));
      p->setAverageCountExcludesPadding(exclusive);
      return p;
    });
  }
  check({image}, {1, 1, 1, 1}, {0.75F * 9 + 0.25F * 5}, [](Bench& b, std::vector<ITensor*>& in) {
    IPoolingLayer* p = b.network->addPoolingNd(*in[0], PoolingType::kMAX_AVERAGE_BLEND, dims({3, 3}));
    p->setBlendFactor(0.25F);
    return p;
  });
  check({image}, {1, 1, 2, 2}, {5, 6, 8, 9}, [](Bench& b, std::vector<ITensor*>& in) {
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
  check({image}, {1, 2, 2, 2}, want, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScale(*in[0], ScaleMode::kUNIFORM, weights(one), weights(two), weights(two));
  });
  check({image}, {1, 2, 2, 2}, {0, 1, 2, 3, 9, 11, 13, 15}, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScale(*in[0], ScaleMode::kCHANNEL, weights(shift), weights(scale), kNone);
  });
  check({image}, {1, 2, 2, 2}, {0, 2, 6, 12, 20, 30, 42, 56}, [&](Bench& b, std::vector<ITensor*>& in) {
    return b.network->addScaleNd(*in[0], ScaleMode::kELEMENTWISE, kNone, weights(each), kNone, 1);
  });
}

TEST(Layers, Normalizations) {
  const Floats x{1, 3, 2, 6};
  // Over the last axis: mean 2, deviation 1; mean 4, deviation 2.
  check({{{2, 2}, x}, {{1, 2}, {1, 2}}, {{1, 2}, {0, 1}}}, {2, 2}, {-1, 3, -1, 3},
        [](Bench& b, std::vector<ITensor*>& in) {
          INormalizationLayer* n = b.network->addNormalization(*in[0], *in[1], *in[2], 1U << 1);
          n->setEpsilon(0);
          return n;
        });
  // Over the first axis, which is not the last.
  check({{{2, 2}, x}, {{1, 1}, {1}}, {{1, 1}, {0}}}, {2, 2}, {-1, -1, 1, 1}, [](Bench& b, std::vector<ITensor*>& in) {
    INormalizationLayer* n = b.network->addNormalization(*in[0], *in[1], *in[2], 1U << 0);
    n->setEpsilon(0);
    return n;
  });
  // Instance normalization: two channels of two elements, scale and bias by channel.
  check({{{1, 2, 1, 2}, x}, {{2}, {1, 2}}, {{2}, {0, 1}}}, {1, 2, 1, 2}, {-1, 1, -1, 3},
        [](Bench& b, std::vector<ITensor*>& in) {
          INormalizationLayer* n = b.network->addNormalizationV2(*in[0], *in[1], *in[2], 1U << 2 | 1U << 3);
          EXPECT_TRUE(n->isV2());
          n->setEpsilon(0);
          return n;
        });
  // One group of both channels: mean 3, deviation sqrt(3.5).
  const float d = std::sqrt(3.5F);
  check({{{1, 4, 1, 1}, x}, {{4}, {1, 1, 1, 1}}, {{4}, {0, 0, 0, 0}}}, {1, 4, 1, 1}, {-1, 1, -1, 1},
        [](Bench& b, std::vector<ITensor*>& in) {
          INormalizationLayer* n = b.network->addNormalizationV2(*in[0], *in[1], *in[2], 1U << 2 | 1U << 3);
          n->setEpsilon(0);
          n->setNbGroups(2);
          return n;
        });
  (void)d;
  // x / (1 + 1/1 * x^2)^1 with a window of one channel.
  check({{{1, 2, 1, 2}, x}}, {1, 2, 1, 2}, {0.5F, 0.3F, 0.4F, 6 / 37.F},
        [](Bench& b, std::vector<ITensor*>& in) { return b.network->addLRN(*in[0], 1, 1, 1, 1); });
  const float e = std::exp(1.F);
  check({{{1, 3}, {0, 1, 5}}, {{1, 1}, {2}}}, {1, 3}, {1 / (1 + e), e / (1 + e), 0},
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
    check({in}, {2}, want,
          [o = op](Bench& b, std::vector<ITensor*>& t) { return b.network->addReduce(*t[0], o, 1U << 1, false); });
    check({in}, {2, 1}, want,
          [o = op](Bench& b, std::vector<ITensor*>& t) { return b.network->addReduce(*t[0], o, 1U << 1, true); });
  }
  check({in}, {2, 2}, {3, 2, 6, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    ITopKLayer* k = b.network->addTopK(*t[0], TopKOperation::kMAX, 2, 1U << 1);
    EXPECT_EQ(k->getOutput(1)->getType(), DataType::kINT32);
    return k;
  });
  check({in}, {2, 1}, {1, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITopKLayer* k = b.network->addTopK(*t[0], TopKOperation::kMIN, 1, 1U << 1, DataType::kINT64);
    return b.network->addIdentity(*k->getOutput(1));
  });
  static const std::vector<int32_t> axis{1};
  check({in}, {2, 3}, {6, 3, 2, 15, 9, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* a = b.constant<int32_t>({}, axis);
    return b.network->addCumulative(*t[0], *a, CumulativeOperation::kSUM, false, true);
  });
}

TEST(Layers, MatrixProducts) {
  const Floats a{1, 2, 3, 4, 5, 6}, v{1, 0, -1};
  check({{{2, 3}, a}, {{2, 3}, a}}, {2, 2}, {14, 32, 32, 77}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kNONE, *t[1], MatrixOperation::kTRANSPOSE);
  });
  check({{{2, 3}, a}, {{3}, v}}, {2}, {-2, -2}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kNONE, *t[1], MatrixOperation::kVECTOR);
  });
  check({{{3}, v}, {{3, 2}, a}}, {2}, {-4, -4}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kVECTOR, *t[1], MatrixOperation::kNONE);
  });
  check({{{3}, v}, {{3}, v}}, {}, {2}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addMatrixMultiply(*t[0], MatrixOperation::kVECTOR, *t[1], MatrixOperation::kVECTOR);
  });
  check({{{2, 3}, a}, {{3}, v}}, {2}, {-2, -2},
        [](Bench& b, std::vector<ITensor*>& t) { return b.network->addEinsum(t.data(), 2, "ij,j->i"); });
}

TEST(Layers, GatherScatter) {
  const Floats x = iota(6);
  static const std::vector<int32_t> columns{2, 0}, rows{1, 0, 2, 2, 1, 0}, points{0, 1, 1, 2};
  check({{{2, 3}, x}}, {2, 2}, {2, 0, 5, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addGather(*t[0], *b.constant<int32_t>({2}, columns), 1);
  });
  check({{{2, 3}, x}}, {2, 3}, {1, 0, 2, 5, 4, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGatherV2(*t[0], *b.constant<int32_t>({2, 3}, rows), GatherMode::kELEMENT);
    g->setGatherAxis(1);
    return g;
  });
  check({{{2, 3}, x}}, {2}, {1, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addGatherV2(*t[0], *b.constant<int32_t>({2, 2}, points), GatherMode::kND);
  });
  // A batch of two: row i takes column columns[i]; then along a later axis.
  check({{{2, 3}, x}}, {2, 1}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGather(*t[0], *b.constant<int32_t>({2, 1}, columns), 1);
    g->setNbElementWiseDims(1);
    return g;
  });
  check({{{2, 1, 3, 1}, x}}, {2, 1, 1, 1}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGather(*t[0], *b.constant<int32_t>({2, 1}, columns), 2);
    g->setNbElementWiseDims(1);
    return g;
  });
  check({{{2, 3}, x}, {{2, 1}, {10, 20}}}, {2, 3}, {0, 1, 10, 20, 4, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IScatterLayer* s =
        b.network->addScatter(*t[0], *b.constant<int32_t>({2, 1}, columns), *t[1], ScatterMode::kELEMENT);
    s->setAxis(1);
    return s;
  });
  check({{{2, 3}, x}, {{2}, {10, 20}}}, {2, 3}, {0, 10, 2, 3, 4, 20}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addScatter(*t[0], *b.constant<int32_t>({2, 2}, points), *t[1], ScatterMode::kND);
  });
  static const Floats off_on{-1, 1};
  static const std::vector<int32_t> depth{3};
  check({{{2}, {2, 0}}}, {2, 3}, {-1, -1, 1, 1, -1, -1}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* indices = b.network->addCast(*t[0], DataType::kINT32)->getOutput(0);
    return b.network->addOneHot(*indices, *b.constant<float>({2}, off_on), *b.constant<int32_t>({}, depth), -1);
  });
}

TEST(Layers, Shapes) {
  const Floats x = iota(6);
  check({{{2, 3}, x}}, {3, 2}, {0, 3, 1, 4, 2, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setFirstTranspose({{1, 0}});
    return s;
  });
  check({{{2, 3}, x}}, {2, 3, 1}, {0, 2, 4, 1, 3, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setReshapeDimensions(dims({1, -1, 2}));
    s->setSecondTranspose({{2, 1, 0}});
    EXPECT_EQ(list(s->getReshapeDimensions()), (std::vector<int64_t>{1, -1, 2}));
    return s;
  });
  check({{{2, 3}, x}}, {2, 3, 1}, x, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setReshapeDimensions(dims({0, 0, 1}));
    return s;
  });
  check({{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}}, {2, 3}, {1, 3, 4, 2, 5, 6}, [](Bench& b, std::vector<ITensor*>& t) {
    IConcatenationLayer* c = b.network->addConcatenation(t.data(), 2);
    EXPECT_EQ(c->getAxis(), 0);
    c->setAxis(1);
    return c;
  });
  check({{{2, 3}, x}}, {2}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IShapeLayer* s = b.network->addShape(*t[0]);
    EXPECT_EQ(s->getOutput(0)->getType(), DataType::kINT64);
    EXPECT_TRUE(s->getOutput(0)->isShapeTensor());
    return s;
  });
  static const std::vector<int64_t> one{1};
  check({{{2, 3}, x}}, {2, 1, 3}, x, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addUnsqueeze(*t[0], *b.constant<int64_t>({1}, one));
  });
  check({{{2, 1, 3}, x}}, {2, 3}, x, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addSqueeze(*t[0], *b.constant<int64_t>({1}, one));
  });
  check({{{1, 2, 3}, x}}, {1, 2, 4}, {0, 1, 2, 0, 3, 4, 5, 0}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addPaddingNd(*t[0], dims({0, 0}), dims({0, 1}));
  });
  check({{{1, 2, 3}, x}}, {1, 1, 4}, {0, 3, 4, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addPaddingNd(*t[0], dims({-1, 1}), dims({0, 0}));
  });
  static const std::vector<int32_t> lengths{2, 3};
  check({{{2, 3}, x}}, {2, 3}, {1, 0, 2, 5, 4, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IReverseSequenceLayer* r = b.network->addReverseSequence(*t[0], *b.constant<int32_t>({2}, lengths));
    r->setBatchAxis(0);
    r->setSequenceAxis(1);
    return r;
  });
}

TEST(Layers, Slices) {
  const In in{{2, 3}, iota(6)};
  const auto slice = [](std::vector<int64_t> start, std::vector<int64_t> size, std::vector<int64_t> stride,
                        SampleMode mode = SampleMode::kSTRICT_BOUNDS) {
    return [=](Bench& b, std::vector<ITensor*>& t) {
      const auto to_dims = [](const std::vector<int64_t>& v) {
        Dims d{};
        for (int64_t e : v) d.d[d.nbDims++] = e;
        return d;
      };
      ISliceLayer* s = b.network->addSlice(*t[0], to_dims(start), to_dims(size), to_dims(stride));
      s->setMode(mode);
      return s;
    };
  };
  check({in}, {1, 2}, {3, 5}, slice({1, 0}, {1, 2}, {1, 2}));
  check({in}, {2, 3}, {5, 4, 3, 2, 1, 0}, slice({1, 2}, {2, 3}, {-1, -1}));
  check({{{2, 1}, {7, 8}}}, {2, 3}, {7, 7, 7, 8, 8, 8}, slice({0, 0}, {2, 3}, {1, 0}));
  check({in}, {2, 4}, {2, 0, 1, 2, 5, 3, 4, 5}, slice({0, -1}, {2, 4}, {1, 1}, SampleMode::kWRAP));
  check({in}, {2, 5}, {0, 0, 1, 2, 2, 3, 3, 4, 5, 5}, slice({0, -1}, {2, 5}, {1, 1}, SampleMode::kCLAMP));
  check({in}, {2, 5}, {1, 0, 1, 2, 1, 4, 3, 4, 5, 4}, slice({0, -1}, {2, 5}, {1, 1}, SampleMode::kREFLECT));
  check({in}, {3, 4}, {0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}, slice({0, -1}, {3, 4}, {1, 1}, SampleMode::kFILL));
  check({in}, {2, 3}, {0, 2, 0, 0, 5, 3}, slice({0, 4}, {2, 3}, {1, -2}, SampleMode::kFILL));
  static const Floats nine{9};
  check({in}, {2, 4}, {9, 0, 1, 2, 9, 3, 4, 5}, [&](Bench& b, std::vector<ITensor*>& t) {
    ISliceLayer* s = b.network->addSlice(*t[0], dims({0, -1}), dims({2, 4}), dims({1, 1}));
    s->setMode(SampleMode::kFILL);
    s->setInput(4, *b.constant<float>({}, nine));
    return s;
  });
  static const std::vector<int64_t> start{0, 1}, size{2, 2};
  check({in}, {2, 2}, {1, 2, 4, 5}, [&](Bench& b, std::vector<ITensor*>& t) {
    ISliceLayer* s = b.network->addSlice(*t[0], dims({0, 0}), dims({0, 0}), dims({1, 1}));
    s->setInput(1, *b.constant<int64_t>({2}, start));
    s->setInput(2, *b.constant<int64_t>({2}, size));
    return s;
  });
}

TEST(Layers, ConstantsAndFills) {
  static const Floats values{1, 2, 3};
  check({{{3}, {10, 20, 30}}}, {3}, {11, 22, 33}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addElementWise(*t[0], *b.constant<float>({3}, values), ElementWiseOperation::kSUM);
  });
  check({{{4}, {0, 0, 0, 0}}}, {4}, {1, 1.5F, 2, 2.5F}, [](Bench& b, std::vector<ITensor*>& t) {
    IFillLayer* f = b.network->addFill(dims({4}), FillOperation::kLINSPACE, DataType::kFLOAT);
    f->setAlpha(1);
    f->setBeta(0.5);
    return b.network->addElementWise(*t[0], *f->getOutput(0), ElementWiseOperation::kSUM);
  });
  static const std::vector<int32_t> first{5}, steps{10, 1};
  check({{{2, 3}, Floats(6, 0)}}, {2, 3}, {5, 6, 7, 15, 16, 17}, [](Bench& b, std::vector<ITensor*>& t) {
    IFillLayer* f = b.network->addFill(dims({2, 3}), FillOperation::kLINSPACE, DataType::kINT32);
    f->setInput(1, *b.constant<int32_t>({}, first));
    f->setInput(2, *b.constant<int32_t>({2}, steps));
    ITensor* floats = b.network->addCast(*f->getOutput(0), DataType::kFLOAT)->getOutput(0);
    return b.network->addElementWise(*t[0], *floats, ElementWiseOperation::kSUM);
  });
}

TEST(Layers, QuantizeAndBack) {
  static const Floats scale{0.5F}, by_row{0.5F, 1}, blocks{0.5F, 1, 1, 2};
  const Floats x{0.3F, 1.1F, -100, 2};
  check({{{2, 2}, x}}, {2, 2}, {0.5F, 1, -64, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* s = b.constant<float>({}, scale);
    IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
    EXPECT_EQ(q->getOutput(0)->getType(), DataType::kINT8);
    return b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
  });
  check({{{2, 2}, x}}, {2, 2}, {0.5F, 1, -100, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* s = b.constant<float>({2}, by_row);
    IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
    q->setAxis(0);
    IDequantizeLayer* d = b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
    d->setAxis(0);
    return d;
  });
  // Blocks of two along the last axis.
  check({{{2, 4}, {0.3F, 0.6F, 0.6F, 1.6F, 1.4F, 1.6F, 1.1F, 3.1F}}}, {2, 4}, {0.5F, 0.5F, 1, 2, 1, 2, 2, 4},
        [](Bench& b, std::vector<ITensor*>& t) {
          ITensor* s = b.constant<float>({2, 2}, blocks);
          IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
          return b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
        });
}

TEST(Layers, ResizeGridSampleNms) {
  const In image{{1, 1, 2, 2}, {1, 2, 3, 4}};
  check({image}, {1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    IResizeLayer* r = b.network->addResize(*t[0]);
    const float scales[4] = {1, 1, 1, 2};
    r->setScales(scales, 4);
    EXPECT_EQ(r->getScales(0, nullptr), 4);
    return r;
  });
  check({image}, {1, 1, 2, 3}, {1, 1.5F, 2, 3, 3.5F, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    IResizeLayer* r = b.network->addResize(*t[0]);
    r->setOutputDimensions(dims({1, 1, 2, 3}));
    r->setResizeMode(InterpolationMode::kLINEAR);
    r->setCoordinateTransformation(ResizeCoordinateTransformation::kALIGN_CORNERS);
    return r;
  });
  check({image, {{1, 1, 2, 2}, {-1, -1, 0, 0}}}, {1, 1, 1, 2}, {1, 2.5F}, [](Bench& b, std::vector<ITensor*>& t) {
    IGridSampleLayer* g = b.network->addGridSample(*t[0], *t[1]);
    g->setAlignCorners(true);
    return g;
  });
}

TEST(Layers, AttentionAndRotary) {
  // One head, two positions, width 2; scores are q k^T without scaling.
  const Floats q{1, 0, 0, 1}, v{1, 2, 3, 4};
  const float e = std::exp(1.F), p = e / (1 + e), r = 1 / (1 + e);
  check({{{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, v}}, {1, 1, 2, 2},
        {p * 1 + r * 3, p * 2 + r * 4, r * 1 + p * 3, r * 2 + p * 4}, [](Bench& b, std::vector<ITensor*>& t) {
          IAttention* a = b.network->addAttention(*t[0], *t[1], *t[2], AttentionNormalizationOp::kSOFTMAX, false);
          return b.network->addIdentity(*a->getOutput(0));
        });
  check({{{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, v}}, {1, 1, 2, 2}, {1, 2, r * 1 + p * 3, r * 2 + p * 4},
        [](Bench& b, std::vector<ITensor*>& t) {
          IAttention* a = b.network->addAttention(*t[0], *t[1], *t[2], AttentionNormalizationOp::kSOFTMAX, true);
          return b.network->addIdentity(*a->getOutput(0));
        });
  // Rotation by a quarter turn: (a, b) becomes (-b, a).
  static const Floats zero{0, 0}, one{1, 1};
  for (const bool interleaved : {false, true}) {
    const Floats want = interleaved ? Floats{-2, 1, -4, 3} : Floats{-3, -4, 1, 2};
    check({{{1, 1, 1, 4}, {1, 2, 3, 4}}}, {1, 1, 1, 4}, want, [&](Bench& b, std::vector<ITensor*>& t) {
      return b.network->addRotaryEmbedding(*t[0], *b.constant<float>({1, 1, 2}, zero),
                                           *b.constant<float>({1, 1, 2}, one), interleaved, 0);
    });
  }
}

TEST(Layers, SettersAfterQueriesAndChangedInputs) {
  Bench b;
  ITensor* x = b.input("x", {2, 6});
  IShuffleLayer* s = b.network->addShuffle(*x);
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 6}));
  s->setReshapeDimensions(dims({3, 4}));
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 4}));
  IReduceLayer* r = b.network->addReduce(*s->getOutput(0), ReduceOperation::kSUM, 1U << 0, false);
  EXPECT_EQ(list(r->getOutput(0)->getDimensions()), (std::vector<int64_t>{4}));
  s->setReshapeDimensions(dims({4, 3}));
  EXPECT_EQ(list(r->getOutput(0)->getDimensions()), (std::vector<int64_t>{3}));
  r->setInput(0, *x);
  EXPECT_EQ(list(r->getOutput(0)->getDimensions()), (std::vector<int64_t>{6}));
  s->setReshapeDimensions(dims({5, 5}));
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1000}));
  EXPECT_NE(b.logger.take_errors().find("Shuffle"), std::string::npos);
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1000}));
  EXPECT_EQ(b.logger.take_errors(), "") << "a problem is told once";
  x->setDimensions(dims({5, 5}));
  EXPECT_EQ(list(s->getOutput(0)->getDimensions()), (std::vector<int64_t>{5, 5}));
}

}  // namespace
}  // namespace wootz_test
