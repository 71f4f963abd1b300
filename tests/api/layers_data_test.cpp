// Layers that move, make or choose elements: each made by the API and compared with numbers worked out by hand.
#include "api/layer_check.h"

namespace wootz_test {
namespace {

TEST(Layers, GatherScatter) {
  const Floats x = iota(6);
  static const std::vector<int32_t> columns{2, 0}, rows{1, 0, 2, 2, 1, 0}, points{0, 1, 1, 2};
  check_layer({{{2, 3}, x}}, {2, 2}, {2, 0, 5, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addGather(*t[0], *b.constant<int32_t>({2}, columns), 1);
  });
  check_layer({{{2, 3}, x}}, {2, 3}, {1, 0, 2, 5, 4, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGatherV2(*t[0], *b.constant<int32_t>({2, 3}, rows), GatherMode::kELEMENT);
    g->setGatherAxis(1);
    return g;
  });
  check_layer({{{2, 3}, x}}, {2}, {1, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addGatherV2(*t[0], *b.constant<int32_t>({2, 2}, points), GatherMode::kND);
  });
  // A batch of two: row i takes column columns[i]; then along a later axis.
  check_layer({{{2, 3}, x}}, {2, 1}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGather(*t[0], *b.constant<int32_t>({2, 1}, columns), 1);
    g->setNbElementWiseDims(1);
    return g;
  });
  check_layer({{{2, 1, 3, 1}, x}}, {2, 1, 1, 1}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IGatherLayer* g = b.network->addGather(*t[0], *b.constant<int32_t>({2, 1}, columns), 2);
    g->setNbElementWiseDims(1);
    return g;
  });
  check_layer({{{2, 3}, x}, {{2, 1}, {10, 20}}}, {2, 3}, {0, 1, 10, 20, 4, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IScatterLayer* s =
        b.network->addScatter(*t[0], *b.constant<int32_t>({2, 1}, columns), *t[1], ScatterMode::kELEMENT);
    s->setAxis(1);
    return s;
  });
  check_layer({{{2, 3}, x}, {{2}, {10, 20}}}, {2, 3}, {0, 10, 2, 3, 4, 20}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addScatter(*t[0], *b.constant<int32_t>({2, 2}, points), *t[1], ScatterMode::kND);
  });
  static const Floats off_on{-1, 1};
  static const std::vector<int32_t> depth{3};
  check_layer({{{2}, {2, 0}}}, {2, 3}, {-1, -1, 1, 1, -1, -1}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* indices = b.network->addCast(*t[0], DataType::kINT32)->getOutput(0);
    return b.network->addOneHot(*indices, *b.constant<float>({2}, off_on), *b.constant<int32_t>({}, depth), -1);
  });
}

