// Settings that no build acts on are named in a warning each, and what contradicts a strongly typed network is refused.
#include <algorithm>

#include "api/dense.h"

namespace wootz_test {
namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

// Builds, and expects this one warning, which begins with the name and goes on with what becomes of it.
void expect_warning(Dense& b, const std::string& name) {
  SCOPED_TRACE(name);
  const std::string before = b.logger.warnings();
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  const std::vector<std::string> warned = lines(b.logger.warnings().substr(before.size()));
  ASSERT_EQ(warned.size(), 1u) << b.logger.warnings().substr(before.size());
  EXPECT_NE(warned[0].find(name + ": "), std::string::npos) << warned[0];
  EXPECT_GT(warned[0].size(), warned[0].find(name) + name.size() + 20) << warned[0];
}

struct Flag {
  BuilderFlag flag;
  const char* name;
};
const Flag kPrecision[] = {{BuilderFlag::kFP16, "kFP16"},
                           {BuilderFlag::kBF16, "kBF16"},
                           {BuilderFlag::kINT8, "kINT8"},
                           {BuilderFlag::kFP8, "kFP8"},
                           {BuilderFlag::kINT4, "kINT4"},
                           {BuilderFlag::kFP4, "kFP4"},
                           {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, "kOBEY_PRECISION_CONSTRAINTS"},
                           {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS, "kPREFER_PRECISION_CONSTRAINTS"}};
const Flag kOthers[] = {{BuilderFlag::kDEBUG, "kDEBUG"},
                        {BuilderFlag::kSTRIP_PLAN, "kSTRIP_PLAN"},
                        {BuilderFlag::kWEIGHT_STREAMING, "kWEIGHT_STREAMING"},
                        {BuilderFlag::kSPARSE_WEIGHTS, "kSPARSE_WEIGHTS"},
                        {BuilderFlag::kSAFETY_SCOPE, "kSAFETY_SCOPE"},
                        {BuilderFlag::kDIRECT_IO, "kDIRECT_IO"},
                        {BuilderFlag::kREJECT_EMPTY_ALGORITHMS, "kREJECT_EMPTY_ALGORITHMS"},
                        {BuilderFlag::kVERSION_COMPATIBLE, "kVERSION_COMPATIBLE"},
                        {BuilderFlag::kEXCLUDE_LEAN_RUNTIME, "kEXCLUDE_LEAN_RUNTIME"},
                        {BuilderFlag::kDISABLE_COMPILATION_CACHE, "kDISABLE_COMPILATION_CACHE"},
                        {BuilderFlag::kSTRICT_NANS, "kSTRICT_NANS"},
                        {BuilderFlag::kMONITOR_MEMORY, "kMONITOR_MEMORY"},
                        {BuilderFlag::kEDITABLE_TIMING_CACHE, "kEDITABLE_TIMING_CACHE"},
                        {BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, "kDISTRIBUTIVE_INDEPENDENCE"}};
// What a build goes by.
const BuilderFlag kActing[] = {BuilderFlag::kTF32,
                               BuilderFlag::kGPU_FALLBACK,
                               BuilderFlag::kDISABLE_TIMING_CACHE,
                               BuilderFlag::kERROR_ON_TIMING_CACHE_MISS,
                               BuilderFlag::kREFIT,
                               BuilderFlag::kREFIT_IDENTICAL,
                               BuilderFlag::kREFIT_INDIVIDUAL};

TEST(WithoutEffect, EveryFlagActsOrIsNamed) {
  Dense b;
  b.config->setFlags(0);
  for (const auto& list : {std::vector<Flag>(std::begin(kPrecision), std::end(kPrecision)),
                           std::vector<Flag>(std::begin(kOthers), std::end(kOthers))})
    for (const Flag& f : list) {
      b.config->setFlag(f.flag);
      expect_warning(b, std::string("BuilderFlag::") + f.name);
      b.config->clearFlag(f.flag);
    }
  EXPECT_EQ(std::size(kPrecision) + std::size(kOthers) + std::size(kActing),
            static_cast<size_t>(EnumMax<BuilderFlag>()));
}

// Not at the next build but at once: there is none.
TEST(WithoutEffect, SettingsOfParserTensorAndContextAreNamed) {
  Dense b;
  const auto expect = [&](const std::string& name) {
    EXPECT_NE(b.logger.warnings().find(name + ": "), std::string::npos) << b.logger.warnings();
  };
  const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
  using nvonnxparser::OnnxParserFlag;
  parser->setFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  EXPECT_EQ(b.logger.warnings(), "");
  parser->clearFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  expect("OnnxParserFlag::kNATIVE_INSTANCENORM");
  parser->setFlags(1U << static_cast<uint32_t>(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE));
  expect("OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE");
  const uint32_t flags = parser->getFlags();
  parser->setFlags(1U << 9);
  EXPECT_NE(b.logger.take_errors().find("IParser::setFlags"), std::string::npos);
  EXPECT_EQ(parser->getFlags(), flags);
  b.network->getInput(0)->setLocation(TensorLocation::kHOST);
  expect("ITensor::setLocation");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  context->setPersistentCacheLimit(1 << 20);
  expect("IExecutionContext::setPersistentCacheLimit");
  struct Allocator final : IGpuAllocator {
    void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override { return nullptr; }
    bool deallocate(void*) noexcept override { return false; }
  } allocator;
  EXPECT_TRUE(context->setTemporaryStorageAllocator(&allocator));
  expect("IExecutionContext::setTemporaryStorageAllocator");
  EXPECT_TRUE(context->setTemporaryStorageAllocator(nullptr));
}

TEST(WithoutEffect, NvtxRangesAreNotMade) {
  Dense b;
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kDETAILED));
  EXPECT_EQ(b.logger.warnings(), "");
  EXPECT_TRUE(context->setNvtxVerbosity(ProfilingVerbosity::kLAYER_NAMES_ONLY));
  EXPECT_NE(b.logger.warnings().find("IExecutionContext::setNvtxVerbosity: "), std::string::npos);
}

