// Refit of networks with plugins: the weights around them are others, the plugins are as they were.
#include "base/testing.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

uint32_t seed() { return static_cast<uint32_t>(wootz::test_seed()); }

// conv, a plugin that adds up its operands (the second is a weight), and a product; open batch.
struct Between : Bench {
  Between(uint32_t from, std::initializer_list<BuilderFlag> flags, uint32_t addend_from = 0)
      : filter(numbers(4 * 4 * 9, from)),
        bias(numbers(4, from + 1)),
        addend(numbers(64, (addend_from == 0 ? from : addend_from) + 2)),
        matrix(numbers(64 * 5, from + 3)) {
    wootz_config_set_option(config.get(), "timing", "0");
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    IConvolutionLayer* conv =
        network->addConvolutionNd(*input("x", {-1, 4, 4, 4}), 4, dims({3, 3}), weights(filter), weights(bias));
    conv->setPaddingNd(dims({1, 1}));
    conv->setName("conv");
    ITensor* flat = reshaped(network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0));
    IConstantLayer* second = network->addConstant(dims({1, 64}), weights(addend));
    second->setName("addend");
    ITensor* sum = add_script(*this, {flat, second->getOutput(0)})->getOutput(0);
    IConstantLayer* right = network->addConstant(dims({64, 5}), weights(matrix));
    right->setName("right");
    output(network->addMatrixMultiply(*sum, MatrixOperation::kNONE, *right->getOutput(0), MatrixOperation::kNONE), "y");
    profile("x", {1, 4, 4, 4}, {2, 4, 4, 4}, {3, 4, 4, 4});
    profile("x", {5, 4, 4, 4}, {5, 4, 4, 4}, {6, 4, 4, 4});
  }
  ITensor* reshaped(ITensor* x) const {
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setReshapeDimensions(dims({-1, 64}));
    return shuffle->getOutput(0);
  }
  std::vector<float> filter, bias, addend, matrix;
};

void offer(IRefitter& refitter, const Between& from) {
  EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kKERNEL, weights(from.filter)));
  EXPECT_TRUE(refitter.setWeights("conv", WeightsRole::kBIAS, weights(from.bias)));
  EXPECT_TRUE(refitter.setWeights("addend", WeightsRole::kCONSTANT, weights(from.addend)));
  EXPECT_TRUE(refitter.setWeights("right", WeightsRole::kCONSTANT, weights(from.matrix)));
}

class PluginRefit : public Plugins {
 protected:
  PluginRefit() {
    script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                     void* const* outputs, void*, cudaStream_t) {
      const auto *x = static_cast<const float*>(inputs[0]), *a = static_cast<const float*>(inputs[1]);
      for (size_t i = 0; i < volume(in[0].dims); ++i) static_cast<float*>(outputs[0])[i] = x[i] + a[i % 64];
      return 0;
    };
  }
  std::vector<float> infer(IExecutionContext& context, int64_t batch) {
    const std::vector<float> x = numbers(static_cast<size_t>(batch) * 64, 77);
    EXPECT_TRUE(context.setInputShape("x", dims({batch, 4, 4, 4})));
    return run(context, {{"x", x.data()}}, "y");
  }
  std::vector<float> infer(ICudaEngine& engine, int64_t batch = 2) {
    const Owned<IExecutionContext> context(engine.createExecutionContext());
    if (batch > 3) EXPECT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
    return infer(*context, batch);
  }
};
INSTANTIATE_TEST_SUITE_P(On, PluginRefit, testing::ValuesIn(places()), name_of);