TEST(Layers, Shapes) {
  const Floats x = iota(6);
  check_layer({{{2, 3}, x}}, {3, 2}, {0, 3, 1, 4, 2, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setFirstTranspose({{1, 0}});
    return s;
  });
  check_layer({{{2, 3}, x}}, {2, 3, 1}, {0, 2, 4, 1, 3, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setReshapeDimensions(dims({1, -1, 2}));
    s->setSecondTranspose({{2, 1, 0}});
    EXPECT_EQ(list(s->getReshapeDimensions()), (std::vector<int64_t>{1, -1, 2}));
    return s;
  });
  check_layer({{{2, 3}, x}}, {2, 3, 1}, x, [](Bench& b, std::vector<ITensor*>& t) {
    IShuffleLayer* s = b.network->addShuffle(*t[0]);
    s->setReshapeDimensions(dims({0, 0, 1}));
    return s;
  });
  check_layer({{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}}, {2, 3}, {1, 3, 4, 2, 5, 6},
              [](Bench& b, std::vector<ITensor*>& t) {
                IConcatenationLayer* c = b.network->addConcatenation(t.data(), 2);
                EXPECT_EQ(c->getAxis(), 0);
                c->setAxis(1);
                return c;
              });
  check_layer({{{2, 3}, x}}, {2}, {2, 3}, [](Bench& b, std::vector<ITensor*>& t) {
    IShapeLayer* s = b.network->addShape(*t[0]);
    EXPECT_EQ(s->getOutput(0)->getType(), DataType::kINT64);
    EXPECT_TRUE(s->getOutput(0)->isShapeTensor());
    return s;
  });
  static const std::vector<int64_t> one{1};
  check_layer({{{2, 3}, x}}, {2, 1, 3}, x, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addUnsqueeze(*t[0], *b.constant<int64_t>({1}, one));
  });
  check_layer({{{2, 1, 3}, x}}, {2, 3}, x, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addSqueeze(*t[0], *b.constant<int64_t>({1}, one));
  });
  check_layer({{{1, 2, 3}, x}}, {1, 2, 4}, {0, 1, 2, 0, 3, 4, 5, 0}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addPaddingNd(*t[0], dims({0, 0}), dims({0, 1}));
  });
  check_layer({{{1, 2, 3}, x}}, {1, 1, 4}, {0, 3, 4, 5}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addPaddingNd(*t[0], dims({-1, 1}), dims({0, 0}));
  });
  static const std::vector<int32_t> lengths{2, 3};
  check_layer({{{2, 3}, x}}, {2, 3}, {1, 0, 2, 5, 4, 3}, [](Bench& b, std::vector<ITensor*>& t) {
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
  check_layer({in}, {1, 2}, {3, 5}, slice({1, 0}, {1, 2}, {1, 2}));
  check_layer({in}, {2, 3}, {5, 4, 3, 2, 1, 0}, slice({1, 2}, {2, 3}, {-1, -1}));
  check_layer({{{2, 1}, {7, 8}}}, {2, 3}, {7, 7, 7, 8, 8, 8}, slice({0, 0}, {2, 3}, {1, 0}));
  check_layer({in}, {2, 4}, {2, 0, 1, 2, 5, 3, 4, 5}, slice({0, -1}, {2, 4}, {1, 1}, SampleMode::kWRAP));
  check_layer({in}, {2, 5}, {0, 0, 1, 2, 2, 3, 3, 4, 5, 5}, slice({0, -1}, {2, 5}, {1, 1}, SampleMode::kCLAMP));
  check_layer({in}, {2, 5}, {1, 0, 1, 2, 1, 4, 3, 4, 5, 4}, slice({0, -1}, {2, 5}, {1, 1}, SampleMode::kREFLECT));
  check_layer({in}, {3, 4}, {0, 0, 1, 2, 0, 3, 4, 5, 0, 0, 0, 0}, slice({0, -1}, {3, 4}, {1, 1}, SampleMode::kFILL));
  check_layer({in}, {2, 3}, {0, 2, 0, 0, 5, 3}, slice({0, 4}, {2, 3}, {1, -2}, SampleMode::kFILL));
  static const Floats nine{9};
  check_layer({in}, {2, 4}, {9, 0, 1, 2, 9, 3, 4, 5}, [&](Bench& b, std::vector<ITensor*>& t) {
    ISliceLayer* s = b.network->addSlice(*t[0], dims({0, -1}), dims({2, 4}), dims({1, 1}));
    s->setMode(SampleMode::kFILL);
    s->setInput(4, *b.constant<float>({}, nine));
    return s;
  });
  static const std::vector<int64_t> start{0, 1}, size{2, 2};
  check_layer({in}, {2, 2}, {1, 2, 4, 5}, [&](Bench& b, std::vector<ITensor*>& t) {
    ISliceLayer* s = b.network->addSlice(*t[0], dims({0, 0}), dims({0, 0}), dims({1, 1}));
    s->setInput(1, *b.constant<int64_t>({2}, start));
    s->setInput(2, *b.constant<int64_t>({2}, size));
    return s;
  });
}

TEST(Layers, ConstantsAndFills) {
  static const Floats values{1, 2, 3};
  check_layer({{{3}, {10, 20, 30}}}, {3}, {11, 22, 33}, [](Bench& b, std::vector<ITensor*>& t) {
    return b.network->addElementWise(*t[0], *b.constant<float>({3}, values), ElementWiseOperation::kSUM);
  });
  check_layer({{{4}, {0, 0, 0, 0}}}, {4}, {1, 1.5F, 2, 2.5F}, [](Bench& b, std::vector<ITensor*>& t) {
    IFillLayer* f = b.network->addFill(dims({4}), FillOperation::kLINSPACE, DataType::kFLOAT);
    f->setAlpha(1);
    f->setBeta(0.5);
    return b.network->addElementWise(*t[0], *f->getOutput(0), ElementWiseOperation::kSUM);
  });
  static const std::vector<int32_t> first{5}, steps{10, 1};
  check_layer({{{2, 3}, Floats(6, 0)}}, {2, 3}, {5, 6, 7, 15, 16, 17}, [](Bench& b, std::vector<ITensor*>& t) {
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
  check_layer({{{2, 2}, x}}, {2, 2}, {0.5F, 1, -64, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* s = b.constant<float>({}, scale);
    IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
    EXPECT_EQ(q->getOutput(0)->getType(), DataType::kINT8);
    return b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
  });
  check_layer({{{2, 2}, x}}, {2, 2}, {0.5F, 1, -100, 2}, [](Bench& b, std::vector<ITensor*>& t) {
    ITensor* s = b.constant<float>({2}, by_row);
    IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
    q->setAxis(0);
    IDequantizeLayer* d = b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
    d->setAxis(0);
    return d;
  });
  // Blocks of two along the last axis.
  check_layer({{{2, 4}, {0.3F, 0.6F, 0.6F, 1.6F, 1.4F, 1.6F, 1.1F, 3.1F}}}, {2, 4}, {0.5F, 0.5F, 1, 2, 1, 2, 2, 4},
              [](Bench& b, std::vector<ITensor*>& t) {
                ITensor* s = b.constant<float>({2, 2}, blocks);
                IQuantizeLayer* q = b.network->addQuantize(*t[0], *s, DataType::kINT8);
                return b.network->addDequantize(*q->getOutput(0), *s, DataType::kFLOAT);
              });
}

TEST(Layers, ResizeGridSampleNms) {
  const In image{{1, 1, 2, 2}, {1, 2, 3, 4}};
  check_layer({image}, {1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    IResizeLayer* r = b.network->addResize(*t[0]);
    const float scales[4] = {1, 1, 1, 2};
    r->setScales(scales, 4);
    EXPECT_EQ(r->getScales(0, nullptr), 4);
    return r;
  });
  check_layer({image}, {1, 1, 2, 3}, {1, 1.5F, 2, 3, 3.5F, 4}, [](Bench& b, std::vector<ITensor*>& t) {
    IResizeLayer* r = b.network->addResize(*t[0]);
    r->setOutputDimensions(dims({1, 1, 2, 3}));
    r->setResizeMode(InterpolationMode::kLINEAR);
    r->setCoordinateTransformation(ResizeCoordinateTransformation::kALIGN_CORNERS);
    return r;
  });
  check_layer({image, {{1, 1, 2, 2}, {-1, -1, 0, 0}}}, {1, 1, 1, 2}, {1, 2.5F}, [](Bench& b, std::vector<ITensor*>& t) {
    IGridSampleLayer* g = b.network->addGridSample(*t[0], *t[1]);
    g->setAlignCorners(true);
    return g;
  });
}

TEST(Layers, AttentionAndRotary) {
  // One head, two positions, width 2; scores are q k^T without scaling.
  const Floats q{1, 0, 0, 1}, v{1, 2, 3, 4};
  const float e = std::exp(1.F), p = e / (1 + e), r = 1 / (1 + e);
  check_layer({{{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, v}}, {1, 1, 2, 2},
              {p * 1 + r * 3, p * 2 + r * 4, r * 1 + p * 3, r * 2 + p * 4}, [](Bench& b, std::vector<ITensor*>& t) {
                IAttention* a = b.network->addAttention(*t[0], *t[1], *t[2], AttentionNormalizationOp::kSOFTMAX, false);
                return b.network->addIdentity(*a->getOutput(0));
              });
  check_layer({{{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, q}, {{1, 1, 2, 2}, v}}, {1, 1, 2, 2},
              {1, 2, r * 1 + p * 3, r * 2 + p * 4}, [](Bench& b, std::vector<ITensor*>& t) {
                IAttention* a = b.network->addAttention(*t[0], *t[1], *t[2], AttentionNormalizationOp::kSOFTMAX, true);
                return b.network->addIdentity(*a->getOutput(0));
              });
  // Rotation by a quarter turn: (a, b) becomes (-b, a).
  static const Floats zero{0, 0}, one{1, 1};
  for (const bool interleaved : {false, true}) {
    const Floats want = interleaved ? Floats{-2, 1, -4, 3} : Floats{-3, -4, 1, 2};
    check_layer({{{1, 1, 1, 4}, {1, 2, 3, 4}}}, {1, 1, 1, 4}, want, [&](Bench& b, std::vector<ITensor*>& t) {
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
