// What builders and their configs are asked and told.
#include <cstdio>
#include <set>

#include "api/dense.h"
#include "api/recorder.h"

namespace wootz_test {
namespace {

using Ints = std::vector<int64_t>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(BuilderCalls, ResetForgetsWhatWasSet) {
  Dense b;
  Recorder recorder;
  const int32_t threads = b.builder->getMaxThreads();
  EXPECT_GE(threads, 1);
  EXPECT_TRUE(b.builder->setMaxThreads(threads + 1));
  EXPECT_EQ(b.builder->getMaxThreads(), threads + 1);
  EXPECT_FALSE(b.builder->setMaxThreads(0));
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilder::setMaxThreads"));
  b.builder->setErrorRecorder(&recorder);
  EXPECT_EQ(b.builder->getErrorRecorder(), &recorder);
  EXPECT_EQ(b.builder->getLogger(), &b.logger);
  b.builder->reset();
  EXPECT_EQ(b.builder->getMaxThreads(), threads);
  EXPECT_EQ(b.builder->getErrorRecorder(), nullptr);
  EXPECT_EQ(recorder.count, 0);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
}

// Plans say how many threads an inference takes at most by the builder's; results do not depend on it.
TEST(BuilderCalls, OneThreadBuildsTheSame) {
  Dense b;
  EXPECT_TRUE(b.builder->setMaxThreads(1));
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setInputShape("x", dims({4, 8})));
  const Floats x = rows(4, 1);
  expect_near(run(*context, {{"x", x.data()}}, "y"), b.expected(x));
}

TEST(BuilderCalls, ThePlatform) {
  Dense b;
  EXPECT_EQ(b.builder->getMaxDLABatchSize(), 0);
  EXPECT_EQ(b.builder->getNbDLACores(), 0);
  // What the processor has, as the kernel tells it.
  std::FILE* const info = std::fopen("/proc/cpuinfo", "r");
  ASSERT_NE(info, nullptr);
  std::string text(1 << 16, ' ');
  text.resize(std::fread(text.data(), 1, text.size(), info));
  std::fclose(info);
  EXPECT_EQ(b.builder->platformHasFastInt8(), has(text, "avx512_vnni") || has(text, "avx_vnni"));
  EXPECT_EQ(b.builder->platformHasFastFp16(), has(text, "avx512_fp16"));
}

TEST(BuilderCalls, NoTextOfKernels) {
  Dense b;
  auto* text = reinterpret_cast<IHostMemory*>(&b);
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config, text));
  EXPECT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(plan->type(), DataType::kINT8);
}

TEST(ConfigCalls, ResetBringsDefaults) {
  Dense b;
  EXPECT_EQ(b.config->getNbOptimizationProfiles(), 1);
  b.config->setFlag(BuilderFlag::kDEBUG);
  b.config->setBuilderOptimizationLevel(5);
  EXPECT_EQ(b.config->getBuilderOptimizationLevel(), 5);
  b.config->setAvgTimingIterations(7);
  EXPECT_EQ(b.config->getAvgTimingIterations(), 7);
  b.config->reset();
  EXPECT_EQ(b.config->getNbOptimizationProfiles(), 0);
  EXPECT_FALSE(b.config->getFlag(BuilderFlag::kDEBUG));
  EXPECT_EQ(b.config->getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kTF32));
  EXPECT_EQ(b.config->getBuilderOptimizationLevel(), 3);
  EXPECT_EQ(b.config->getAvgTimingIterations(), 1);
  EXPECT_EQ(b.engine(), nullptr) << "the profile is gone";
  EXPECT_TRUE(has(b.logger.take_errors(), "profile"));
}

TEST(ConfigCalls, NumbersOutOfRangeAreRefused) {
  Dense b;
  b.config->setAvgTimingIterations(0);
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setAvgTimingIterations"));
  EXPECT_EQ(b.config->getAvgTimingIterations(), 1);
  b.config->setMaxNbTactics(-2);
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setMaxNbTactics"));
  EXPECT_EQ(b.config->getMaxNbTactics(), -1);
  b.config->setMaxAuxStreams(-5);
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setMaxAuxStreams"));
  EXPECT_EQ(b.config->getMaxAuxStreams(), -1);
  b.config->clearFlag(static_cast<BuilderFlag>(31));
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::clearFlag"));
  EXPECT_FALSE(b.config->setTacticSources(1U << 20));
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setTacticSources"));
  EXPECT_FALSE(b.config->setCalibrationProfile(nullptr));
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setCalibrationProfile"));
  b.config->setQuantizationFlags(8);
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setQuantizationFlags"));
  EXPECT_EQ(b.config->getQuantizationFlags(), 0u);
}