TEST(WithoutEffect, TheProcessorHasNoTf32) {
  Dense b;
  EXPECT_FALSE(b.builder->platformHasTf32());
}

TEST(WithoutEffect, DefaultsSayNothing) {
  Dense b;
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
  for (const BuilderFlag flag : kActing)
    if (flag != BuilderFlag::kERROR_ON_TIMING_CACHE_MISS) b.config->setFlag(flag);
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
}

TEST(WithoutEffect, SettingsOfTheConfigAreNamed) {
  struct Case {
    const char* name;
    void (*set)(Dense&);
  };
  const Case cases[] = {
      {"IBuilderConfig::setDLACore", [](Dense& b) { b.config->setDLACore(1); }},
      {"IBuilderConfig::setProfileStream",
       [](Dense& b) { b.config->setProfileStream(reinterpret_cast<cudaStream_t>(&b)); }},
      {"IBuilderConfig::setCalibrationProfile",
       [](Dense& b) {
         IOptimizationProfile* p = b.builder->createOptimizationProfile();
         for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
           p->setDimensions("x", select, dims({4, 8}));
         EXPECT_TRUE(b.config->setCalibrationProfile(p));
       }},
      {"IBuilderConfig::setQuantizationFlags",
       [](Dense& b) { b.config->setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION); }},
      {"IBuilderConfig::setTacticSources", [](Dense& b) { EXPECT_TRUE(b.config->setTacticSources(0)); }},
      {"IBuilderConfig::setHardwareCompatibilityLevel",
       [](Dense& b) { b.config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS); }},
      {"IBuilderConfig::setPluginsToSerialize",
       [](Dense& b) {
         const char* const path = "plugin.so";
         b.config->setPluginsToSerialize(&path, 1);
       }},
      {"IBuilderConfig::setTilingOptimizationLevel",
       [](Dense& b) { EXPECT_TRUE(b.config->setTilingOptimizationLevel(TilingOptimizationLevel::kFULL)); }},
      {"IBuilderConfig::setL2LimitForTiling", [](Dense& b) { EXPECT_TRUE(b.config->setL2LimitForTiling(1 << 20)); }},
      {"IBuilderConfig::setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM)",
       [](Dense& b) { b.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM, 1 << 30); }},
      {"IBuilderConfig::setMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY)",
       [](Dense& b) { b.config->setMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY, 1 << 14); }},
      {"IBuilderConfig::setPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806)",
       [](Dense& b) { b.config->setPreviewFeature(PreviewFeature::kPROFILE_SHARING_0806, false); }},
      {"IBuilderConfig::setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03)",
       [](Dense& b) { b.config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true); }},
      {"ILayer::setPrecision", [](Dense& b) { b.network->getLayer(1)->setPrecision(DataType::kHALF); }},
      {"ITensor::setDynamicRange", [](Dense& b) { EXPECT_TRUE(b.logits->setDynamicRange(-1, 1)); }},
      {"ITensor::setAllowedFormats", [](Dense& b) { b.network->getInput(0)->setAllowedFormats(1U | 2U); }},
      {"IOptimizationProfile::setExtraMemoryTarget",
       [](Dense& b) {
         b.config->reset();
         wootz_config_set_option(b.config.get(), "timing", "0");
         IOptimizationProfile* p = b.builder->createOptimizationProfile();
         for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
           p->setDimensions("x", select, dims({4, 8}));
         EXPECT_TRUE(p->setExtraMemoryTarget(0.5F));
         EXPECT_EQ(p->getExtraMemoryTarget(), 0.5F);
         EXPECT_EQ(b.config->addOptimizationProfile(p), 0);
       }},
  };
  for (const Case& c : cases) {
    Dense b;
    c.set(b);
    expect_warning(b, c.name);
  }
}

