// Flags and settings of a builder config: each changes the build or the engine, or is refused with a reason.
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "api/dense.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The kernels of a plan, layer by layer; empty: it could not be built.
std::string kernels(Dense& b) {
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  if (plan == nullptr) return "";
  const auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  std::string text;
  for (const wootz::Step& step : (*program)->steps) text += step.name + ": " + step.tactic.to_string() + "\n";
  return text;
}

TEST(Effects, SafetyScopeIsRefused) {
  Dense b;
  b.config->setFlag(BuilderFlag::kSAFETY_SCOPE);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "kSAFETY_SCOPE"));
}

// exp(x) / sum(exp(x)) of large x is no number; a softmax in its place is one.
TEST(Effects, StrictNansKeepsWhatIsNoNumber) {
  for (const bool strict : {false, true}) {
    Bench b;
    wootz_config_set_option(b.config.get(), "timing", "0");
    ITensor* x = b.input("x", {2, 4});
    ITensor* e = b.network->addUnary(*x, UnaryOperation::kEXP)->getOutput(0);
    ITensor* sum = b.network->addReduce(*e, ReduceOperation::kSUM, 1U << 1, true)->getOutput(0);
    b.output(b.network->addElementWise(*e, *sum, ElementWiseOperation::kDIV), "y");
    if (strict) b.config->setFlag(BuilderFlag::kSTRICT_NANS);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats y = run(*context, {{"x", Floats{100, 100, 100, 100, 0, 0, 0, 0}.data()}}, "y");
    EXPECT_EQ(std::isnan(y[0]), strict) << y[0];
    EXPECT_NEAR(y[4], 0.25F, 1e-6F);
  }
}

TEST(Effects, MemoryIsToldStageByStage) {
  Dense b;
  ASSERT_NE(b.engine(), nullptr);
  EXPECT_FALSE(has(b.logger.infos(), "[MemUsageChange] passes: "));
  b.config->setFlag(BuilderFlag::kMONITOR_MEMORY);
  ASSERT_NE(b.engine(), nullptr);
  for (const char* stage : {"passes", "lower", "measure", "pack"})
    EXPECT_TRUE(has(b.logger.infos(), std::string("[MemUsageChange] ") + stage + ": CPU ")) << b.logger.infos();
}

TEST(Effects, EnginesOfDebugBuildsWaitForEachStep) {
  for (const bool debug : {false, true}) {
    Dense b;
    if (debug) b.config->setFlag(BuilderFlag::kDEBUG);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_EQ(context->getDebugSync(), debug);
  }
}

