// Quick plugins that run themselves, on the processor; and what is refused of both forms.
#include "plugins/quick_plugin.h"

namespace wootz_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(QuickPlugins, RunThemselvesWithTheirStrides) {
  quick.tactics = {7};
  Bench b;
  ITensor* x = b.input("x", {-1, 3, 2});
  ILayer* layer = add(b, x, 3);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  b.output(b.network->addActivation(*layer->getOutput(0), ActivationType::kRELU), "y");
  b.profile("x", {1, 3, 2}, {2, 3, 2}, {9, 3, 2});
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(quick.phase, TensorRTPhase::kRUNTIME);
  EXPECT_EQ(quick.request, QuickPluginCreationRequest::kSTRICT_JIT);
  EXPECT_EQ(quick.space, "tests");
  Owned<IExecutionContext> first(engine->createExecutionContext()), second(engine->createExecutionContext());
  for (const int64_t rows : {4, 1, 9})
    for (IExecutionContext* context : {first.get(), second.get()}) {
      const std::vector<float> input = numbers(static_cast<size_t>(rows) * 6, static_cast<uint32_t>(rows));
      std::vector<float> want = scaled(input, 3);
      for (float& v : want) v = std::max(0.F, v);
      ASSERT_TRUE(context->setInputShape("x", dims({rows, 3, 2})));
      EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), want);
      EXPECT_EQ(quick.strides, (std::vector<int64_t>{6, 2, 1}));
      EXPECT_EQ(quick.tactic, 7);
    }
}

TEST_F(QuickPlugins, TakeTheFormatThatTheySupport) {
  quick.format = TensorFormat::kHWC;
  Bench b;
  b.output(add(b, b.input("x", {1, 3, 2, 5}), 2), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input = numbers(30, 4);
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 2)) << "in its own order before and after";
  EXPECT_EQ(quick.strides, (std::vector<int64_t>{30, 1, 15, 3}));
}

TEST_F(QuickPlugins, WhatFailsIsNamed) {
  for (const char* callback :
       {"getOutputDataTypes", "getOutputShapes", "configurePlugin", "getNbSupportedFormatCombinations",
        "getFieldsToSerialize", "getCapabilityInterface", "createPlugin"}) {
    SCOPED_TRACE(callback);
    quick.fails = callback;
    Bench b;
    ILayer* const layer = add(b, b.input("x", {4}), 2);
    const bool late = layer != nullptr;
    if (late) {
      b.output(layer, "y");
      EXPECT_EQ(b.engine(), nullptr);
    }
    const std::string why = b.logger.take_errors();
    EXPECT_TRUE(has(why, late ? "the_plugin" : "addPluginV3")) << why;
    if (std::string(callback).find("Capability") == std::string::npos &&
        std::string(callback).find("Combinations") == std::string::npos)
      EXPECT_TRUE(has(why, callback)) << why;
    quick.fails.clear();
  }
  Bench b;
  b.output(add(b, b.input("x", {4}), 2), "y");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  quick.fails = "enqueue";
  std::vector<float> x(4), y(4);
  EXPECT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
  EXPECT_FALSE(context->enqueueV3(nullptr));
  EXPECT_TRUE(has(b.logger.take_errors(), "IPluginV3QuickRuntime::enqueue answered 28"));
}

TEST_F(QuickPlugins, KindsTellTheForms) {
  EXPECT_STREQ(creator.getInterfaceInfo().kind, "PLUGIN CREATOR_V3QUICK");
  EXPECT_STREQ(creator.getPluginName(), "Quick");
  EXPECT_EQ(getPluginRegistry()->getCreator("Quick", "1", "tests"), &creator);
  EXPECT_EQ(getPluginRegistry()->getCreator("Quick", "2", "tests"), nullptr);
  QuickPlugin plugin(1);
  EXPECT_STREQ(static_cast<IPluginV3QuickCore&>(plugin).getInterfaceInfo().kind, "PLUGIN_V3QUICK_CORE");
  EXPECT_STREQ(static_cast<IPluginV3QuickRuntime&>(plugin).getInterfaceInfo().kind, "PLUGIN_V3QUICK_RUNTIME");
  EXPECT_STREQ(static_cast<IPluginV3QuickAOTBuild&>(plugin).getInterfaceInfo().kind, "PLUGIN_V3QUICKAOT_BUILD");
  IPluginV3QuickBuild& build = plugin.jit();
  EXPECT_STREQ(build.getInterfaceInfo().kind, "PLUGIN_V3QUICK_BUILD");
}

TEST_F(QuickPlugins, OutputsOverwriteTheirInputs) {
  quick.alias = 0;
  Bench b;
  b.output(add(b, b.input("x", {4}), 2), "y");
  EXPECT_EQ(b.engine(), nullptr) << "not without the preview feature";
  EXPECT_TRUE(has(b.logger.take_errors(), "kALIASED_PLUGIN_IO_10_03"));
  b.config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> values{1, 2, 3, 4};
  ASSERT_TRUE(context->setTensorAddress("x", values.data()) && context->setTensorAddress("y", values.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_STREQ(engine->getAliasedInputTensor("y"), "x");
}

TEST_F(QuickPlugins, AKernelForAGpuIsRefusedOnTheProcessor) {
  quick.ahead = true;
  Bench b;
  b.output(add(b, b.input("x", {4}), 2), "y");
  EXPECT_EQ(b.builder->buildSerializedNetwork(*b.network, *b.config), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_TRUE(has(why, "'the_plugin'") && has(why, "IPluginV3QuickAOTBuild") && has(why, "'cpu'")) << why;
}

}  // namespace
}  // namespace wootz_test
