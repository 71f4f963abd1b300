// Settings that no build acts on are named in a warning each, and what contradicts a strongly typed network is refused.
#include <algorithm>

#include "api/dense.h"
#include "backends/cpu/backend.h"

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
const Flag kPrecision[] = {{BuilderFlag::kFP16, "kFP16"}, {BuilderFlag::kBF16, "kBF16"}, {BuilderFlag::kINT8, "kINT8"},
                           {BuilderFlag::kFP8, "kFP8"},   {BuilderFlag::kINT4, "kINT4"}, {BuilderFlag::kFP4, "kFP4"}};
// Of types set on layers, which a strongly typed network has none of.
const Flag kConstraints[] = {{BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, "kOBEY_PRECISION_CONSTRAINTS"},
                             {BuilderFlag::kPREFER_PRECISION_CONSTRAINTS, "kPREFER_PRECISION_CONSTRAINTS"}};
const Flag kOthers[] = {{BuilderFlag::kEXCLUDE_LEAN_RUNTIME, "kEXCLUDE_LEAN_RUNTIME"}};  // alone
// What a build goes by (effects_test.cpp, layer_types_test.cpp, refit_test.cpp).
const BuilderFlag kActing[] = {BuilderFlag::kTF32,
                               BuilderFlag::kOBEY_PRECISION_CONSTRAINTS,
                               BuilderFlag::kPREFER_PRECISION_CONSTRAINTS,
                               BuilderFlag::kGPU_FALLBACK,
                               BuilderFlag::kDISABLE_TIMING_CACHE,
                               BuilderFlag::kREFIT,
                               BuilderFlag::kREFIT_IDENTICAL,
                               BuilderFlag::kSTRIP_PLAN,
                               BuilderFlag::kWEIGHT_STREAMING,
                               BuilderFlag::kREFIT_INDIVIDUAL,
                               BuilderFlag::kVERSION_COMPATIBLE,
                               BuilderFlag::kDEBUG,
                               BuilderFlag::kSPARSE_WEIGHTS,
                               BuilderFlag::kDIRECT_IO,
                               BuilderFlag::kREJECT_EMPTY_ALGORITHMS,
                               BuilderFlag::kDISABLE_COMPILATION_CACHE,
                               BuilderFlag::kSTRICT_NANS,
                               BuilderFlag::kMONITOR_MEMORY,
                               BuilderFlag::kEDITABLE_TIMING_CACHE,
                               BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE};
// What ends a build here.
const BuilderFlag kRefusing[] = {BuilderFlag::kERROR_ON_TIMING_CACHE_MISS, BuilderFlag::kSAFETY_SCOPE};

TEST(WithoutEffect, EveryFlagActsOrIsNamed) {
  Dense b;
  b.config->setFlags(0);
  for (const auto& list : {std::vector<Flag>(std::begin(kPrecision), std::end(kPrecision)),
                           std::vector<Flag>(std::begin(kOthers), std::end(kOthers))})
    for (const Flag& f : list) {
      const wootz::DType type = f.flag == BuilderFlag::kBF16   ? wootz::DType::kBF16
                                : f.flag == BuilderFlag::kFP16 ? wootz::DType::kF16
                                                               : wootz::DType::kInvalid;
      if (wootz::cpu_backend().computes_fast_in(type)) continue;  // it acts (assign_precision_test.cpp, bf16_test.cpp)
      b.config->setFlag(f.flag);
      expect_warning(b, std::string("BuilderFlag::") + f.name);
      b.config->clearFlag(f.flag);
    }
  EXPECT_EQ(std::size(kPrecision) + std::size(kOthers) + std::size(kActing) + std::size(kRefusing),
            static_cast<size_t>(EnumMax<BuilderFlag>()));
}

// Not at the next build but at once: there is none.
TEST(WithoutEffect, SettingsOfParserAndTensorAreNamed) {
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
  parser->setFlags(1U << static_cast<uint32_t>(OnnxParserFlag::kADJUST_FOR_DLA));
  expect("OnnxParserFlag::kADJUST_FOR_DLA");
  const uint32_t flags = parser->getFlags();
  parser->setFlags(1U << 9);
  EXPECT_NE(b.logger.take_errors().find("IParser::setFlags"), std::string::npos);
  EXPECT_EQ(parser->getFlags(), flags);
  b.network->getInput(0)->setLocation(TensorLocation::kHOST);
  expect("ITensor::setLocation");
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
    if (flag != BuilderFlag::kREFIT_INDIVIDUAL && flag != BuilderFlag::kWEIGHT_STREAMING)
      b.config->setFlag(flag);  // not with kREFIT; not for a weakly typed network
  // Builds under sanitizers have no library of the runtime.
  if (wootz_runtime_library() == nullptr) b.config->clearFlag(BuilderFlag::kVERSION_COMPATIBLE);
  ASSERT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
}

TEST(WithoutEffect, SettingsOfTheConfigAreNamed) {
  struct Case {
    const char* name;
    void (*set)(Dense&);
  };
  const Case cases[] = {
      {"IBuilderConfig::setCalibrationProfile",
       [](Dense& b) {
         IOptimizationProfile* p = b.builder->createOptimizationProfile();
         for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
           p->setDimensions("x", select, dims({4, 8}));
         EXPECT_TRUE(b.config->setCalibrationProfile(p));
       }},
      {"IBuilderConfig::setHardwareCompatibilityLevel",
       [](Dense& b) { b.config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS); }},
      {"ILayer::setPrecision", [](Dense& b) { b.network->getLayer(1)->setPrecision(DataType::kHALF); }},
      {"ITensor::setDynamicRange", [](Dense& b) { EXPECT_TRUE(b.logits->setDynamicRange(-1, 1)); }},
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

// y = relu(x) of a strongly typed network.
struct Typed : Bench {
  Typed() : Bench(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)) {
    wootz_config_set_option(config.get(), "timing", "0");
    output(network->addActivation(*input("x", {2, 3}), ActivationType::kRELU), "y");
  }
};

TEST(StrongTyping, PrecisionFlagsAreRefusedByName) {
  Typed b;
  std::vector<Flag> all(std::begin(kPrecision), std::end(kPrecision));
  all.insert(all.end(), std::begin(kConstraints), std::end(kConstraints));
  for (const Flag& f : all) {
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