// Each measured tactic is a line of the timing cache.
TEST(ConfigCalls, FewerTacticsAreMeasured) {
  const auto measured = [](int32_t most, int32_t iterations) {
    Dense b;
    wootz_config_set_option(b.config.get(), "timing", "1");
    b.config->setMaxNbTactics(most);
    b.config->setAvgTimingIterations(iterations);
    EXPECT_EQ(b.config->getMaxNbTactics(), most);
    EXPECT_EQ(b.config->getAvgTimingIterations(), iterations);
    EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
    const ITimingCache* cache = b.config->getTimingCache();
    EXPECT_NE(cache, nullptr) << "the build made one";
    const Owned<IHostMemory> bytes(cache->serialize());
    return bytes->size();
  };
  EXPECT_LT(measured(1, 1), measured(-1, 2));
}

TEST(ConfigCalls, DevicesOfLayers) {
  Dense b;
  const ILayer* l = b.network->getLayer(1);
  EXPECT_EQ(b.config->getDefaultDeviceType(), DeviceType::kGPU);
  EXPECT_FALSE(b.config->isDeviceTypeSet(l));
  b.config->setDeviceType(l, DeviceType::kDLA);
  EXPECT_TRUE(b.config->isDeviceTypeSet(l));
  EXPECT_EQ(b.config->getDeviceType(l), DeviceType::kDLA);
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_TRUE(has(b.logger.take_errors(), "DLA"));
  b.config->resetDeviceType(l);
  EXPECT_FALSE(b.config->isDeviceTypeSet(l));
  EXPECT_EQ(b.config->getDeviceType(l), DeviceType::kGPU);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  b.config->setDefaultDeviceType(DeviceType::kDLA);
  EXPECT_EQ(b.config->getDefaultDeviceType(), DeviceType::kDLA);
  EXPECT_EQ(b.config->getDeviceType(l), DeviceType::kDLA);
  EXPECT_EQ(b.engine(), nullptr) << "all layers are a DLA's now";
  EXPECT_TRUE(has(b.logger.take_errors(), "DLA"));
}

struct Calibrator final : IInt8EntropyCalibrator2 {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], char const*[], int32_t) noexcept override { return asked = true, false; }
  void const* readCalibrationCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeCalibrationCache(void const*, std::size_t) noexcept override {}
  bool asked = false;
};

struct OldCalibrator final : IInt8LegacyCalibrator {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], char const*[], int32_t) noexcept override { return asked = true, false; }
  void const* readCalibrationCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeCalibrationCache(void const*, std::size_t) noexcept override { asked = true; }
  double getQuantile() const noexcept override { return asked = true, 0.99; }
  double getRegressionCutoff() const noexcept override { return asked = true, 0.5; }
  void const* readHistogramCache(std::size_t& length) noexcept override { return asked = true, length = 0, nullptr; }
  void writeHistogramCache(void const*, std::size_t) noexcept override { asked = true; }
  mutable bool asked = false;
};

TEST(ConfigCalls, CalibratorsAreNotAskedWithoutInt8) {
  Dense b;
  OldCalibrator calibrator;
  b.config->setInt8Calibrator(&calibrator);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.warnings(), "IBuilderConfig::setInt8Calibrator: ")) << b.logger.warnings();
  EXPECT_FALSE(calibrator.asked);
}

TEST(ConfigCalls, CalibratorsAreKept) {
  Dense b;
  Calibrator calibrator;
  b.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(b.config->getInt8Calibrator(), &calibrator);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.warnings(), "IBuilderConfig::setInt8Calibrator: ")) << b.logger.warnings();
  EXPECT_FALSE(calibrator.asked);
  EXPECT_EQ(static_cast<IInt8Calibrator&>(calibrator).getAlgorithm(), CalibrationAlgoType::kENTROPY_CALIBRATION_2);
}

TEST(ConfigCalls, QuantizationFlags) {
  Dense b;
  EXPECT_FALSE(b.config->getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  b.config->setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_TRUE(b.config->getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  EXPECT_EQ(b.config->getQuantizationFlags(), 1u);
  b.config->clearQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_EQ(b.config->getQuantizationFlags(), 0u);
  b.config->setQuantizationFlags(1);
  EXPECT_TRUE(b.config->getQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION));
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.infos(), "kCALIBRATE_BEFORE_FUSION: ")) << b.logger.infos();
}

