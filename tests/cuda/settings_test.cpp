// Settings of builds for a GPU: memory that tactics may take, sources of tactics, plans for every generation, formats.
#include "base/testing.h"
#include "cuda/on_device.h"
#include "plan/read.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;

struct Built {
  std::shared_ptr<const wootz::Program> program;
  std::string errors, infos;
};

// softmax(tanh(x w)), and what the config says besides.
Built build(const std::function<void(IBuilderConfig&)>& set) {
  real_gpu();
  Bench bench;
  INetworkDefinition& n = *bench.network;
  const std::vector<float> matrix(64 * 48, 0.1F);
  auto* product = n.addMatrixMultiply(*bench.input("x", {32, 64}), MatrixOperation::kNONE,
                                      *bench.constant<float>({64, 48}, matrix), MatrixOperation::kNONE);
  product->setName("product");
  ITensor* active = n.addActivation(*product->getOutput(0), ActivationType::kTANH)->getOutput(0);
  ISoftMaxLayer* softmax = n.addSoftMax(*active);
  softmax->setAxes(2);
  bench.output(softmax, "y");
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
  set(*bench.config);
  const Owned<IHostMemory> plan(bench.builder->buildSerializedNetwork(n, *bench.config));
  Built built{nullptr, bench.logger.errors(), bench.logger.infos()};
  if (plan == nullptr) return built;
  auto program = wootz::read_plan({static_cast<const std::byte*>(plan->data()), plan->size()});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  built.program = *program;
  return built;
}

bool uses(const Built& built, std::string_view provider) {
  for (const wootz::Step& step : built.program->steps)
    if (step.tactic.provider == provider) return true;
  return false;
}

TEST(CudaSettings, SourcesOfTacticsAreLeftOut) {
  const Built none = build([](IBuilderConfig& c) { EXPECT_TRUE(c.setTacticSources(0)); });
  ASSERT_NE(none.program, nullptr) << none.errors;
  EXPECT_FALSE(uses(none, "cublaslt"));
  EXPECT_FALSE(uses(none, "cudnn"));
}

TEST(CudaSettings, PlansForEveryGenerationHoldNoKernelsOfLibraries) {
  const Built all =
      build([](IBuilderConfig& c) { c.setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS); });
  ASSERT_NE(all.program, nullptr) << all.errors;
  EXPECT_TRUE(uses(all, "generated"));
  EXPECT_FALSE(uses(all, "cublaslt"));
}

// No kernel takes less than nothing; what a kernel takes is told.
TEST(CudaSettings, MemoryOfTacticsIsLimited) {
  const Built small = build([](IBuilderConfig& c) { c.setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM, 32 * 64 * 4); });
  EXPECT_EQ(small.program, nullptr);
  EXPECT_NE(small.errors.find("product"), std::string::npos) << small.errors;
  EXPECT_NE(small.infos.find("is skipped: needs"), std::string::npos) << small.infos;
}

// relu of an image whose channels lie innermost.
TEST(CudaSettings, FormatsOfInputsAndOutputs) {
  real_gpu();
  Bench bench;
  ITensor* x = bench.input("x", {2, 3, 4, 5});
  bench.output(bench.network->addActivation(*x, ActivationType::kRELU), "y");
  constexpr TensorFormats kChannelsInnermost = 1U << static_cast<uint32_t>(TensorFormat::kHWC);
  x->setAllowedFormats(kChannelsInnermost);
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "backend", "cuda"), 0);
  EXPECT_EQ(wootz_config_set_option(bench.config.get(), "timing", "0"), 0);
  const Owned<ICudaEngine> engine = bench.engine();
  ASSERT_NE(engine, nullptr) << bench.logger.errors();
  EXPECT_EQ(engine->getTensorFormat("x"), TensorFormat::kHWC);
  EXPECT_EQ(engine->getTensorFormat("y"), TensorFormat::kLINEAR);
  std::mt19937 rng(static_cast<unsigned>(wootz::test_seed()));
  std::vector<float> image(2 * 3 * 20), want(image.size()), got(image.size());
  for (float& v : image) v = std::uniform_real_distribution<float>(-1, 1)(rng);
  for (size_t n = 0; n < 2; ++n)
    for (size_t p = 0; p < 20; ++p)
      for (size_t c = 0; c < 3; ++c) want[(n * 3 + c) * 20 + p] = std::max(0.0F, image[(n * 20 + p) * 3 + c]);
  const size_t bytes = image.size() * sizeof(float);
  void* const from = wootz_device_allocate(engine.get(), bytes);
  void* const to = wootz_device_allocate(engine.get(), bytes);
  EXPECT_EQ(wootz_device_copy(engine.get(), from, image.data(), bytes), 0);
  {
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    EXPECT_TRUE(context->setInputTensorAddress("x", from));
    EXPECT_TRUE(context->setTensorAddress("y", to));
    EXPECT_TRUE(context->enqueueV3(nullptr)) << bench.logger.errors();
    EXPECT_EQ(wootz_device_synchronize(engine.get()), 0);
    EXPECT_EQ(wootz_device_copy(engine.get(), got.data(), to, bytes), 0);
  }
  EXPECT_EQ(got, want);
  wootz_device_free(engine.get(), from);
  wootz_device_free(engine.get(), to);
}

}  // namespace
}  // namespace wootz_test
