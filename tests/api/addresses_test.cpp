// Addresses where nothing is are refused with the tensor's name; and the log says which backend a build takes.
#include <sys/mman.h>

#include <cstdlib>

#include "api/dense.h"

namespace wootz_test {
namespace {

TEST(Addresses, WhereNothingIsAreRefusedByName) {
  Dense b;
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats x = rows(4, 1), want = b.expected(x);
  Floats y(64);
  ASSERT_TRUE(context->setInputShape("x", dims({4, 8})));
  ASSERT_TRUE(context->setInputTensorAddress("x", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y", y.data()));
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(::munmap(page, 4096), 0);
  for (void* wrong : {reinterpret_cast<void*>(uintptr_t{8}), page}) {
    EXPECT_FALSE(context->setInputTensorAddress("x", wrong));
    EXPECT_NE(b.logger.errors().find("input 'x'"), std::string::npos) << b.logger.errors();
    b.logger.take_errors();
    void* bindings[2] = {const_cast<float*>(x.data()), wrong};
    EXPECT_FALSE(context->executeV2(bindings));
    EXPECT_NE(b.logger.errors().find("output 'y'"), std::string::npos) << b.logger.errors();
    b.logger.take_errors();
  }
  EXPECT_EQ(context->getTensorAddress("y"), y.data()) << "what was there is kept";
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  expect_near(y, want);
}

TEST(Addresses, NullTakesAnAddressAway) {
  Dense b;
  const Owned<ICudaEngine> engine = b.engine();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  Floats y(64);
  ASSERT_TRUE(context->setTensorAddress("y", y.data()));
  ASSERT_TRUE(context->setTensorAddress("y", nullptr)) << b.logger.errors();
  EXPECT_EQ(context->getTensorAddress("y"), nullptr);
}

class Info final : public ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity == Severity::kINFO) lines += std::string(text) + "\n";
  }
  std::string lines;
};

std::string built_by(const char* option) {
  Info info;
  const Owned<IBuilder> builder(createInferBuilder(info));
  const Owned<INetworkDefinition> network(builder->createNetworkV2(0));
  const Owned<IBuilderConfig> config(builder->createBuilderConfig());
  if (option != nullptr) EXPECT_EQ(wootz_config_set_option(config.get(), "backend", option), 0);
  EXPECT_EQ(wootz_config_set_option(config.get(), "timing", "0"), 0);
  ITensor* x = network->addInput("x", DataType::kFLOAT, dims({8}));
  network->markOutput(*network->addActivation(*x, ActivationType::kRELU)->getOutput(0));
  const Owned<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_NE(plan, nullptr);
  return info.lines;
}

TEST(DefaultBackend, TheLogSaysWhichAndHowToChangeIt) {
  const char* const wish = std::getenv("WOOTZ_BACKEND");
  const std::string before = wish == nullptr ? "" : wish;
  EXPECT_NE(built_by("reference").find("Backend: reference"), std::string::npos);
  EXPECT_NE(built_by("reference").find("option 'backend'"), std::string::npos);
  ::setenv("WOOTZ_BACKEND", "reference", 1);
  EXPECT_NE(built_by(nullptr).find("Backend: reference"), std::string::npos);
  EXPECT_NE(built_by("cpu").find("Backend: cpu"), std::string::npos);
  ::unsetenv("WOOTZ_BACKEND");
  const char* reason = "";
  const std::string name = wootz_default_backend(&reason);
  EXPECT_TRUE(name == "cpu" || name == "cuda") << name;
  const std::string lines = built_by(nullptr);
  EXPECT_NE(lines.find("Backend: " + name), std::string::npos) << lines;
  EXPECT_NE(lines.find(reason), std::string::npos) << lines;
  EXPECT_NE(lines.find("WOOTZ_BACKEND"), std::string::npos) << lines;
  EXPECT_NE(lines.find("option 'backend'"), std::string::npos) << lines;
  if (name == "cpu") EXPECT_NE(lines.find("no GPU can be used: "), std::string::npos) << lines;
  if (!before.empty()) ::setenv("WOOTZ_BACKEND", before.c_str(), 1);
}

}  // namespace
}  // namespace wootz_test
