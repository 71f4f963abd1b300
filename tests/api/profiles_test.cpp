// Profiles with tactics of their own: what a context keeps, and what it changes, when another profile is set.
#include "api/harness.h"
#include "api/refit_net.h"
#include "wootz/extensions.h"

namespace wootz_test {
namespace {

constexpr int64_t kDepth = 48, kColumns = 40;

// y = relu(x w) with rows in three profiles, of which the last two are equal.
struct Rows : Bench {
  explicit Rows(const std::vector<BuilderFlag>& flags = {}) {
    std::mt19937 rng(17);
    for (float& v : w) v = std::uniform_real_distribution<float>(-0.5F, 0.5F)(rng);
    ITensor* x = input("x", {-1, kDepth});
    ITensor* product = network
                           ->addMatrixMultiply(*x, MatrixOperation::kNONE, *constant<float>({kDepth, kColumns}, w),
                                               MatrixOperation::kNONE)
                           ->getOutput(0);
    product->setName("product");
    EXPECT_TRUE(network->markDebug(*product));
    output(network->addActivation(*product, ActivationType::kRELU), "y");
    profile("x", {1, kDepth}, {1, kDepth}, {1, kDepth});
    profile("x", {2, kDepth}, {16, kDepth}, {64, kDepth});
    profile("x", {2, kDepth}, {16, kDepth}, {64, kDepth});
    for (const BuilderFlag flag : flags) config->setFlag(flag);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    EXPECT_EQ(wootz_config_set_option(config.get(), "backend", "cpu"), 0);
    EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
  }
  Floats made(int64_t rows) const {
    Floats x(static_cast<size_t>(rows * kDepth));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) + static_cast<float>(rows));
    return x;
  }
  Floats want(const Floats& x) const {
    Floats y(x.size() / kDepth * kColumns, 0);
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t k = 0; k < kDepth; ++k) y[i] += x[i / kColumns * kDepth + k] * w[k * kColumns + i % kColumns];
      y[i] = std::max(y[i], 0.0F);
    }
    return y;
  }
  void check(IExecutionContext& context, int32_t profile, int64_t rows, void* stream = nullptr) {
    SCOPED_TRACE("profile " + std::to_string(profile) + ", rows " + std::to_string(rows));
    ASSERT_TRUE(context.setOptimizationProfileAsync(profile, static_cast<cudaStream_t>(stream))) << logger.errors();
    EXPECT_EQ(context.getOptimizationProfile(), profile);
    ASSERT_TRUE(context.setInputShape("x", dims({rows, kDepth}))) << logger.errors();
    const Floats x = made(rows);
    expect_near(run(context, {{"x", x.data()}}, "y", stream), want(x), 1e-4F);
  }
  Floats w = Floats(kDepth * kColumns);
};

TEST(Profiles, AContextGoesFromOneToTheOtherAndBack) {
  Rows net;
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  EXPECT_LT(engine->getDeviceMemorySizeForProfileV2(0), engine->getDeviceMemorySizeForProfileV2(1));
  EXPECT_EQ(engine->getDeviceMemorySizeForProfileV2(1), engine->getDeviceMemorySizeForProfileV2(2));
  EXPECT_GE(engine->getDeviceMemorySizeV2(), engine->getDeviceMemorySizeForProfileV2(1));
  using Strategy = ExecutionContextAllocationStrategy;
  for (const Strategy strategy : {Strategy::kSTATIC, Strategy::kON_PROFILE_CHANGE, Strategy::kUSER_MANAGED}) {
    const Owned<IExecutionContext> context(engine->createExecutionContext(strategy));
    std::vector<std::byte> memory(static_cast<size_t>(engine->getDeviceMemorySizeV2()) + 64);
    void* const aligned = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    if (strategy == Strategy::kUSER_MANAGED) context->setDeviceMemoryV2(aligned, engine->getDeviceMemorySizeV2());
    for (const auto& [profile, rows] :
         std::vector<std::pair<int32_t, int64_t>>{{0, 1}, {1, 64}, {0, 1}, {2, 3}, {1, 2}})
      net.check(*context, profile, rows);
  }
  EXPECT_EQ(net.logger.errors(), "");
}