// The warning names layers and tensors, the first few of many.
TEST(WithoutEffect, LayersAreNamed) {
  Dense b;
  b.network->getLayer(1)->setPrecision(DataType::kHALF);
  b.network->getLayer(2)->setPrecision(DataType::kFLOAT);
  ASSERT_NE(b.engine(), nullptr);
  EXPECT_NE(b.logger.warnings().find("2 layers ('product', 'softmax')"), std::string::npos) << b.logger.warnings();
}

// What TensorRT allows for row-major tensors alone is what they get.
TEST(WithoutEffect, RowMajorFormatsAreObeyed) {
  Dense b;
  b.network->getInput(0)->setAllowedFormats(1U << static_cast<int>(TensorFormat::kLINEAR));
  ASSERT_NE(b.engine(), nullptr);
  EXPECT_EQ(b.logger.warnings(), "");
}

// y = relu(x) of a strongly typed network.
struct Typed : Bench {
  Typed() : Bench(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)) {
    wootz_config_set_option(config.get(), "timing", "0");
    output(network->addActivation(*input("x", {2, 3}), ActivationType::kRELU), "y");
  }
};

TEST(StrongTyping, PrecisionFlagsAreRefusedByName) {
  Typed b;
  for (const Flag& f : kPrecision) {
    b.config->setFlag(f.flag);
    EXPECT_EQ(b.engine(), nullptr) << f.name;
    const std::string why = b.logger.take_errors();
    EXPECT_NE(why.find(std::string("BuilderFlag::") + f.name), std::string::npos) << why;
    EXPECT_NE(why.find("kSTRONGLY_TYPED"), std::string::npos) << why;
    EXPECT_FALSE(b.builder->isNetworkSupported(*b.network, *b.config));
    b.logger.take_errors();
    b.config->clearFlag(f.flag);
  }
  EXPECT_TRUE(b.builder->isNetworkSupported(*b.network, *b.config));
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();  // kTF32, which is on, changes no tensor's type
  EXPECT_EQ(b.logger.warnings(), "");
}

TEST(StrongTyping, LayersTakeNoPrecision) {
  Typed b;
  b.network->getLayer(0)->setPrecision(DataType::kHALF);
  EXPECT_NE(b.logger.take_errors().find("strongly typed"), std::string::npos);
  EXPECT_FALSE(b.network->getLayer(0)->precisionIsSet());
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
}

}  // namespace
}  // namespace wootz_test