TEST(ConfigCalls, CalibrationProfiles) {
  Dense b;
  EXPECT_EQ(b.config->getCalibrationProfile(), nullptr);
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    EXPECT_TRUE(p->setDimensions("x", select, dims({4, 8})));
    EXPECT_EQ(list(p->getDimensions("x", select)), (Ints{4, 8}));
  }
  EXPECT_TRUE(b.config->setCalibrationProfile(p));
  EXPECT_EQ(b.config->getCalibrationProfile(), p);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_TRUE(has(b.logger.warnings(), "IBuilderConfig::setCalibrationProfile: ")) << b.logger.warnings();
}

TEST(ConfigCalls, ValuesOfShapesInProfiles) {
  Dense b;
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  EXPECT_EQ(p->getDimensions("x", OptProfileSelector::kOPT).nbDims, -1);
  const int64_t wide[2]{3, 4};
  const int32_t narrow[2]{5, 6};
  EXPECT_EQ(p->getShapeValuesV2("shape", OptProfileSelector::kMIN), nullptr);
  EXPECT_TRUE(p->setShapeValuesV2("shape", OptProfileSelector::kMIN, wide, 2));
  ASSERT_NE(p->getShapeValuesV2("shape", OptProfileSelector::kMIN), nullptr);
  EXPECT_EQ(p->getShapeValuesV2("shape", OptProfileSelector::kMIN)[1], 4);
  EXPECT_TRUE(p->setShapeValues("shape", OptProfileSelector::kMAX, narrow, 2));
  ASSERT_NE(p->getShapeValues("shape", OptProfileSelector::kMAX), nullptr);
  EXPECT_EQ(p->getShapeValues("shape", OptProfileSelector::kMAX)[0], 5);
  EXPECT_EQ(p->getShapeValuesV2("shape", OptProfileSelector::kMAX)[0], 5);
}

