// Flags and pools that no other test sets: each changes a build, or the log says what becomes of it.
#include "api/dense.h"

namespace wootz_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Flags, WithoutATimingCacheNothingIsRemembered) {
  for (const bool disabled : {false, true}) {
    Dense b;
    wootz_config_set_option(b.config.get(), "timing", "1");
    const Owned<ITimingCache> cache(b.config->createTimingCache(nullptr, 0));
    ASSERT_TRUE(b.config->setTimingCache(*cache, false));
    if (disabled) b.config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
    ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
    EXPECT_EQ(cache->queryKeys(nullptr, 0) == 0, disabled);
  }
}

TEST(Flags, NothingIsCompiledForTheHost) {
  Dense b;
  b.config->setFlag(BuilderFlag::kDISABLE_COMPILATION_CACHE);
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.infos(), "BuilderFlag::kDISABLE_COMPILATION_CACHE: nothing is compiled for the host"));
}

TEST(Flags, TheHostsTacticsTakeNoSharedMemory) {
  Dense b;
  b.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY, 4096);
  EXPECT_EQ(b.config->getMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY), 4096u);
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.infos(), "MemoryPoolType::kTACTIC_SHARED_MEMORY: no tactic of the host's"));
}

// Layers that span devices are there whatever is set: here one whose only rank keeps what it has.
TEST(Flags, LayersMaySpanDevicesAlways) {
  for (const bool on : {false, true}) {
    Bench b;
    b.config->setPreviewFeature(PreviewFeature::kMULTIDEVICE_RUNTIME_10_16, on);
    EXPECT_EQ(b.config->getPreviewFeature(PreviewFeature::kMULTIDEVICE_RUNTIME_10_16), on);
    b.output(b.network->addDistCollective(*b.input("x", {4}), CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM,
                                          -1, nullptr, 0),
             "y");
    ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
    EXPECT_EQ(b.logger.warnings(), "");
  }
}

// The feature is on whatever is set: a context takes the memory of its shapes.
TEST(Flags, MemoryFollowsShapesAlways) {
  for (const bool on : {false, true}) {
    Dense b;
    b.config->setPreviewFeature(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10, on);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    EXPECT_EQ(b.logger.warnings(), "");
    const Owned<IExecutionContext> context(
        engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
    const auto memory = [&](int64_t batch) {
      EXPECT_TRUE(context->setInputShape("x", dims({batch, 8})));
      return context->updateDeviceMemorySizeForShapes();
    };
    EXPECT_LT(memory(1), memory(64));
  }
}

TEST(Flags, ContextsMayTakeTheirMemoryByProfile) {
  Dense b;
  const Owned<ICudaEngine> engine = b.engine();
  const Owned<IExecutionContext> context(
      engine->createExecutionContext(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE));
  ASSERT_NE(context, nullptr) << b.logger.errors();
  EXPECT_TRUE(context->setInputShape("x", dims({4, 8})));
  const Floats x = rows(4, 1);
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

TEST(Flags, ThereIsNoDlaToAdaptModelsTo) {
  using nvonnxparser::OnnxParserFlag;
  const struct {
    OnnxParserFlag flag;
    const char* name;
  } flags[] = {{OnnxParserFlag::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA,
                "OnnxParserFlag::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA: "},
               {OnnxParserFlag::kREPORT_CAPABILITY_DLA, "OnnxParserFlag::kREPORT_CAPABILITY_DLA: "},
               {OnnxParserFlag::kADJUST_FOR_DLA, "OnnxParserFlag::kADJUST_FOR_DLA: "}};
  for (const auto& f : flags) {
    Bench b;
    const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
    parser->setFlag(f.flag);
    EXPECT_TRUE(has(b.logger.warnings(), f.name)) << b.logger.warnings();
  }
}

TEST(Flags, LayersAreTiledAtNoLevel) {
  Dense b;
  for (const auto level :
       {TilingOptimizationLevel::kFAST, TilingOptimizationLevel::kMODERATE, TilingOptimizationLevel::kFULL}) {
    EXPECT_FALSE(b.config->setTilingOptimizationLevel(level));
    EXPECT_TRUE(has(b.logger.take_errors(), "TilingOptimizationLevel::kNONE"));
  }
}

TEST(Flags, AStrippedPlanByItsOtherName) {
  Dense b;
  const Owned<IHostMemory> whole(b.builder->buildSerializedNetwork(*b.network, *b.config));
  b.config->setFlag(BuilderFlag::kWEIGHTLESS);
  EXPECT_TRUE(b.config->getFlag(BuilderFlag::kSTRIP_PLAN));
  const Owned<IHostMemory> stripped(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(stripped, nullptr) << b.logger.errors();
  const Owned<IRuntime> runtime(createInferRuntime(b.logger));
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(stripped->data(), stripped->size()));
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_TRUE(engine->isRefittable());
  EXPECT_GT(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), 0);
}

}  // namespace
}  // namespace wootz_test