// Whatever the row it stands in, the same row gives the same bits.
TEST(Effects, DistributiveIndependenceHoldsForRows) {
  Dense b;
  b.config->setFlag(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  constexpr size_t kRows = 61;
  EXPECT_TRUE(context->setInputShape("x", dims({kRows, 8})));
  Floats x;
  for (size_t r = 0; r < kRows; ++r)
    for (const float v : rows(1, 3)) x.push_back(v);
  const Floats y = run(*context, {{"x", x.data()}}, "y");
  for (size_t r = 1; r < kRows; ++r) EXPECT_EQ(std::memcmp(y.data(), y.data() + r * 16, 64), 0) << "row " << r;
}

// Two products one after the other, the first one of weights with two zeros in each four.
struct TwoProducts : Bench {
  TwoProducts() {
    wootz_config_set_option(config.get(), "timing", "0");
    for (size_t k = 0; k < 32; ++k)
      for (size_t n = 0; n < 64; ++n) sparse[k * 64 + n] = (k + n) % 4 < 2 ? 0 : std::cos(static_cast<float>(k + n));
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = std::sin(static_cast<float>(i)) + 2;
    ITensor* const h = product(*input("x", {4, 32}), dims({32, 64}), sparse, "first");
    ITensor* const e = network->addActivation(*h, ActivationType::kTANH)->getOutput(0);
    product(*e, dims({64, 16}), dense, "second");
    output(network->getLayer(network->getNbLayers() - 1), "y");
  }
  ITensor* product(ITensor& x, const Dims& shape, const Floats& values, const char* name) {
    ILayer* const constant = network->addConstant(shape, weights(values));
    constant->setName((std::string(name) + "_w").c_str());
    ITensor& w = *constant->getOutput(0);
    ILayer* const made = network->addMatrixMultiply(x, MatrixOperation::kNONE, w, MatrixOperation::kNONE);
    made->setName(name);
    return made->getOutput(0);
  }
  Floats sparse = Floats(32 * 64), dense = Floats(64 * 16);
};

TEST(Effects, SparseWeightsAreFound) {
  TwoProducts b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_FALSE(has(b.logger.infos(), "Sparsity"));
  b.config->setFlag(BuilderFlag::kSPARSE_WEIGHTS);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.infos(), "kSPARSE_WEIGHTS: no tactic of the host's gains")) << b.logger.infos();
  EXPECT_TRUE(has(b.logger.infos(), "(Sparsity) 1 layer with 2:4 zeros in the weights")) << b.logger.infos();
  EXPECT_TRUE(has(b.logger.infos(), "tactics: first")) << b.logger.infos();
  EXPECT_TRUE(has(b.logger.infos(), "(Sparsity) 0 layers computed by sparse tactics")) << b.logger.infos();
  EXPECT_EQ(b.logger.warnings(), "");
  const Owned<IEngineInspector> inspector(engine->createEngineInspector());
  const std::string layers = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  const size_t found = layers.find("2:4 weights, computed as dense ones");
  EXPECT_NE(found, std::string::npos) << layers;
  EXPECT_EQ(layers.find("2:4 weights, computed as dense ones", found + 1), std::string::npos) << layers;
}

TEST(Effects, SparseWeightsGiveTheSameBits) {
  Floats results[2];
  for (const bool flag : {false, true}) {
    TwoProducts b;
    if (flag) b.config->setFlag(BuilderFlag::kSPARSE_WEIGHTS);
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    Floats x(4 * 32);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
    results[flag] = run(*context, {{"x", x.data()}}, "y");
  }
  EXPECT_EQ(results[0], results[1]);
}

// No kernel of the host's relies on the zeros: others come in, and the step says so.
TEST(Effects, SparseWeightsMayBecomeDenseWhereNoTacticNeedsTheZeros) {
  Floats x(4 * 32), other(32 * 64), results[2];
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  for (size_t i = 0; i < other.size(); ++i) other[i] = std::sin(static_cast<float>(i)) / 4 + 1;
  for (const bool refitted : {false, true}) {
    TwoProducts b;
    for (const BuilderFlag flag : {BuilderFlag::kSPARSE_WEIGHTS, BuilderFlag::kREFIT}) b.config->setFlag(flag);
    b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    if (!refitted) b.sparse = other;
    const Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    if (refitted) {
      const Owned<IRefitter> refitter(createInferRefitter(*engine, b.logger));
      EXPECT_TRUE(refitter->setWeights("first_w", WeightsRole::kCONSTANT, weights(other))) << b.logger.errors();
      EXPECT_TRUE(refitter->refitCudaEngine()) << b.logger.errors();
    }
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    results[refitted] = run(*context, {{"x", x.data()}}, "y");
  }
  EXPECT_EQ(results[0], results[1]);
}

