// Plugin libraries: opened by a registry, and carried by plans.
#include <dlfcn.h>

#include <filesystem>
#include <fstream>

#include "plugins/script_plugin.h"
#include "wootz/serialization_config.h"

namespace wootz_test {
namespace {

constexpr const char* kLibrary = WOOTZ_TEST_PLUGIN_LIBRARY;

IPluginV3Layer* add_by_name(Bench& b, IPluginRegistry& registry, const char* name, ITensor* x) {
  auto* creator = static_cast<IPluginCreatorV3One*>(registry.getCreator(name, "1", ""));
  if (creator == nullptr) return nullptr;
  const PluginFieldCollection none{0, nullptr};
  Owned<IPluginV3> plugin(creator->createPlugin("p", &none, TensorRTPhase::kBUILD));
  IPluginV3Layer* layer = b.network->addPluginV3(&x, 1, nullptr, 0, *plugin);
  if (layer != nullptr) layer->setName("carried");
  return layer;
}

TEST(PluginLibraries, CreatorsComeAndGoWithTheLibrary) {
  Bench b;
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  EXPECT_EQ(registry.getCreator("TripleIt", "1", ""), nullptr);
  EXPECT_EQ(registry.loadLibrary("/nowhere/lib.so"), nullptr);
  EXPECT_NE(b.logger.take_errors().find("/nowhere/lib.so"), std::string::npos) << "the builder's logger is told";
  EXPECT_EQ(getPluginRegistry()->loadLibrary("/nowhere/else.so"), nullptr);
  EXPECT_NE(b.logger.take_errors().find("/nowhere/else.so"), std::string::npos) << "of the process's, the last logger";
  const auto handle = registry.loadLibrary(kLibrary);
  ASSERT_NE(handle, nullptr) << b.logger.errors();
  EXPECT_NE(registry.getCreator("TripleIt", "1", ""), nullptr);
  EXPECT_NE(registry.getCreator("QuadIt", "1", ""), nullptr) << "it registers itself with the process";
  registry.deregisterLibrary(handle);
  EXPECT_EQ(registry.getCreator("TripleIt", "1", ""), nullptr);
  EXPECT_EQ(getPluginRegistry()->getCreator("QuadIt", "1", ""), nullptr) << "its code is gone";
}

// By the function that libraries export whose plugins are all of V2.
TEST(PluginLibraries, CreatorsOfV2AreFoundByTheirOwnFunction) {
  constexpr const char* kV2 = WOOTZ_TEST_PLUGIN_LIBRARY_V2;
  Bench b;
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  const auto handle = registry.loadLibrary(kV2);
  ASSERT_NE(handle, nullptr) << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
  auto* const creator = static_cast<IPluginCreator*>(registry.getCreator("HalfIt", "1", ""));
  ASSERT_NE(creator, nullptr);
  const PluginFieldCollection none{0, nullptr};
  IPluginV2* const plugin = creator->createPlugin("p", &none);
  ITensor* x = b.input("x", {4});
  b.output(b.network->addPluginV2(&x, 1, *plugin), "y");
  plugin->destroy();
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr) << "the runtime has no such creator";
  ASSERT_NE(runtime->getPluginRegistry().loadLibrary(kV2), nullptr) << logger.errors();
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 0.5F));
}

// Where both functions are exported, the newer one is asked.
TEST(PluginLibraries, OneFunctionIsAsked) {
  Bench b;
  const auto handle = b.builder->getPluginRegistry().loadLibrary(kLibrary);
  ASSERT_NE(handle, nullptr) << b.logger.errors();
  const auto asked = reinterpret_cast<int (*)()>(dlsym(handle, "askedForPluginCreators"));
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked(), 0);
}

TEST(PluginLibraries, ALibraryIsLoadedOnce) {
  Bench b;
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  const auto handle = registry.loadLibrary(kLibrary);
  ASSERT_NE(handle, nullptr) << b.logger.errors();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(registry.loadLibrary(kLibrary), nullptr);
    EXPECT_NE(b.logger.take_errors().find("is loaded already"), std::string::npos);
  }
  EXPECT_NE(registry.getCreator("TripleIt", "1", ""), nullptr) << "what the first call registered stays";
  registry.deregisterLibrary(handle);
  EXPECT_EQ(registry.getCreator("TripleIt", "1", ""), nullptr);
  EXPECT_EQ(getPluginRegistry()->getCreator("QuadIt", "1", ""), nullptr);
  registry.deregisterLibrary(handle);
  EXPECT_NE(b.logger.take_errors().find("not a library that this registry opened"), std::string::npos);
  EXPECT_NE(registry.loadLibrary(kLibrary), nullptr) << "and again: " << b.logger.errors();
}