TEST(Profiles, AddressesStayAndMessagesNameTheProfile) {
  Rows net;
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats x = net.made(4);
  Floats y(4 * kColumns);
  ASSERT_TRUE(context->setTensorAddress("x", const_cast<float*>(x.data())) && context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
  EXPECT_EQ(context->getTensorAddress("y"), y.data());
  ASSERT_TRUE(context->setInputShape("x", dims({4, kDepth})));
  ASSERT_TRUE(context->enqueueV3(nullptr)) << net.logger.errors();
  expect_near(y, net.want(x), 1e-4F);
  EXPECT_FALSE(context->setInputShape("x", dims({65, kDepth})));
  const std::string why = net.logger.take_errors();
  EXPECT_NE(why.find("profile 1"), std::string::npos) << why;
  EXPECT_NE(why.find("[2, 64]"), std::string::npos) << why;
  ASSERT_TRUE(context->setOptimizationProfileAsync(0, nullptr));
  EXPECT_EQ(context->getTensorAddress("x"), x.data());
  EXPECT_FALSE(context->setInputShape("x", dims({4, kDepth})));
}

// What waits in a stream runs in the profile that was set when it was put there.
TEST(Profiles, WorkInAStreamKeepsItsProfile) {
  Rows net;
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  void* const stream = wootz_stream_create();
  const Floats one = net.made(1), many = net.made(9);
  for (int round = 0; round < 3; ++round) {
    Floats y(kColumns), z(9 * kColumns);
    const auto put = [&](int32_t profile, const Floats& x, Floats* to) {
      ASSERT_TRUE(context->setOptimizationProfileAsync(profile, static_cast<cudaStream_t>(stream)));
      ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(x.size()) / kDepth, kDepth})));
      ASSERT_TRUE(context->setTensorAddress("x", const_cast<float*>(x.data())));
      ASSERT_TRUE(context->setTensorAddress("y", to->data()));
      ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(stream))) << net.logger.errors();
    };
    put(0, one, &y);
    put(1, many, &z);
    put(0, one, &y);
    ASSERT_EQ(wootz_stream_synchronize(stream), 0);
    expect_near(y, net.want(one), 1e-4F);
    expect_near(z, net.want(many), 1e-4F);
  }
  wootz_stream_destroy(stream);
}

struct Listener final : IDebugListener {
  bool processDebugTensor(const void* values, TensorLocation, DataType, const Dims& shape, const char* name,
                          cudaStream_t) override {
    names += std::string(name) + ";";
    elements = volume(shape);
    first = elements == 0 ? 0 : *static_cast<const float*>(values);
    return true;
  }
  std::string names;
  size_t elements = 0;
  float first = 0;
};

struct Layers final : IProfiler {
  void reportLayerTime(const char* name, float ms) noexcept override {
    EXPECT_GE(ms, 0) << name;
    ++layers;
  }
  int layers = 0;
};

TEST(Profiles, ListenersProfilersAndInspectorsFollow) {
  Rows net;
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Listener listener;
  Layers layers;
  context->setProfiler(&layers);
  ASSERT_TRUE(context->setDebugListener(&listener));
  ASSERT_TRUE(context->setTensorDebugState("product", true));
  const Owned<IEngineInspector> inspector(engine->createEngineInspector());
  ASSERT_TRUE(inspector->setExecutionContext(context.get()));
  for (const auto& [profile, rows] : std::vector<std::pair<int32_t, int64_t>>{{0, 1}, {1, 7}, {0, 1}}) {
    listener.names.clear();
    layers.layers = 0;
    net.check(*context, profile, rows);
    EXPECT_EQ(listener.names, "product;");
    EXPECT_EQ(listener.elements, static_cast<size_t>(rows * kColumns));
    EXPECT_GT(layers.layers, 0);
    const std::string shown = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_NE(shown.find(std::to_string(rows) + ",\n            " + std::to_string(kColumns)), std::string::npos)
        << shown;
  }
  ASSERT_TRUE(inspector->setExecutionContext(nullptr));
  const std::string whole = inspector->getEngineInformation(LayerInformationFormat::kJSON);
  EXPECT_NE(whole.find("\"Profiles\""), std::string::npos) << whole;
  const std::string text = inspector->getEngineInformation(LayerInformationFormat::kONELINE);
  EXPECT_NE(text.find("Layers of profile 2:"), std::string::npos) << text;
  const auto report = [&](const char* format) {
    const Owned<IHostMemory> made(static_cast<IHostMemory*>(wootz_engine_report(engine.get(), format)));
    return made == nullptr ? "" : std::string(static_cast<const char*>(made->data()), made->size());
  };
  EXPECT_NE(report("text").find("profile 2, with tactics of its own"), std::string::npos);
  EXPECT_NE(report("html").find("\"profiles\""), std::string::npos);
  EXPECT_NE(net.logger.infos().find("profile 1: "), std::string::npos) << "the build says how they differ";
}

