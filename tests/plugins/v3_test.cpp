// Networks with V3 plugins: what their results are.
#include "base/testing.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

INSTANTIATE_TEST_SUITE_P(On, Plugins, testing::ValuesIn(places()), name_of);

uint32_t seed() { return static_cast<uint32_t>(wootz::test_seed()); }

TEST_P(Plugins, ComputesBetweenOtherLayers) {
  Bench b;
  ITensor* x = b.input("x", {2, 3});
  const std::vector<float> one_half{0.5F};
  ITensor* factor = b.constant<float>({1, 1}, one_half);
  ITensor* half = b.network->addElementWise(*x, *factor, ElementWiseOperation::kPROD)->getOutput(0);
  IPluginV3Layer* layer = add_script(b, {half}, {}, 3);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3}));
  b.output(b.network->addActivation(*layer->getOutput(0), ActivationType::kRELU), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(script.created_as, "the_plugin");
  EXPECT_EQ(script.created_with, (std::vector<std::string>{"factor=3.000000,"}));
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_NE(context, nullptr) << b.logger.errors();
  const std::vector<float> input = numbers(6, seed());
  std::vector<float> want = scaled(input, 1.5F);
  for (float& v : want) v = std::max(v, 0.F);
  expect_near(run(*context, {{"x", input.data()}}, "y"), want);
  const int changes = script.shape_changes;
  expect_near(run(*context, {{"x", input.data()}}, "y"), want);
  EXPECT_EQ(script.shape_changes, changes) << "the shapes did not change";
  EXPECT_EQ(b.logger.errors(), "");
}

TEST_P(Plugins, ShapesAreExpressionsOverDynamicInputs) {
  // [a, b] to [max(a, b) * 2 + min(a, 3), ceil(b / 2) - floor(b / 4), a == b, a < b]: every operation.
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    const IDimensionExpr &a = *in->d[0], &c = *in->d[1];
    const auto op = [&](DimensionOperation o, const IDimensionExpr& l, const IDimensionExpr& r) {
      return b.operation(o, l, r);
    };
    const auto num = [&](int64_t v) { return b.constant(v); };
    if (a.isConstant() || !num(3)->isConstant() || num(3)->getConstantValue() != 3 || a.getConstantValue() != INT64_MIN)
      return 1;
    using enum DimensionOperation;
    out->nbDims = 3;
    out->d[0] = op(kSUM, *op(kPROD, *op(kMAX, a, c), *num(2)), *op(kMIN, a, *num(3)));
    out->d[1] = op(kSUB, *op(kCEIL_DIV, c, *num(2)), *op(kFLOOR_DIV, c, *num(4)));
    out->d[2] = op(kSUM, *op(kEQUAL, a, c), *op(kLESS, a, c));
    return b.operation(static_cast<DimensionOperation>(99), a, c) == nullptr ? 0 : 2;
  };
  // The unknown operation is refused, and so is the shape.
  Bench refused;
  IPluginV3Layer* bad = add_script(refused, {refused.input("x", {-1, -1})});
  EXPECT_LT(bad->getOutput(0)->getDimensions().nbDims, 0);
  EXPECT_NE(refused.logger.errors().find("operation 99"), std::string::npos) << refused.logger.errors();

  const auto shapes = script.shapes;
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    const IDimensionExpr &a = *in->d[0], &c = *in->d[1];
    using enum DimensionOperation;
    out->nbDims = 3;
    out->d[0] = b.operation(kSUM, *b.operation(kPROD, *b.operation(kMAX, a, c), *b.constant(2)),
                            *b.operation(kMIN, a, *b.constant(3)));
    out->d[1] =
        b.operation(kSUB, *b.operation(kCEIL_DIV, c, *b.constant(2)), *b.operation(kFLOOR_DIV, c, *b.constant(4)));
    out->d[2] = b.operation(kSUM, *b.operation(kEQUAL, a, c), *b.operation(kLESS, a, c));
    return 0;
  };
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc* out, const void* const*, void* const* outputs,
                   void*, cudaStream_t) {
    std::fill_n(static_cast<float*>(outputs[0]), volume(out[0].dims), 7.F);
    return 0;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {-1, -1})}), "y");
  b.profile("x", {1, 2}, {4, 8}, {16, 16});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(script.min, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(script.max, (std::vector<int64_t>{16, 16}));
  EXPECT_EQ(script.desc_dims, (std::vector<int64_t>{-1, -1}));
  Owned<IExecutionContext> context(engine->createExecutionContext());
  for (const auto& [a, c] : {std::pair<int64_t, int64_t>{2, 9}, {16, 4}, {5, 5}}) {
    ASSERT_TRUE(context->setInputShape("x", dims({a, c})));
    const std::vector<float> input(static_cast<size_t>(a * c), 1.F);
    const int changes = script.shape_changes;
    const std::vector<float> got = run(*context, {{"x", input.data()}}, "y");
    const std::vector<int64_t> want{std::max(a, c) * 2 + std::min<int64_t>(a, 3), (c + 1) / 2 - c / 4,
                                    int64_t{a == c} + int64_t{a < c}};
    EXPECT_EQ(list(context->getTensorShape("y")), want);
    for (const float v : got) EXPECT_EQ(v, 7.F);
    EXPECT_GT(script.shape_changes, changes) << a << " " << c;
  }
  EXPECT_EQ(b.logger.errors(), "");
}

