// Post-training INT8: calibrators of every kind, their caches, ranges of tensors, and what stays in float.
#include <algorithm>
#include <random>

#include "api/harness.h"
#include "base/cpu_info.h"
#include "base/testing.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;  // NOLINT: for tests
using Floats = std::vector<float>;

constexpr size_t kElements = 2 * 8 * 8 * 8;

Floats drawn(std::mt19937_64& random, size_t count, float size) {
  Floats values(count);
  for (float& v : values) v = std::uniform_real_distribution<float>(-size, size)(random);
  return values;
}

// relu(conv(x)), a convolution with what it read added to it, the mean of the pixels and a product.
struct Net : Bench {
  explicit Net(BuilderFlags flags = 1U << static_cast<uint32_t>(BuilderFlag::kINT8), int64_t batch = 2)
      : random(wootz::test_seed()) {
    wootz_config_set_option(config.get(), "timing", "0");
    wootz_config_set_option(config.get(), "backend", "cpu");
    config->setFlags(flags);
    first = drawn(random, 16 * 8 * 9, 0.2F), second = drawn(random, 16 * 16 * 9, 0.2F);
    bias = drawn(random, 16, 0.2F), matrix = drawn(random, 160, 0.4F);
    x = input("x", {batch, 8, 8, 8});
    IConvolutionLayer* a = conv(x, "a", first);
    active = network->addActivation(*a->getOutput(0), ActivationType::kRELU)->getOutput(0);
    active->setName("active");
    IConvolutionLayer* b = conv(active, "b", second);
    ITensor* sum = network->addElementWise(*b->getOutput(0), *active, ElementWiseOperation::kSUM)->getOutput(0);
    ITensor* mean = network->addReduce(*sum, ReduceOperation::kAVG, (1U << 2) | (1U << 3), false)->getOutput(0);
    mean->setName("mean");
    auto* last = network->addMatrixMultiply(*mean, MatrixOperation::kNONE, *constant<float>({16, 10}, matrix),
                                            MatrixOperation::kNONE);
    last->setName("last");
    output(last, "y");
  }
  IConvolutionLayer* conv(ITensor* from, const char* name, const Floats& filter) {
    IConvolutionLayer* layer = network->addConvolutionNd(*from, 16, dims({3, 3}), weights(filter), weights(bias));
    layer->setPaddingNd(dims({1, 1}));
    layer->setName(name);
    return layer;
  }
  std::string plan() {
    const Owned<IHostMemory> made(builder->buildSerializedNetwork(*network, *config));
    return made == nullptr ? "" : std::string(static_cast<const char*>(made->data()), made->size());
  }
  std::mt19937_64 random;
  Floats first, second, bias, matrix;
  ITensor *x = nullptr, *active = nullptr;
};

// Names of the steps that read 8 bits.
std::string int8_steps(const std::string& plan) {
  const auto program = wootz::read_plan({reinterpret_cast<const std::byte*>(plan.data()), plan.size()});
  if (!program.ok()) return program.status().to_string();
  std::string names;
  for (const wootz::Step& step : (*program)->steps) {
    const bool product = step.problem.is(wootz::Family::kConv) || step.problem.is(wootz::Family::kGemm);
    if (product && step.problem.inputs[0].dtype == wootz::DType::kI8)
      names += step.name.substr(0, step.name.find(' ')) + ";";
  }
  return names;
}

Floats infer(Net& net, const std::string& plan, const Floats& x) {
  const Owned<IRuntime> runtime(createInferRuntime(net.logger));
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (engine == nullptr) return {};
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  return run(*context, {{"x", x.data()}}, "y");
}

double relative_error(const Floats& got, const Floats& want) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += (got.at(i) - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

template <class Base>
struct Sampled : Base {
  int32_t getBatchSize() const noexcept override { return 2; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(names[0], "x");
    if (!failure.empty()) wootz_calibrator_failed(failure.c_str());
    if (asked == batches.size()) return false;
    if (bytes != 0) wootz_calibrator_batch_on_host(&bytes);
    bindings[0] = address != nullptr ? address : batches[asked].data();
    ++asked;
    return true;
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = cache.size();
    return cache.empty() ? nullptr : cache.data();
  }
  void writeCalibrationCache(const void* text, std::size_t length) noexcept override {
    written.assign(static_cast<const char*>(text), length);
  }
  std::vector<Floats> batches;
  size_t asked = 0;
  std::string cache, written, failure;
  size_t bytes = 0;         // that it says there are; 0: nothing
  void* address = nullptr;  // in place of the batch's
};

struct Legacy final : Sampled<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override { return quantile; }
  double getRegressionCutoff() const noexcept override { return 0.1; }
  const void* readHistogramCache(std::size_t& length) noexcept override { return length = 0, nullptr; }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}
  double quantile = 0.9999;
};