TEST(ConfigCalls, WhatItIsBuiltFor) {
  Dense b;
  EXPECT_EQ(b.config->getEngineCapability(), EngineCapability::kSTANDARD);
  b.config->setEngineCapability(EngineCapability::kSAFETY);
  EXPECT_EQ(b.config->getEngineCapability(), EngineCapability::kSAFETY);
  b.config->setEngineCapability(EngineCapability::kSTANDARD);
  EXPECT_EQ(b.config->getRuntimePlatform(), RuntimePlatform::kSAME_AS_BUILD);
  b.config->setRuntimePlatform(RuntimePlatform::kWINDOWS_AMD64);
  EXPECT_EQ(b.config->getRuntimePlatform(), RuntimePlatform::kWINDOWS_AMD64);
  b.config->setRuntimePlatform(RuntimePlatform::kSAME_AS_BUILD);
  b.config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  EXPECT_EQ(b.config->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kAMPERE_PLUS);
  b.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  EXPECT_EQ(b.config->getProfilingVerbosity(), ProfilingVerbosity::kDETAILED);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(engine->getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_EQ(engine->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kAMPERE_PLUS);
  EXPECT_EQ(engine->getProfilingVerbosity(), ProfilingVerbosity::kDETAILED);
}

TEST(ConfigCalls, ProgressStreamsAndRemoteTuning) {
  Dense b;
  struct Monitor final : IProgressMonitor {
    void phaseStart(char const*, char const*, int32_t) noexcept override { ++started; }
    bool stepComplete(char const*, int32_t) noexcept override { return true; }
    void phaseFinish(char const*) noexcept override { ++finished; }
    int started = 0, finished = 0;
  } monitor;
  EXPECT_EQ(b.config->getProgressMonitor(), nullptr);
  b.config->setProgressMonitor(&monitor);
  EXPECT_EQ(b.config->getProgressMonitor(), &monitor);
  const auto stream = reinterpret_cast<cudaStream_t>(&b);  // the host's tactics look at none
  b.config->setProfileStream(stream);
  EXPECT_EQ(b.config->getProfileStream(), stream);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_GT(monitor.started, 0);
  EXPECT_EQ(monitor.started, monitor.finished);
  EXPECT_TRUE(has(b.logger.infos(), "IBuilderConfig::setProfileStream")) << b.logger.infos();
  EXPECT_FALSE(b.config->setRemoteAutoTuningConfig("ssh://elsewhere"));
  EXPECT_TRUE(has(b.logger.take_errors(), "IBuilderConfig::setRemoteAutoTuningConfig"));
  EXPECT_STREQ(b.config->getRemoteAutoTuningConfig(), "");
  EXPECT_TRUE(b.config->setRemoteAutoTuningConfig(""));
}

TEST(ConfigCalls, LibrariesToSerialize) {
  Dense b;
  EXPECT_EQ(b.config->getNbPluginsToSerialize(), 0);
  const char* const paths[] = {"/nowhere/libone.so", "/nowhere/libtwo.so"};
  b.config->setPluginsToSerialize(paths, 2);
  EXPECT_EQ(b.config->getNbPluginsToSerialize(), 2);
  EXPECT_STREQ(b.config->getPluginToSerialize(1), "/nowhere/libtwo.so");
  EXPECT_EQ(b.config->getPluginToSerialize(2), nullptr);
  EXPECT_EQ(b.engine(), nullptr) << "they are not there";
  EXPECT_TRUE(has(b.logger.take_errors(), "/nowhere/libone.so"));
}

TEST(ConfigCalls, CachesAreCombinedAndEmptied) {
  const auto filled = [](Dense& b) {
    wootz_config_set_option(b.config.get(), "timing", "1");
    Owned<ITimingCache> cache(b.config->createTimingCache(nullptr, 0));
    EXPECT_TRUE(b.config->setTimingCache(*cache, false));
    EXPECT_EQ(b.config->getTimingCache(), cache.get());
    EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
    return cache;
  };
  Dense b;
  const Owned<ITimingCache> from = filled(b), to(b.config->createTimingCache(nullptr, 0));
  const int64_t count = from->queryKeys(nullptr, 0);
  EXPECT_GT(count, 0);
  EXPECT_EQ(to->queryKeys(nullptr, 0), 0);
  EXPECT_TRUE(to->combine(*from, false)) << b.logger.errors();
  EXPECT_EQ(to->queryKeys(nullptr, 0), count);
  EXPECT_TRUE(to->reset());
  EXPECT_EQ(to->queryKeys(nullptr, 0), 0);
  EXPECT_EQ(from->queryKeys(nullptr, 0), count);
}

// What a selector learns of the kernels that it chooses among.
struct Reader final : IAlgorithmSelector {
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    EXPECT_STRNE(context.getName(), "");
    EXPECT_GT(context.getNbInputs(), 0);
    EXPECT_EQ(context.getNbOutputs(), 1);
    std::set<std::pair<int64_t, int64_t>> variants;
    for (int32_t i = 0; i < count; ++i) {
      const IAlgorithmVariant& variant = choices[i]->getAlgorithmVariant();
      EXPECT_NE(variant.getImplementation(), 0);
      EXPECT_NE(variant.getTactic(), 0);
      variants.emplace(variant.getImplementation(), variant.getTactic());
      EXPECT_EQ(choices[i]->getTimingMSec(), 0.F) << "nothing is timed yet";
      EXPECT_LT(choices[i]->getWorkspaceSize(), size_t{1} << 40);
      const IAlgorithmIOInfo* info = choices[i]->getAlgorithmIOInfoByIndex(0);
      EXPECT_EQ(info->getVectorizedDim(), info->getComponentsPerElement() > 1 ? 1 : -1);
      EXPECT_EQ(info->getStrides().nbDims, -1) << "the batch is open";
    }
    EXPECT_EQ(variants.size(), static_cast<size_t>(count)) << "each is another one";
    asked += 1;
    return selection[0] = 0, 1;
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const* chosen,
                        int32_t count) noexcept override {
    told = count;
    for (int32_t i = 0; i < count; ++i) timed += chosen[i]->getTimingMSec() > 0 ? 1 : 0;
  }
  int asked = 0, told = 0, timed = 0;
};

TEST(ConfigCalls, SelectorsReadTheKernels) {
  Dense b;
  wootz_config_set_option(b.config.get(), "timing", "1");
  Reader reader;
  EXPECT_STREQ(reader.getInterfaceInfo().kind, "IAlgorithmSelector");
  b.config->setAlgorithmSelector(&reader);
  EXPECT_NE(b.engine(), nullptr) << b.logger.errors();
  EXPECT_GT(reader.asked, 0);
  EXPECT_GE(reader.told, reader.asked);
  EXPECT_GT(reader.timed, 0);
}

}  // namespace
}  // namespace wootz_test