TEST_P(PluginRefit, GivesTheBitsOfANewBuild) {
  Between before(seed(), {BuilderFlag::kREFIT}), after(seed() + 10, {BuilderFlag::kREFIT});
  const Owned<ICudaEngine> engine = before.engine(), fresh = after.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  ASSERT_NE(fresh, nullptr) << after.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> first = infer(*context, 2);
  const int made = script.made, attached = script.attached;
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  offer(*refitter, after);
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  EXPECT_EQ(script.made, made) << "the plugins stay";
  EXPECT_EQ(script.attached, attached);
  EXPECT_NE(infer(*context, 2), first);
  for (const int64_t batch : {2, 1, 3}) EXPECT_EQ(infer(*context, batch), infer(*fresh, batch)) << batch;
  for (const int64_t batch : {5, 6}) EXPECT_EQ(infer(*engine, batch), infer(*fresh, batch)) << "another profile's";
  // And back, from a plan of the engine as it is now.
  const Owned<IHostMemory> plan(engine->serialize());
  ASSERT_NE(plan, nullptr) << before.logger.errors();
  const Owned<IRuntime> runtime(createInferRuntime(before.logger));
  const Owned<ICudaEngine> again(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(again, nullptr) << before.logger.errors();
  EXPECT_EQ(infer(*again), infer(*fresh));
  const Owned<IRefitter> back(createInferRefitter(*again, before.logger));
  offer(*back, before);
  ASSERT_TRUE(back->refitCudaEngine()) << before.logger.errors();
  EXPECT_EQ(infer(*again), first);
  EXPECT_EQ(before.logger.errors(), "");
}

// An operand of the plugin alone: nothing but its address or its bytes change.
TEST_P(PluginRefit, WeightsThatThePluginReads) {
  Between before(seed(), {BuilderFlag::kREFIT}), after(seed(), {BuilderFlag::kREFIT}, seed() + 10);
  const Owned<ICudaEngine> engine = before.engine(), fresh = after.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  ASSERT_NE(fresh, nullptr) << after.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> first = infer(*context, 2);
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  EXPECT_TRUE(refitter->setWeights("addend", WeightsRole::kCONSTANT, weights(after.addend)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  const std::vector<float> second = infer(*context, 2);
  EXPECT_NE(second, first);
  EXPECT_EQ(second, infer(*fresh));
}

TEST_P(PluginRefit, StrippedPlansTakeTheirWeights) {
  Between whole(seed(), {BuilderFlag::kREFIT});
  Between bare(seed(), {BuilderFlag::kSTRIP_PLAN, BuilderFlag::kREFIT});
  const Owned<ICudaEngine> fresh = whole.engine(), engine = bare.engine();
  ASSERT_NE(fresh, nullptr) << whole.logger.errors();
  ASSERT_NE(engine, nullptr) << bare.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, bare.logger));
  offer(*refitter, bare);
  ASSERT_TRUE(refitter->refitCudaEngine()) << bare.logger.errors();
  EXPECT_EQ(infer(*engine), infer(*fresh));
}

// Extents by expressions, by a shape input and by running: a refit asks the plugin nothing.
TEST_P(Plugins, RefitWithSizesFoundByRunning) {
  script.outputs = 2;
  script.types = [](DataType* out, const DataType* in) { out[0] = in[0], out[1] = DataType::kINT64; };
  script.supports = [](int32_t, const DynamicPluginTensorDesc*) { return true; };
  script.shapes = [](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    const IDimensionExpr* most = in->d[0];
    out[0].nbDims = 2;
    out[0].d[0] = b.declareSizeTensor(1, *b.operation(DimensionOperation::kCEIL_DIV, *most, *b.constant(2)), *most);
    out[0].d[1] = b.constant(2);
    out[1].nbDims = 0;
    return 0;
  };
  script.work = [](const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* to = static_cast<float*>(outputs[0]);
    int64_t count = 0;
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i) {
      if (x[i] <= 0) continue;
      to[2 * count] = x[i], to[2 * count + 1] = x[i] + 1;
      ++count;
    }
    *static_cast<int64_t*>(outputs[1]) = count;
    return 0;
  };
  const auto make = [](Bench& b, const std::vector<float>& factor, const std::vector<float>& matrix) {
    wootz_config_set_option(b.config.get(), "timing", "0");
    b.config->setFlag(BuilderFlag::kREFIT);
    IConstantLayer* by = b.network->addConstant(dims({1}), weights(factor));
    by->setName("factor");
    ITensor* x =
        b.network->addElementWise(*b.input("x", {-1}), *by->getOutput(0), ElementWiseOperation::kPROD)->getOutput(0);
    IConstantLayer* right = b.network->addConstant(dims({2, 2}), weights(matrix));
    right->setName("right");
    IPluginV3Layer* layer = add_script(b, {x});
    b.output(b.network->addMatrixMultiply(*layer->getOutput(0), MatrixOperation::kNONE, *right->getOutput(0),
                                          MatrixOperation::kNONE),
             "y");
    b.output(layer->getOutput(1), "count");
    b.profile("x", {1}, {10}, {100});
    return b.engine();
  };
  const std::vector<float> factors[] = {{1.5F}, {-0.5F}}, matrices[] = {{1, 2, 3, 4}, {-1, 0.5F, 2, 7}};
  Bench first, second;
  const Owned<ICudaEngine> engine = make(first, factors[0], matrices[0]), fresh = make(second, factors[1], matrices[1]);
  ASSERT_NE(engine, nullptr) << first.logger.errors();
  ASSERT_NE(fresh, nullptr) << second.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, first.logger));
  EXPECT_TRUE(refitter->setWeights("factor", WeightsRole::kCONSTANT, weights(factors[1])));
  EXPECT_TRUE(refitter->setWeights("right", WeightsRole::kCONSTANT, weights(matrices[1])));
  ASSERT_TRUE(refitter->refitCudaEngine()) << first.logger.errors();
  const Array<float> input(numbers(37, seed()));
  std::vector<float> results[2];
  for (const bool refitted : {true, false}) {
    const Owned<IExecutionContext> context((refitted ? engine : fresh)->createExecutionContext());
    ASSERT_TRUE(context->setInputShape("x", dims({37})) && context->setInputTensorAddress("x", input.data()));
    Grower y;
    const Array<int64_t> count(1);
    ASSERT_TRUE(context->setOutputAllocator("y", &y) && context->setTensorAddress("count", count.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << first.logger.errors() << second.logger.errors();
    results[refitted ? 1 : 0] = y.values<float>();
    EXPECT_EQ(y.shape, (std::vector<int64_t>{count.values()[0], 2}));
  }
  EXPECT_EQ(results[0], results[1]);
}

// On the host, the only place where a branch has plugins.
TEST_P(Plugins, RefitInsideABranch) {
  if (!place()->is_host()) return;
  const auto make = [](Bench& b, const std::vector<float>& factor) {
    b.config->setFlag(BuilderFlag::kREFIT);
    ITensor* x = b.input("x", {4});
    IIfConditional* fork = b.network->addIfConditional();
    fork->setCondition(*b.input("big", {}, DataType::kBOOL));
    ITensor* inside = fork->addInput(*x)->getOutput(0);
    IConstantLayer* by = b.network->addConstant(dims({4}), weights(factor));
    by->setName("by");
    ITensor* scaled_input =
        b.network->addElementWise(*inside, *by->getOutput(0), ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* then = add_script(b, {scaled_input}, {}, 5)->getOutput(0);
    ITensor* other = b.network->addActivation(*scaled_input, ActivationType::kRELU)->getOutput(0);
    b.output(fork->addOutput(*then, *other), "y");
    return b.engine();
  };
  const std::vector<float> before{1.5F, 2, 3, 4}, after{-1, 0.5F, 2, 7}, input{-1, 2, -3, 4};
  Bench b;
  const Owned<ICudaEngine> engine = make(b, before);
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  ASSERT_TRUE(refitter->setWeights("by", WeightsRole::kCONSTANT, weights(after))) << b.logger.errors();
  ASSERT_TRUE(refitter->refitCudaEngine()) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const bool yes = true, no = false;
  EXPECT_EQ(run(*context, {{"x", input.data()}, {"big", &yes}}, "y"), (std::vector<float>{5, 5, -30, 140}));
  EXPECT_EQ(run(*context, {{"x", input.data()}, {"big", &no}}, "y"), (std::vector<float>{1, 1, 0, 28}));
}

// The plugin said what its result is for these values, and is not asked again.
TEST_P(Plugins, RefitOfAShapeInputIsRefused) {
  script.shapes = [](const DimsExprs*, const DimsExprs* values, DimsExprs* out, IExprBuilder&) {
    return *out = values[0], 0;
  };
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc* out, const void* const*, void* const* outputs,
                   void*, cudaStream_t) {
    std::fill_n(static_cast<float*>(outputs[0]), volume(out[0].dims), 7.F);
    return 0;
  };
  const std::vector<int64_t> extents{3, 2}, others{2, 2};
  Bench b;
  b.config->setFlag(BuilderFlag::kREFIT);
  ITensor* x = b.input("x", {4});
  IConstantLayer* shape = b.network->addConstant(dims({2}), weights(extents));
  shape->setName("shape");
  b.output(add_script(b, {x}, {shape->getOutput(0)}), "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
  ASSERT_TRUE(refitter->setWeights("shape", WeightsRole::kCONSTANT, weights(others))) << b.logger.errors();
  EXPECT_FALSE(refitter->refitCudaEngine());
  const std::string why = b.logger.take_errors();
  for (const char* part : {"the_plugin", "'Script' was not asked", "[2,2]"})
    EXPECT_NE(why.find(part), std::string::npos) << part << ": " << why;
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input(4, 1.F);
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), std::vector<float>(6, 7.F));
}

}  // namespace
}  // namespace wootz_test