template <class Calibrator>
void fill(Calibrator* calibrator, Net& net, size_t batches = 4) {
  for (size_t i = 0; i < batches; ++i) calibrator->batches.push_back(drawn(net.random, kElements, 1));
}

template <class Calibrator>
void expect_calibrated(const char* header, const char* option = "") {
  SCOPED_TRACE(header);
  Net exact(0), net, second;
  for (Net* each : {&net, &second}) wootz_config_set_option(each->config.get(), "calibration", option);
  Calibrator calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  const std::string plan = net.plan();
  ASSERT_NE(plan, "") << net.logger.errors();
  EXPECT_EQ(calibrator.asked, 4u);
  EXPECT_EQ(calibrator.written.rfind(header, 0), 0u) << calibrator.written;
  EXPECT_NE(calibrator.written.find("\nx: "), std::string::npos) << calibrator.written;
  EXPECT_NE(calibrator.written.find("\nactive: "), std::string::npos) << calibrator.written;
  EXPECT_EQ(int8_steps(plan), "a;b;last;");
  const Floats x = drawn(net.random, kElements, 1), want = infer(exact, exact.plan(), x), got = infer(net, plan, x);
  ASSERT_EQ(got.size(), 20u);
  EXPECT_LT(relative_error(got, want), 0.05);
  EXPECT_NE(got, want) << "it was rounded";
  EXPECT_EQ(net.logger.warnings(), "");
  // From the cache, without a batch.
  Calibrator again;
  again.cache = calibrator.written;
  second.config->setInt8Calibrator(&again);
  EXPECT_EQ(second.plan(), plan);
  EXPECT_EQ(again.asked, 0u);
}

TEST(Calibration, EveryKindOfCalibrator) {
  expect_calibrated<Sampled<IInt8EntropyCalibrator2>>("TRT-101600-EntropyCalibration2\n");
  expect_calibrated<Sampled<IInt8EntropyCalibrator>>("TRT-101600-EntropyCalibration\n");
  expect_calibrated<Sampled<IInt8MinMaxCalibrator>>("TRT-101600-MinMaxCalibration\n");
  expect_calibrated<Legacy>("TRT-101600-LegacyCalibration\n");
  expect_calibrated<Sampled<IInt8EntropyCalibrator2>>("TRT-101600-LeastErrorCalibration\n", "least_error");
}

TEST(Calibration, WhatItCannotUseEndsTheBuild) {
  using Calibrator = Sampled<IInt8EntropyCalibrator2>;
  const struct {
    void (*set)(Calibrator& calibrator);
    const char* said;
  } cases[] = {
      {[](Calibrator& c) { c.batches.clear(); }, "neither a batch nor a cache"},
      {[](Calibrator& c) { c.batches[1][7] = NAN; }, "tensor 'x'"},
      {[](Calibrator& c) { c.cache = "TRT-1-EntropyCalibration2\nx 3c008912\n"; }, "the calibration cache: line 2"},
      {[](Calibrator& c) { c.failure = "no disk"; }, "IInt8Calibrator::getBatch failed: no disk"},
      {[](Calibrator& c) { c.bytes = 4; }, "batch 0: 'x': there are 4 bytes, and f32 [2x8x8x8] are 4096"},
      {[](Calibrator& c) { c.address = reinterpret_cast<void*>(uintptr_t{16}); }, "batch 0: 'x': "},
  };
  for (const auto& c : cases) {
    Net net;
    Calibrator calibrator;
    fill(&calibrator, net);
    c.set(calibrator);
    net.config->setInt8Calibrator(&calibrator);
    EXPECT_EQ(net.plan(), "") << c.said;
    EXPECT_NE(net.logger.errors().find(c.said), std::string::npos) << net.logger.errors();
    EXPECT_EQ(calibrator.written, "");
  }
  Net net;
  Legacy legacy;
  legacy.quantile = 1.5;
  net.config->setInt8Calibrator(&legacy);
  EXPECT_EQ(net.plan(), "");
  EXPECT_NE(net.logger.errors().find("getQuantile"), std::string::npos) << net.logger.errors();
}