struct Keeper final : IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    memory.resize(static_cast<size_t>(size) / sizeof(float));
    return memory.data();
  }
  void notifyShape(const char*, const Dims& shape) noexcept override { rows = shape.d[0]; }
  Floats memory;
  int64_t rows = -1;
};

TEST(Profiles, OutputAllocatorsStay) {
  Rows net;
  const Owned<ICudaEngine> engine = net.engine();
  ASSERT_NE(engine, nullptr) << net.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Keeper keeper;
  ASSERT_TRUE(context->setOutputAllocator("y", &keeper));
  for (const auto& [profile, rows] : std::vector<std::pair<int32_t, int64_t>>{{1, 5}, {0, 1}, {2, 64}}) {
    const Floats x = net.made(rows);
    ASSERT_TRUE(context->setOptimizationProfileAsync(profile, nullptr));
    EXPECT_EQ(context->getOutputAllocator("y"), &keeper);
    ASSERT_TRUE(context->setInputShape("x", dims({rows, kDepth})));
    ASSERT_TRUE(context->setInputTensorAddress("x", x.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << net.logger.errors();
    EXPECT_EQ(keeper.rows, rows);
    expect_near(keeper.memory, net.want(x), 1e-4F);
  }
}

TEST(Profiles, ARefitReachesAllOfThem) {
  const auto with_profiles = [](Cnn& net) { net.profile("x", {5, 8, 8, 8}, {8, 8, 8, 8}, {16, 8, 8, 8}); };
  Cnn before(1), after(2);
  with_profiles(before);
  with_profiles(after);
  const Owned<ICudaEngine> engine = before.engine(), fresh = after.engine();
  ASSERT_NE(engine, nullptr) << before.logger.errors();
  ASSERT_NE(fresh, nullptr) << after.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext()), other(fresh->createExecutionContext());
  const auto in_profile = [](IExecutionContext& c, int32_t profile, int64_t batch) {
    EXPECT_TRUE(c.setOptimizationProfileAsync(profile, nullptr));
    return infer(c, batch);
  };
  EXPECT_NE(in_profile(*context, 1, 6), in_profile(*other, 1, 6));
  const Owned<IRefitter> refitter(createInferRefitter(*engine, before.logger));
  offer_all(*refitter, after);
  ASSERT_TRUE(refitter->refitCudaEngine()) << before.logger.errors();
  for (const auto& [profile, batch] : std::vector<std::pair<int32_t, int64_t>>{{1, 6}, {0, 2}, {1, 16}})
    EXPECT_EQ(in_profile(*context, profile, batch), in_profile(*other, profile, batch)) << profile;
  // And is in what the engine writes.
  const Owned<IHostMemory> plan(engine->serialize());
  const Owned<IRuntime> runtime(createInferRuntime(before.logger));
  const Owned<ICudaEngine> again(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(again, nullptr) << before.logger.errors();
  const Owned<IExecutionContext> third(again->createExecutionContext());
  EXPECT_EQ(in_profile(*third, 1, 6), in_profile(*other, 1, 6));
}

}  // namespace
}  // namespace wootz_test