TEST_P(Plugins, ShapeInputsDecideTheOutput) {
  script.shapes = [](const DimsExprs* in, const DimsExprs* values, DimsExprs* out, IExprBuilder& b) {
    out->nbDims = 2;
    out->d[0] = values[0].d[0];
    out->d[1] = b.operation(DimensionOperation::kPROD, *values[0].d[1], *in->d[0]);
    return 0;
  };
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc* out, const void* const* inputs,
                   void* const* outputs, void*, cudaStream_t) {
    std::fill_n(static_cast<float*>(outputs[0]), volume(out[0].dims), *static_cast<const float*>(inputs[0]));
    return 0;
  };
  Bench b;
  ITensor* x = b.input("x", {3});
  ITensor* shape = b.input("shape", {2}, DataType::kINT64);
  b.output(add_script(b, {x}, {shape}), "y");
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  const int64_t least[] = {1, 1}, usual[] = {2, 2}, most[] = {8, 8};
  ASSERT_TRUE(p->setShapeValuesV2("shape", OptProfileSelector::kMIN, least, 2));
  ASSERT_TRUE(p->setShapeValuesV2("shape", OptProfileSelector::kOPT, usual, 2));
  ASSERT_TRUE(p->setShapeValuesV2("shape", OptProfileSelector::kMAX, most, 2));
  ASSERT_GE(b.config->addOptimizationProfile(p), 0);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const int64_t wanted[] = {5, 2};
  const std::vector<float> input{4, 5, 6};
  EXPECT_EQ(run(*context, {{"x", input.data()}, {"shape", wanted}}, "y"), std::vector<float>(30, 4.F));
  EXPECT_EQ(list(context->getTensorShape("y")), (std::vector<int64_t>{5, 6}));
}

// The positive elements, and how many they are.
void select_positive(Script& script) {
  script.outputs = 2;
  script.types = [](DataType* out, const DataType* in) { out[0] = in[0], out[1] = DataType::kINT64; };
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    const IDimensionExpr* half = b.operation(DimensionOperation::kFLOOR_DIV, *in->d[0], *b.constant(2));
    const IDimensionExpr* count = b.declareSizeTensor(1, *half, *in->d[0]);
    if (!count->isSizeTensor() || half->isSizeTensor() || count->isConstant()) return 1;
    out[0].nbDims = 2;
    out[0].d[0] = count;
    out[0].d[1] = b.constant(1);
    out[1].nbDims = 0;
    return 0;
  };
  script.supports = [](int32_t pos, const DynamicPluginTensorDesc* all) {
    return all[pos].desc.format == TensorFormat::kLINEAR &&
           all[pos].desc.type == (pos == 2 ? DataType::kINT64 : DataType::kFLOAT);
  };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    const auto* x = static_cast<const float*>(inputs[0]);
    int64_t count = 0;
    for (size_t i = 0; i < volume(in[0].dims); ++i)
      if (x[i] > 0) static_cast<float*>(outputs[0])[count++] = x[i];
    *static_cast<int64_t*>(outputs[1]) = count;
    return 0;
  };
}