// An infinity, as masks have them, has no range: that only matters where it would have to become 8 bits.
TEST(Calibration, InfinitiesMatterWhereTheyAreQuantized) {
  for (const bool read : {false, true}) {
    SCOPED_TRACE(read);
    Net net;
    ITensor* zeros = net.network->addActivation(*net.x, ActivationType::kRELU)->getOutput(0);
    ITensor* log = net.network->addUnary(*zeros, UnaryOperation::kLOG)->getOutput(0);
    log->setName("log");
    if (read)
      net.output(net.conv(log, "c", net.first), "of_log");
    else
      net.output(log, "of_log");
    Sampled<IInt8MinMaxCalibrator> calibrator;
    fill(&calibrator, net);
    net.config->setInt8Calibrator(&calibrator);
    const std::string plan = net.plan();
    if (!read) {
      EXPECT_EQ(int8_steps(plan), "a;b;last;") << net.logger.errors();
      EXPECT_EQ(calibrator.written.find("of_log"), std::string::npos) << calibrator.written;
      continue;
    }
    EXPECT_EQ(plan, "");
    EXPECT_NE(net.logger.errors().find("calibration: tensor 'log': a value is -inf"), std::string::npos)
        << net.logger.errors();
    EXPECT_EQ(calibrator.written, "");
    EXPECT_TRUE(log->setDynamicRange(-10, 10));
    calibrator.asked = 0;
    EXPECT_EQ(int8_steps(net.plan()), "a;b;last;c;") << net.logger.errors();
  }
}

// Where the device has no 8-bit kernel nothing is rounded for nothing. (For groups wider processors than AVX2's have
// one.)
TEST(Calibration, WhatHasNoKernelStaysInFloat) {
  const auto grouped = [](Net& net) {
    IConvolutionLayer* layer = net.conv(net.x, "c", net.matrix);
    layer->setKernelSizeNd(dims({1, 1}));
    layer->setPaddingNd(dims({0, 0}));
    layer->setNbGroups(8);
    layer->setNbOutputMaps(16);
    layer->setKernelWeights({DataType::kFLOAT, net.matrix.data(), 16});
    net.network->unmarkOutput(*net.network->getOutput(0));
    net.output(layer, "y");
  };
  Net exact(0), net;
  grouped(exact);
  grouped(net);
  EXPECT_TRUE(net.x->setDynamicRange(-1, 1));
  const Floats x = drawn(net.random, kElements, 1);
  net.first = exact.first, net.matrix = exact.matrix;
  const std::string plan = net.plan();
  if (wootz::usable_isa("") > wootz::Isa::kAvx2) {
    EXPECT_EQ(int8_steps(plan), "c;") << net.logger.errors();
    EXPECT_EQ(net.logger.warnings(), "");
    return;
  }
  EXPECT_EQ(int8_steps(plan), "") << net.logger.errors();
  EXPECT_NE(net.logger.warnings().find("nothing is computed in INT8"), std::string::npos) << net.logger.warnings();
  EXPECT_EQ(infer(net, plan, x), infer(exact, exact.plan(), x));
}

TEST(Calibration, QuantizeLayersAloneCount) {
  Net net;
  const Floats hundredth{0.01F};
  ITensor* scale = net.constant<float>({}, hundredth);
  IQuantizeLayer* there = net.network->addQuantize(*net.x, *scale, DataType::kINT8);
  net.output(net.network->addDequantize(*there->getOutput(0), *scale, DataType::kFLOAT), "rounded");
  Sampled<IInt8EntropyCalibrator2> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(int8_steps(net.plan()), "");
  EXPECT_EQ(calibrator.asked, 0u);
  EXPECT_NE(net.logger.warnings().find("these alone say"), std::string::npos) << net.logger.warnings();
}

// Batches of another size than the network's are read as far as that says.
TEST(Calibration, OtherBatchSizesAreTold) {
  Net net(1U << static_cast<uint32_t>(BuilderFlag::kINT8), 1);
  Sampled<IInt8MinMaxCalibrator> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(int8_steps(net.plan()), "a;b;last;") << net.logger.errors();
  EXPECT_NE(net.logger.warnings().find("batches are of 2, input 'x' has [1x8x8x8]"), std::string::npos)
      << net.logger.warnings();
}

TEST(Calibration, ACacheOfAnotherAlgorithmIsNamedAndNotUsed) {
  Net net;
  Sampled<IInt8EntropyCalibrator2> calibrator;
  fill(&calibrator, net);
  calibrator.cache = "TRT-8000-MinMaxCalibration\nx: 3c008912\n";
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(int8_steps(net.plan()), "a;b;last;");
  EXPECT_EQ(calibrator.asked, 4u);
  EXPECT_NE(net.logger.warnings().find("MinMaxCalibration"), std::string::npos) << net.logger.warnings();
}

TEST(Calibration, WhatACacheLacksStaysInFloat) {
  Net net;
  Sampled<IInt8EntropyCalibrator2> calibrator;
  calibrator.cache = "TRT-8000-EntropyCalibration2\nx: 3c008912\n";
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(int8_steps(net.plan()), "a;");
  EXPECT_NE(net.logger.warnings().find("'active', 'mean'"), std::string::npos) << net.logger.warnings();
}