// The cache is written over: the tactic that was slower is said to be the one.
TEST(Effects, EditedTimingsCountWithTheFlagAlone) {
  Dense b;
  wootz_config_set_option(b.config.get(), "timing", "1");
  const Owned<ITimingCache> cache(b.config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(b.config->setTimingCache(*cache, false));
  const std::string before = kernels(b);
  std::vector<TimingCacheKey> keys(static_cast<size_t>(cache->queryKeys(nullptr, 0)));
  ASSERT_GT(keys.size(), 0u);
  cache->queryKeys(keys.data(), static_cast<int64_t>(keys.size()));
  // Of all that were timed: another one than the fastest.
  struct Picker final : IAlgorithmSelector {
    int32_t selectAlgorithms(const IAlgorithmContext&, const IAlgorithm* const*, int32_t n,
                             int32_t* s) noexcept override {
      return s[0] = n - 1, 1;
    }
    void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*, int32_t) noexcept override {}
  } last;
  Dense other;
  wootz_config_set_option(other.config.get(), "timing", "1");
  const Owned<ITimingCache> their(other.config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(other.config->setTimingCache(*their, false));
  other.config->setAlgorithmSelector(&last);
  ASSERT_NE(other.engine(), nullptr) << other.logger.errors();
  int edits = 0;
  for (const TimingCacheKey& key : keys) {
    const TimingCacheValue known = their->query(key), mine = cache->query(key);
    if (known.tacticHash == 0 || known.tacticHash == mine.tacticHash) continue;
    EXPECT_TRUE(cache->update(key, known)) << b.logger.errors();
    ++edits;
  }
  if (edits == 0) return;  // one tactic a layer: nothing to edit
  EXPECT_EQ(kernels(b), before);
  b.config->setFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  EXPECT_NE(kernels(b), before);
}

TEST(Effects, ATacticOverItsMemoryIsSkippedAndTold) {
  Dense b;
  b.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM, 64 * (8 + 16) * 4 + 8 * 16 * 4 - 1);
  EXPECT_EQ(b.engine(), nullptr);
  const std::string why = b.logger.take_errors();
  EXPECT_TRUE(has(why, "product")) << why;
  EXPECT_TRUE(has(why, "6655")) << why;
  b.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM, 1 << 20);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.config->getMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM), size_t{1} << 20);
}

TEST(Effects, WhatNeedsADlaIsRefused) {
  Dense b;
  b.config->setDLACore(0);
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setDLACore"));
  EXPECT_EQ(b.config->getDLACore(), -1);
  for (const auto pool :
       {MemoryPoolType::kDLA_MANAGED_SRAM, MemoryPoolType::kDLA_LOCAL_DRAM, MemoryPoolType::kDLA_GLOBAL_DRAM}) {
    b.config->setMemoryPoolLimit(pool, 1 << 20);
    EXPECT_TRUE(has(b.logger.take_errors(), "there is no DLA"));
    EXPECT_EQ(b.config->getMemoryPoolLimit(pool), 0u);
  }
  EXPECT_EQ(b.builder->getNbDLACores(), 0);
  EXPECT_FALSE(b.config->canRunOnDLA(b.network->getLayer(1)));
  b.config->setDeviceType(b.network->getLayer(1), DeviceType::kDLA);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "DLA"));
  b.config->setFlag(BuilderFlag::kGPU_FALLBACK);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
}

TEST(Effects, WhatIsNotOfferedKeepsItsValue) {
  Dense b;
  b.config->setPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806, false);
  EXPECT_TRUE(has(b.logger.take_errors(), "kPROFILE_SHARING_0806"));
  EXPECT_TRUE(b.config->getPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806));
  EXPECT_FALSE(b.config->setTilingOptimizationLevel(TilingOptimizationLevel::kFULL));
  EXPECT_TRUE(has(b.logger.take_errors(), "kNONE"));
  EXPECT_EQ(b.config->getTilingOptimizationLevel(), TilingOptimizationLevel::kNONE);
  EXPECT_TRUE(b.config->setTilingOptimizationLevel(TilingOptimizationLevel::kNONE));
  EXPECT_FALSE(b.config->setL2LimitForTiling(1 << 20));
  EXPECT_TRUE(has(b.logger.take_errors(), "1048576"));
  EXPECT_EQ(b.config->getL2LimitForTiling(), -1);
  EXPECT_TRUE(b.config->setL2LimitForTiling(-1));
  EXPECT_EQ(b.logger.errors(), "");
}