TEST_P(Plugins, SizesFoundByRunning) {
  select_positive(script);
  Bench b;
  IPluginV3Layer* layer = add_script(b, {b.input("x", {-1})});
  ITensor* doubled =
      b.network->addElementWise(*layer->getOutput(0), *layer->getOutput(0), ElementWiseOperation::kSUM)->getOutput(0);
  b.output(doubled, "y");
  b.output(layer->getOutput(1), "count");
  b.profile("x", {1}, {10}, {100});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  for (const size_t length : {size_t{7}, size_t{100}, size_t{1}}) {
    const std::vector<float> input = numbers(length, seed() + static_cast<uint32_t>(length));
    std::vector<float> want;
    for (const float v : input)
      if (v > 0) want.push_back(2 * v);
    ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(length)})));
    const Array<float> x(input);
    ASSERT_TRUE(context->setInputTensorAddress("x", x.data()));
    Grower y;
    const Array<int64_t> count(1);
    ASSERT_TRUE(context->setOutputAllocator("y", &y));
    ASSERT_TRUE(context->setTensorAddress("count", count.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
    EXPECT_EQ(count.values()[0], static_cast<int64_t>(want.size()));
    EXPECT_EQ(y.shape, (std::vector<int64_t>{static_cast<int64_t>(want.size()), 1}));
    EXPECT_EQ(y.values<float>(), want);
  }
  EXPECT_EQ(b.logger.errors(), "");
  // More than was declared.
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc*, const void* const*, void* const* outputs, void*,
                   cudaStream_t) {
    *static_cast<int64_t*>(outputs[1]) = 2;
    return 0;
  };
  const Array<float> one(1);
  const Array<int64_t> two(1);
  Grower none;
  ASSERT_TRUE(context->setTensorAddress("x", one.data()) && context->setTensorAddress("count", two.data()));
  ASSERT_TRUE(context->setOutputAllocator("y", &none));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  const std::string errors = b.logger.take_errors();
  EXPECT_NE(errors.find("size of 2"), std::string::npos) << errors;
  EXPECT_NE(errors.find("the_plugin"), std::string::npos) << errors;
}

TEST_P(Plugins, OutputOverwritesItsInput) {
  script.aliases = {0};
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    if (inputs[0] != outputs[0]) return 1;
    static_cast<float*>(outputs[0])[0] += 100;
    return volume(in[0].dims) == 4 ? 0 : 2;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {4})}), "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.take_errors().find("kALIASED_PLUGIN_IO_10_03"), std::string::npos);
  b.config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_STREQ(engine->getAliasedInputTensor("y"), "x");
  EXPECT_EQ(engine->getAliasedInputTensor("x"), nullptr);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> cache{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", cache.data()}}, "y"), (std::vector<float>{101, 2, 3, 4}));
  EXPECT_EQ(cache[0], 1.F) << "elsewhere, it is a copy";
  const Array<float> x(cache);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", x.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(x.values(), (std::vector<float>{201, 2, 3, 4}));
}

// Results of two more shapes: refused where the alias cannot hold.
TEST_P(Plugins, AliasOfAnotherShapeIsRefused) {
  script.aliases = {0};
  script.shapes = [](const DimsExprs*, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    out->nbDims = 1;
    out->d[0] = b.constant(9);
    return 0;
  };
  Bench b;
  b.output(add_script(b, {b.input("x", {4})}), "y");
  b.config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  Owned<ICudaEngine> engine = b.engine();
  if (engine != nullptr) {
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const Array<float> input(4), output(9);
    context->setTensorAddress("x", input.data());
    context->setTensorAddress("y", output.data());
    EXPECT_FALSE(context->enqueueV3(nullptr));
  }
  EXPECT_NE(b.logger.take_errors().find("is to overwrite input 0"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