// A creator that registered itself stays until the last registry closes its library.
TEST(PluginLibraries, RegistriesShareALibrary) {
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  {
    Bench b;
    ASSERT_NE(b.builder->getPluginRegistry().loadLibrary(kLibrary), nullptr) << b.logger.errors();
    ASSERT_NE(runtime->getPluginRegistry().loadLibrary(kLibrary), nullptr) << logger.errors();
  }
  EXPECT_NE(runtime->getPluginRegistry().getCreator("TripleIt", "1", ""), nullptr);
  EXPECT_NE(runtime->getPluginRegistry().getCreator("QuadIt", "1", ""), nullptr);
}

TEST(PluginLibraries, CreatorsWhoseNamesAreTakenAreRefused) {
  Bench b;
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  ASSERT_NE(registry.loadLibrary(kLibrary), nullptr) << b.logger.errors();
  const std::string copy = (std::filesystem::temp_directory_path() / "wootz_plugins_copy.so").string();
  std::filesystem::copy_file(kLibrary, copy, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(registry.loadLibrary(copy.c_str()), nullptr);
  EXPECT_NE(b.logger.take_errors().find("'TripleIt' version '1' is registered already"), std::string::npos);
  EXPECT_NE(registry.getCreator("TripleIt", "1", ""), nullptr);
  std::filesystem::remove(copy);
}

Owned<IHostMemory> build(Bench& b, const char* name, bool carry) {
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  const auto handle = registry.loadLibrary(kLibrary);
  EXPECT_NE(handle, nullptr);
  IPluginV3Layer* layer = add_by_name(b, registry, name, b.input("x", {4}));
  EXPECT_NE(layer, nullptr);
  b.output(layer, "y");
  if (carry) b.config->setPluginsToSerialize(&kLibrary, 1);
  EXPECT_EQ(b.config->getNbPluginsToSerialize(), carry ? 1 : 0);
  return Owned<IHostMemory>(b.builder->buildSerializedNetwork(*b.network, *b.config));
}

TEST(PluginLibraries, PlansCarryThem) {
  for (const char* name : {"TripleIt", "QuadIt"}) {
    Owned<IHostMemory> plan;
    {
      Bench b;
      plan = build(b, name, true);
      ASSERT_NE(plan, nullptr) << b.logger.errors();
      EXPECT_EQ(b.logger.warnings().find('\n'), b.logger.warnings().size() - 1) << b.logger.warnings();
    }
    ASSERT_EQ(getPluginRegistry()->getCreator(name, "1", ""), nullptr) << "the builder took the library along";
    Logger logger;
    for (const uint32_t flags : {3U, 1U, 2U}) {  // TempfileControlFlag
      Owned<IRuntime> runtime(createInferRuntime(logger));
      runtime->setTempfileControlFlags(flags);
      EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr) << "not without permission";
      EXPECT_NE(logger.warnings().find("setEngineHostCodeAllowed"), std::string::npos) << logger.warnings();
      EXPECT_NE(logger.take_errors().find("carried"), std::string::npos);
      runtime->setEngineHostCodeAllowed(true);
      Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
      ASSERT_NE(engine, nullptr) << logger.errors();
      Owned<ICudaEngine> again(runtime->deserializeCudaEngine(plan->data(), plan->size()));
      EXPECT_NE(again, nullptr) << logger.errors();
      runtime.reset();  // the engine keeps what it needs
      again.reset();
      Owned<IExecutionContext> context(engine->createExecutionContext());
      const std::vector<float> input{1, 2, 3, 4};
      EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, std::string(name) == "TripleIt" ? 3 : 4));
    }
    Owned<IRuntime> runtime(createInferRuntime(logger));
    runtime->setEngineHostCodeAllowed(true);
    runtime->setTempfileControlFlags(0);
    EXPECT_EQ(runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
    EXPECT_NE(logger.take_errors().find("TempfileControlFlag"), std::string::npos);
  }
}

