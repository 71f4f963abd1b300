// Weights that are brought in by the steps: the same bits under every budget, and memory as the budget says.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "api/harness.h"
#include "base/testing.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using Floats = std::vector<float>;
constexpr int64_t kWidth = 1024, kLayers = 6;
constexpr int64_t kMatrix = kWidth * kWidth * static_cast<int64_t>(sizeof(float));
constexpr uint32_t kTyped = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

// Products with matrices, one after the other.
struct Deep : Bench {
  explicit Deep(unsigned seed, std::vector<BuilderFlag> flags = {BuilderFlag::kWEIGHT_STREAMING},
                uint32_t network_flags = kTyped)
      : Bench(network_flags), rng(seed) {
    wootz_config_set_option(config.get(), "timing", "0");
    wootz_config_set_option(config.get(), "backend", "cpu");
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    ITensor* last = input("x", {4, kWidth});
    Floats drawn(16381);  // a prime: no row is another's, and drawing them all takes a sanitizer minutes
    for (int64_t k = 0; k < kLayers; ++k) {
      for (float& v : drawn) v = std::uniform_real_distribution<float>(-0.05F, 0.05F)(rng);
      Floats& matrix = matrices.emplace_back(static_cast<size_t>(kWidth * kWidth));
      for (size_t i = 0; i < matrix.size(); i += drawn.size())
        std::copy_n(drawn.begin(), std::min(drawn.size(), matrix.size() - i),
                    matrix.begin() + static_cast<ptrdiff_t>(i));
    }
    for (int64_t k = 0; k < kLayers; ++k) {
      ITensor* right = constant({kWidth, kWidth}, matrices[static_cast<size_t>(k)]);
      EXPECT_TRUE(network->setWeightsName(weights(matrices[static_cast<size_t>(k)]), name(k).c_str()));
      ITensor* product =
          network->addMatrixMultiply(*last, MatrixOperation::kNONE, *right, MatrixOperation::kNONE)->getOutput(0);
      last = network->addActivation(*product, ActivationType::kTANH)->getOutput(0);
    }
    output(last, "y");
  }
  static std::string name(int64_t layer) { return "matrix " + std::to_string(layer); }
  std::mt19937 rng;
  std::vector<Floats> matrices;
};

Floats results(ICudaEngine& engine, int times = 1) {
  const Owned<IExecutionContext> context(engine.createExecutionContext());
  Floats x(4 * kWidth), y;
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (int i = 0; i < times; ++i) y = run(*context, {{"x", x.data()}}, "y");
  return y;
}

// Bytes of files of streamed weights that are in this process's memory.
int64_t resident_bytes() {
  std::ifstream maps("/proc/self/smaps");
  int64_t bytes = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("wootz-weights-") != std::string::npos) ours = true;
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    if (!ours || !(words >> key >> kib) || key != "Rss:") continue;
    bytes += kib << 10;
    ours = false;
  }
  return bytes;
}

TEST(WeightStreaming, TheSameBitsUnderEveryBudget) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  Deep net(seed), plain(seed, {});
  const auto usual = plain.engine();
  const Floats want = results(*usual);
  const auto engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const int64_t all = engine->getStreamableWeightsSize();
  EXPECT_GE(all, kLayers * kMatrix);
  EXPECT_EQ(engine->getWeightStreamingBudgetV2(), all);
  EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), 0);
  EXPECT_GT(engine->getWeightStreamingAutomaticBudget(), 0);
  EXPECT_LE(engine->getWeightStreamingAutomaticBudget(), all);
  EXPECT_EQ(results(*engine), want);
  EXPECT_GE(resident_bytes(), kLayers * kMatrix);
  for (const int64_t budget : {int64_t{0}, all / 3, all / 2, all - 1, all, all * 2}) {
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(budget)) << net.logger.errors();
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), std::min(budget, all));
    EXPECT_EQ(results(*engine, 3), want) << budget;
    // The last step's weights, and what the system maps around a page that is read: up to a large page's worth.
    if (budget == 0) EXPECT_LE(resident_bytes(), kMatrix + kLayers * (int64_t{2} << 20));
  }
  EXPECT_EQ(net.logger.errors(), "");
}

TEST(WeightStreaming, BudgetsAreRefused) {
  Deep net(1), plain(1, {});
  const auto engine = net.engine(), usual = plain.engine();
  const auto refused = [](Bench& b, bool done, const char* reason) {
    const std::string errors = b.logger.take_errors();
    EXPECT_NE(errors.find(reason), std::string::npos) << errors;
    return !done;
  };
  EXPECT_TRUE(refused(net, engine->setWeightStreamingBudgetV2(-1), "-1 bytes"));
  {
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_TRUE(refused(net, engine->setWeightStreamingBudgetV2(0), "1 contexts"));
  }
  EXPECT_TRUE(engine->setWeightStreamingBudgetV2(0));
  EXPECT_TRUE(refused(plain, usual->setWeightStreamingBudgetV2(0), "kWEIGHT_STREAMING"));
  EXPECT_EQ(usual->getStreamableWeightsSize(), 0);
  EXPECT_EQ(usual->getWeightStreamingBudgetV2(), 0);
  EXPECT_EQ(usual->getWeightStreamingAutomaticBudget(), 0);
  EXPECT_EQ(usual->getMinimumWeightStreamingBudget(), 0);
  EXPECT_EQ(usual->getWeightStreamingBudget(), -1);
  EXPECT_TRUE(usual->setWeightStreamingBudget(-1)) << "it does not stream";
  Deep weak(1, {BuilderFlag::kWEIGHT_STREAMING}, 0);
  EXPECT_TRUE(refused(weak, weak.engine() != nullptr, "kSTRONGLY_TYPED"));
}