TEST(Effects, PlatformsAndCapabilitiesThatAreNotHereAreRefused) {
  for (const auto capability : {EngineCapability::kSAFETY, EngineCapability::kDLA_STANDALONE}) {
    Dense b;
    b.config->setEngineCapability(capability);
    EXPECT_EQ(b.engine(), nullptr);
    EXPECT_TRUE(has(b.logger.take_errors(), "EngineCapability"));
  }
  Dense b;
  b.config->setRuntimePlatform(RuntimePlatform::kWINDOWS_AMD64);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "platform"));
}

TEST(Effects, AnExtraMemoryTargetIsAnUpperBound) {
  Bench b;
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  EXPECT_TRUE(p->setExtraMemoryTarget(0.5F));
  EXPECT_EQ(p->getExtraMemoryTarget(), 0.5F);
  EXPECT_FALSE(p->setExtraMemoryTarget(1.5F));
  EXPECT_EQ(p->getExtraMemoryTarget(), 0.5F);
}

// Which kernels an application may choose among, and what it is told of the choice.
struct Selector final : IAlgorithmSelector {
  enum class Way { kLast, kNone, kWrong };
  explicit Selector(Way way) : way(way) {}
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    asked.insert(context.getName());
    EXPECT_GT(count, 0);
    for (int32_t i = 0; i < count; ++i) {
      EXPECT_NE(choices[i]->getAlgorithmIOInfoByIndex(0), nullptr);
      EXPECT_EQ(choices[i]->getAlgorithmIOInfoByIndex(0)->getDataType(), DataType::kFLOAT);
      EXPECT_EQ(choices[i]->getAlgorithmIOInfoByIndex(context.getNbInputs() + context.getNbOutputs()), nullptr);
    }
    if (std::string(context.getName()) == "softmax") {
      EXPECT_EQ(list(context.getDimensions(0, OptProfileSelector::kMIN)), (std::vector<int64_t>{1, 16}));
      EXPECT_EQ(list(context.getDimensions(0, OptProfileSelector::kOPT)), (std::vector<int64_t>{4, 16}));
      EXPECT_EQ(list(context.getDimensions(0, OptProfileSelector::kMAX)), (std::vector<int64_t>{64, 16}));
    }
    picked[context.getName()] = {choices[count - 1]->getAlgorithmVariant().getImplementation(),
                                 choices[count - 1]->getAlgorithmVariant().getTactic()};
    selection[0] = way == Way::kWrong ? count : count - 1;
    return way == Way::kNone ? 0 : 1;
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    ++reports;
    for (int32_t i = 0; i < count; ++i)
      told[contexts[i]->getName()] = {choices[i]->getAlgorithmVariant().getImplementation(),
                                      choices[i]->getAlgorithmVariant().getTactic()};
  }
  using Variant = std::pair<int64_t, int64_t>;
  Way way;
  std::set<std::string> asked;
  std::map<std::string, Variant> picked, told;
  int reports = 0;
};

TEST(Effects, ASelectorIsObeyedAndTold) {
  Dense b;
  Selector last(Selector::Way::kLast);
  b.config->setAlgorithmSelector(&last);
  EXPECT_EQ(b.config->getAlgorithmSelector(), &last);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(last.asked.count("softmax"), 1u);
  EXPECT_EQ(last.reports, 1);
  EXPECT_EQ(last.told, last.picked);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setInputShape("x", dims({4, 8})));
  const Floats x = rows(4, 1);
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

TEST(Effects, ASelectorThatPicksNothingLeavesItToTheBuild) {
  Dense b;
  Selector none(Selector::Way::kNone);
  b.config->setAlgorithmSelector(&none);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(none.reports, 1);
  b.config->setFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "kREJECT_EMPTY_ALGORITHMS"));
  Selector wrong(Selector::Way::kWrong);
  b.config->setAlgorithmSelector(&wrong);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "selectAlgorithms picks algorithm"));
}

}  // namespace
}  // namespace wootz_test