// A library that the application has loaded itself is preferred to the same one in the plan, allowed or not.
TEST(PluginLibraries, PlansCarryWhatIsLoadedAlready) {
  Owned<IHostMemory> plan;
  {
    Bench b;
    plan = build(b, "TripleIt", true);
    ASSERT_NE(plan, nullptr) << b.logger.errors();
  }
  for (const bool allowed : {true, false}) {
    Logger logger;
    const Owned<IRuntime> runtime(createInferRuntime(logger));
    ASSERT_NE(runtime->getPluginRegistry().loadLibrary(kLibrary), nullptr) << logger.errors();
    const IPluginCreatorInterface* const creator = runtime->getPluginRegistry().getCreator("TripleIt", "1", "");
    runtime->setEngineHostCodeAllowed(allowed);
    const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(runtime->getPluginRegistry().getCreator("TripleIt", "1", ""), creator);
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    const std::vector<float> input{1, 2, 3, 4};
    EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 3));
    EXPECT_EQ(logger.errors(), "");
  }
}

// That of the builder or runtime that calls: no two of them are told what is the other's.
TEST(PluginLibraries, FindTheLoggerOfWhoCallsThem) {
  const auto said = [](const Logger& logger, const char* text) {
    return logger.infos().find(text) != std::string::npos;
  };
  constexpr const char *kOpen = "the library is open", *kMade = "made for an engine", *kRun = "QuadIt: enqueue";
  Bench b;
  const Owned<IHostMemory> plan = build(b, "TripleIt", false);
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_TRUE(said(b.logger, kOpen));
  EXPECT_FALSE(said(b.logger, kMade));
  EXPECT_EQ(b.logger.warnings().find("setLoggerFinder"), std::string::npos);
  const std::string before = b.logger.infos();
  Logger first, second;
  for (Logger* const logger : {&first, &second}) {
    const Owned<IRuntime> runtime(createInferRuntime(*logger));
    ASSERT_NE(runtime->getPluginRegistry().loadLibrary(kLibrary), nullptr) << logger->errors();
    EXPECT_TRUE(said(*logger, kOpen));
    const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr) << logger->errors();
    EXPECT_TRUE(said(*logger, kMade));
    EXPECT_FALSE(said(*logger, kRun));
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    const std::vector<float> input{1, 2, 3, 4};
    EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 3));
    EXPECT_TRUE(said(*logger, kRun));
    if (logger == &first) EXPECT_EQ(second.infos(), "");
  }
  EXPECT_EQ(b.logger.infos(), before);
}

// The library is of level 10, and asks the same finder as a program of level 11 does.
TEST(PluginLibraries, OneFinderServesBothLevels) {
  Bench b;  // whose logger is the process's
  const auto handle = b.builder->getPluginRegistry().loadLibrary(kLibrary);
  ASSERT_NE(handle, nullptr) << b.logger.errors();
  const auto given = reinterpret_cast<void* (*)()>(dlsym(handle, "givenLoggerFinder"));
  ASSERT_NE(given, nullptr);
  auto* const finder = static_cast<ILoggerFinder*>(given());
  ASSERT_NE(finder, nullptr);
  EXPECT_EQ(finder->findLogger(), &b.logger);
#if NV_TENSORRT_MAJOR >= 11
  EXPECT_STREQ(finder->getInterfaceInfo().kind, "ILoggerFinder");
  v_1_0::ILoggerFinder& versioned = *finder;
  EXPECT_EQ(versioned.findLogger(), &b.logger);
#endif
}

TEST(PluginLibraries, OnlyLibrariesGoIntoPlans) {
  const std::string text = (std::filesystem::temp_directory_path() / "wootz_no_library.txt").string();
  std::ofstream(text) << "no library";
  for (const std::string& path : {text, std::string("/nowhere/lib.so")}) {
    Bench b;
    b.output(b.network->addActivation(*b.input("x", {4}), ActivationType::kRELU), "y");
    const char* const list[] = {path.c_str()};
    b.config->setPluginsToSerialize(list, 1);
    EXPECT_EQ(b.builder->buildSerializedNetwork(*b.network, *b.config), nullptr);
    EXPECT_NE(b.logger.errors().find(path), std::string::npos) << b.logger.errors();
  }
  std::filesystem::remove(text);
}

}  // namespace
}  // namespace wootz_test