TEST(WeightStreaming, BudgetsOfVersionOne) {
  Deep net(2);
  const auto engine = net.engine();
  EXPECT_EQ(engine->getWeightStreamingBudget(), -1);
  EXPECT_TRUE(engine->setWeightStreamingBudget(0)) << "what is free";
  EXPECT_EQ(engine->getWeightStreamingBudgetV2(), engine->getWeightStreamingAutomaticBudget());
  const int64_t least = engine->getMinimumWeightStreamingBudget();
  EXPECT_TRUE(engine->setWeightStreamingBudget(least + kMatrix));
  EXPECT_EQ(engine->getWeightStreamingBudgetV2(), kMatrix);
  EXPECT_EQ(engine->getWeightStreamingBudget(), least + kMatrix);
  EXPECT_TRUE(engine->setWeightStreamingBudget(-1));
  EXPECT_EQ(engine->getWeightStreamingBudget(), -1);
  EXPECT_FALSE(engine->setWeightStreamingBudget(-2));
}

TEST(WeightStreaming, RefittedWeightsAreStreamedToo) {
  const auto seed = static_cast<unsigned>(wootz::test_seed());
  const std::vector<std::vector<BuilderFlag>> kinds = {
      {BuilderFlag::kWEIGHT_STREAMING, BuilderFlag::kREFIT},
      {BuilderFlag::kWEIGHT_STREAMING, BuilderFlag::kREFIT, BuilderFlag::kSTRIP_PLAN}};
  for (const auto& flags : kinds) {
    Deep net(seed, flags), after(seed + 1, {});
    const auto engine = net.engine(), fresh = after.engine();
    ASSERT_NE(engine, nullptr) << net.logger.errors();
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(kMatrix)) << net.logger.errors();
    const Owned<IRefitter> refitter(createInferRefitter(*engine, net.logger));
    for (int64_t k = 0; k < kLayers; ++k)
      EXPECT_TRUE(refitter->setNamedWeights(Deep::name(k).c_str(), weights(after.matrices[static_cast<size_t>(k)])));
    ASSERT_TRUE(refitter->refitCudaEngine()) << net.logger.errors();
    const Floats want = results(*fresh);
    EXPECT_EQ(results(*engine, 2), want);
    EXPECT_EQ(net.logger.errors(), "");
  }
}

TEST(WeightStreaming, AFolderThatCannotBeWrittenTo) {
  Deep net(3);
  const Owned<IHostMemory> plan(net.builder->buildSerializedNetwork(*net.network, *net.config));
  const Owned<IRuntime> runtime(createInferRuntime(net.logger));
  runtime->setTemporaryDirectory("/nowhere/at/all");  // is refused, and nothing changes
  EXPECT_NE(net.logger.take_errors().find("/nowhere/at/all"), std::string::npos);
  EXPECT_NE(Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan->data(), plan->size())), nullptr);
  EXPECT_EQ(net.logger.errors(), "");
}

// Where a mapping of streamed weights is; empty: there is none.
std::string where_weights_are() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("wootz-weights") != std::string::npos) return line.substr(line.find('/'));
  return "";
}

TEST(WeightStreaming, TemporaryFilesAreWhereTheyMayBe) {
  Deep net(static_cast<unsigned>(wootz::test_seed()));
  const Owned<IHostMemory> plan(net.builder->buildSerializedNetwork(*net.network, *net.config));
  ASSERT_NE(plan, nullptr) << net.logger.errors();
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "wootz_streaming_e2e";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(where_weights_are(), "");
  Floats want;
  const uint32_t memory = 1U << static_cast<uint32_t>(TempfileControlFlag::kALLOW_IN_MEMORY_FILES);
  const uint32_t directory = 1U << static_cast<uint32_t>(TempfileControlFlag::kALLOW_TEMPORARY_FILES);
  for (const uint32_t flags : {0U, memory, directory, memory | directory}) {
    SCOPED_TRACE(flags);
    const Owned<IRuntime> runtime(createInferRuntime(net.logger));
    runtime->setTempfileControlFlags(flags);
    runtime->setTemporaryDirectory(folder.c_str());
    const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (flags == 0) {
      EXPECT_EQ(engine, nullptr);
      EXPECT_NE(net.logger.take_errors().find("TempfileControlFlag"), std::string::npos);
      continue;
    }
    ASSERT_NE(engine, nullptr) << net.logger.errors();
    const std::string place = where_weights_are();
    EXPECT_EQ(place.find((flags & directory) != 0 ? folder.string() + "/wootz-weights-" : "/memfd:wootz-weights"), 0U)
        << place;
    EXPECT_TRUE(std::filesystem::is_empty(folder)) << "they have no name";
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0));
    const Floats got = results(*engine, 2);
    if (want.empty()) want = got;
    EXPECT_EQ(got, want);
  }
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace wootz_test