// Ranges by hand, with and without a calibrator, which they win over.
TEST(Calibration, RangesOfTensors) {
  Net exact(0), net;
  EXPECT_TRUE(net.x->setDynamicRange(-1, 1));
  EXPECT_TRUE(net.active->setDynamicRange(0, 4));
  const std::string plan = net.plan();
  EXPECT_EQ(int8_steps(plan), "a;b;");
  const Floats x = drawn(net.random, kElements, 1), want = infer(exact, exact.plan(), x);
  EXPECT_LT(relative_error(infer(net, plan, x), want), 0.05);
  Sampled<IInt8EntropyCalibrator2> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_TRUE(net.x->setDynamicRange(-0.01F, 0.01F));
  const Floats cut = infer(net, net.plan(), x);
  EXPECT_GT(relative_error(cut, want), 0.2) << "the range is what the application says";
  EXPECT_TRUE(net.x->setDynamicRange(0, 0));
  EXPECT_EQ(net.plan(), "");
  EXPECT_NE(net.logger.errors().find("tensor 'x'"), std::string::npos) << net.logger.errors();
}

TEST(Calibration, LayersKeepTheTypeThatTheyAreAskedFor) {
  Net net((1U << static_cast<uint32_t>(BuilderFlag::kINT8)) |
          (1U << static_cast<uint32_t>(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS)));
  Sampled<IInt8MinMaxCalibrator> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  net.network->getLayer(0)->setPrecision(DataType::kFLOAT);
  net.network->getLayer(2)->setPrecision(DataType::kINT8);
  EXPECT_EQ(int8_steps(net.plan()), "b;last;") << net.logger.errors();
  net.network->getLayer(1)->setPrecision(DataType::kINT8);
  calibrator.asked = 0;
  EXPECT_EQ(net.plan(), "");
  EXPECT_NE(net.logger.errors().find("is asked to compute in i8"), std::string::npos) << net.logger.errors();
}

TEST(Calibration, TheProfileGivesTheShapes) {
  Net net(1U << static_cast<uint32_t>(BuilderFlag::kINT8), -1);
  net.profile("x", {1, 8, 8, 8}, {4, 8, 8, 8}, {8, 8, 8, 8});
  IOptimizationProfile* p = net.builder->createOptimizationProfile();
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    EXPECT_TRUE(p->setDimensions("x", select, dims({2, 8, 8, 8})));
  EXPECT_TRUE(net.config->setCalibrationProfile(p));
  Sampled<IInt8MinMaxCalibrator> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(int8_steps(net.plan()), "a;b;last;") << net.logger.errors();
  EXPECT_EQ(net.logger.warnings(), "") << "batches are of two, as the profile says";
}

struct Stopping final : IProgressMonitor {
  void phaseStart(const char* phase, const char*, int32_t) noexcept override { phases += std::string(phase) + ";"; }
  bool stepComplete(const char* phase, int32_t) noexcept override { return std::string(phase) != stop; }
  void phaseFinish(const char*) noexcept override {}
  std::string phases, stop = "Calibrate batch 1";
};

TEST(Calibration, EndsWhereTheMonitorSaysSo) {
  Net net;
  Sampled<IInt8MinMaxCalibrator> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  Stopping monitor;
  net.config->setProgressMonitor(&monitor);
  EXPECT_EQ(net.plan(), "");
  EXPECT_EQ(calibrator.asked, 2u);
  EXPECT_NE(monitor.phases.find("Calibrate;Calibrate batch 0;Calibrate batch 1;"), std::string::npos) << monitor.phases;
}

TEST(Calibration, ARefitTakesTheScalesOfTheBuild) {
  const BuilderFlags flags =
      (1U << static_cast<uint32_t>(BuilderFlag::kINT8)) | (1U << static_cast<uint32_t>(BuilderFlag::kREFIT));
  Net net(flags);
  Sampled<IInt8MinMaxCalibrator> calibrator;
  fill(&calibrator, net);
  net.config->setInt8Calibrator(&calibrator);
  const std::string plan = net.plan();
  EXPECT_EQ(int8_steps(plan), "a;b;last;") << net.logger.errors();
  const Owned<IRuntime> runtime(createInferRuntime(net.logger));
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
  Floats filter = net.first;
  for (float& v : filter) v *= 0.5F;
  EXPECT_TRUE(refitter->setWeights("a", WeightsRole::kKERNEL, weights(filter)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
  Net other(flags);
  static_cast<IConvolutionLayer*>(other.network->getLayer(0))->setKernelWeights(weights(filter));
  Sampled<IInt8MinMaxCalibrator> cached;
  cached.cache = calibrator.written;
  other.config->setInt8Calibrator(&cached);
  const Floats x = drawn(net.random, kElements, 1);
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(run(*context, {{"x", x.data()}}, "y"), infer(other, other.plan(), x));
}

}  // namespace
}  // namespace wootz_test
