// What registries of plugins are asked and told; creators and resources of an application's own.
#include "api/recorder.h"
#include "plugins/script_plugin.h"
#include "wootz/plugin_quick.h"

namespace wootz_test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A V2 creator whose plugins cannot be made: it is only looked at.
struct OldCreator final : IPluginCreator {
  explicit OldCreator(const char* name) : name(name) {}
  const AsciiChar* getPluginName() const noexcept override { return ++asked, name; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none; }
  IPluginV2* createPlugin(const AsciiChar*, const PluginFieldCollection*) noexcept override { return nullptr; }
  IPluginV2* deserializePlugin(const AsciiChar*, const void*, size_t) noexcept override { return nullptr; }
  void setPluginNamespace(const AsciiChar* text) noexcept override { space = text; }
  const AsciiChar* getPluginNamespace() const noexcept override { return space.c_str(); }
  const char* name;
  mutable int asked = 0;
  std::string space;
  PluginFieldCollection none{0, nullptr};
};

TEST(PluginRegistry, TakesListsAndForgetsCreators) {
  IPluginRegistry& registry = *getPluginRegistry();
  OldCreator creator("Old");
  EXPECT_STREQ(static_cast<IPluginCreator&>(creator).getInterfaceInfo().kind, "PLUGIN CREATOR_V1");
  int32_t before = 0, after = 0;
  registry.getAllCreators(&before);
  ASSERT_TRUE(registry.registerCreator(static_cast<IPluginCreatorInterface&>(creator), "museum"));
  EXPECT_GT(creator.asked, 0);
  EXPECT_EQ(creator.space, "museum") << "it hands its namespace on";
  IPluginCreatorInterface* const* all = registry.getAllCreators(&after);
  EXPECT_EQ(after, before + 1);
  EXPECT_NE(std::find(all, all + after, &creator), all + after);
  EXPECT_EQ(registry.getCreator("Old", "1", "museum"), &creator);
  EXPECT_EQ(registry.getCreator("Old", "1", ""), nullptr);
  EXPECT_FALSE(registry.registerCreator(static_cast<IPluginCreatorInterface&>(creator), "museum")) << "it is there";
  EXPECT_TRUE(registry.deregisterCreator(static_cast<const IPluginCreatorInterface&>(creator)));
  EXPECT_FALSE(registry.deregisterCreator(static_cast<const IPluginCreatorInterface&>(creator)));
}

#if NV_TENSORRT_MAJOR < 11
TEST(PluginRegistry, ListsOldCreatorsByThemselves) {
  IPluginRegistry& registry = *getPluginRegistry();
  OldCreator creator("Older");
  int32_t before = 0, after = 0;
  registry.getPluginCreatorList(&before);
  ASSERT_TRUE(registry.registerCreator(creator, "museum"));
  IPluginCreator* const* all = registry.getPluginCreatorList(&after);
  EXPECT_EQ(after, before + 1);
  EXPECT_NE(std::find(all, all + after, &creator), all + after);
  EXPECT_EQ(registry.getPluginCreator("Older", "1", "museum"), &creator);
  EXPECT_EQ(registry.getPluginCreator("Older", "2", "museum"), nullptr);
  EXPECT_TRUE(registry.deregisterCreator(creator));
  EXPECT_EQ(registry.getPluginCreator("Older", "1", "museum"), nullptr);
}
#endif

TEST(PluginRegistry, BuildersSearchTheProcessToo) {
  Bench b;
  IPluginRegistry& registry = b.builder->getPluginRegistry();
  ScriptCreator creator;
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, "shared"));
  EXPECT_TRUE(registry.isParentSearchEnabled());
  EXPECT_EQ(registry.getCreator("Script", "3", "shared"), &creator);
  int32_t own = 0, all = 0;
  registry.getAllCreators(&own);
  registry.getAllCreatorsRecursive(&all);
  EXPECT_GT(all, own);
  registry.setParentSearchEnabled(false);
  EXPECT_FALSE(registry.isParentSearchEnabled());
  EXPECT_EQ(registry.getCreator("Script", "3", "shared"), nullptr);
  registry.getAllCreatorsRecursive(&all);
  EXPECT_EQ(all, own);
  EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
}

TEST(PluginRegistry, ErrorsGoToTheRecorder) {
  IPluginRegistry& registry = *getPluginRegistry();
  Recorder recorder;
  registry.setErrorRecorder(&recorder);
  EXPECT_EQ(registry.getErrorRecorder(), &recorder);
  EXPECT_EQ(registry.loadLibrary("/nowhere/lib.so"), nullptr);
  ASSERT_EQ(recorder.getNbErrors(), 1);
  EXPECT_TRUE(has(recorder.getErrorDesc(0), "/nowhere/lib.so"));
  registry.setErrorRecorder(nullptr);
  EXPECT_EQ(registry.getErrorRecorder(), nullptr);
}

// Counts its copies.
struct Table final : IPluginResource {
  explicit Table(int* alive) : alive(alive) { ++*alive; }
  ~Table() override { --*alive; }
  int32_t release() noexcept override { return ++released, 0; }
  IPluginResource* clone() noexcept override { return new Table(alive); }
  int* alive;
  int released = 0;
};

TEST(PluginRegistry, ResourcesAreSharedAndReleased) {
  IPluginRegistry& registry = *getPluginRegistry();
  int alive = 0;
  {
    Table mine(&alive);
    EXPECT_STREQ(mine.getInterfaceInfo().kind, "IPluginResource");
    IPluginResource* const first = registry.acquirePluginResource("table", &mine);
    ASSERT_NE(first, nullptr);
    EXPECT_NE(first, &mine) << "it is a copy";
    EXPECT_EQ(registry.acquirePluginResource("table", nullptr), first);
    EXPECT_EQ(alive, 2);
    EXPECT_EQ(registry.releasePluginResource("table"), 0);
    EXPECT_EQ(alive, 2) << "one has it still";
    EXPECT_EQ(registry.releasePluginResource("table"), 0);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(mine.released, 0) << "the copy was";
  }
  EXPECT_EQ(registry.releasePluginResource("table"), -1);
  EXPECT_EQ(registry.acquirePluginResource("none", nullptr), nullptr);
}

// A creator of a kind that no version of the API has.
struct StrangeCreator final : IPluginCreatorV3One {
  InterfaceInfo getInterfaceInfo() const noexcept override { return ++asked, InterfaceInfo{"STRANGE CREATOR", 1, 0}; }
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection*, TensorRTPhase) noexcept override {
    return nullptr;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none; }
  const AsciiChar* getPluginName() const noexcept override { return "Strange"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  mutable int asked = 0;
  PluginFieldCollection none{0, nullptr};
};

TEST(PluginRegistry, CreatorsAreAskedForTheirKind) {
  Bench b;
  StrangeCreator creator;
  EXPECT_FALSE(b.builder->getPluginRegistry().registerCreator(creator, ""));
  EXPECT_GT(creator.asked, 0);
  EXPECT_TRUE(has(b.logger.take_errors(), "STRANGE CREATOR")) << "the builder's logger is told";
}

// The class that V2 began with, and that nothing runs any more.
struct FirstPlugin final : IPluginV2 {
  const AsciiChar* getPluginType() const noexcept override { return "First"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  Dims getOutputDimensions(int32_t, const Dims* in, int32_t) noexcept override { return in[0]; }
  bool supportsFormat(DataType, PluginFormat) const noexcept override { return true; }
  void configureWithFormat(const Dims*, int32_t, const Dims*, int32_t, DataType, PluginFormat,
                           int32_t) noexcept override {
    ++configured;
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept override { return 0; }
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  IPluginV2* clone() const noexcept override { return new FirstPlugin(*this); }
  void setPluginNamespace(const AsciiChar*) noexcept override {}
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  static inline int configured = 0;
};

TEST(PluginRegistry, ThePluginsThatV2BeganWithAreRefused) {
  Bench b;
  FirstPlugin plugin;
  ITensor* x = b.input("x", {3});
  EXPECT_EQ(b.network->addPluginV2(&x, 1, plugin), nullptr);
  EXPECT_EQ(FirstPlugin::configured, 0);
  const std::string why = b.logger.take_errors();
  EXPECT_TRUE(has(why, "IPluginV2 alone")) << why;
}

TEST_P(Plugins, TheLayerKnowsItsPluginAndItsExpressions) {
  // What an expression is, while shapes are asked for.
  bool constant = false, open = false, sizes = true;
  int64_t value = 0;
  script.shapes = [&](const DimsExprs* in, const DimsExprs*, DimsExprs* out, IExprBuilder& b) {
    const IDimensionExpr* three = b.constant(3);
    constant = three->isConstant();
    value = three->getConstantValue();
    open = !in->d[0]->isConstant();
    sizes = in->d[0]->isSizeTensor();
    return *out = *in, 0;
  };
  Bench b;
  IPluginV3Layer* layer = add_script(b, {b.input("x", {-1})});
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, 1);
  EXPECT_TRUE(constant);
  EXPECT_EQ(value, 3);
  EXPECT_TRUE(open);
  EXPECT_FALSE(sizes);
  IPluginV3& own = layer->getPlugin();
  EXPECT_EQ(&layer->getPlugin(), &own);
  auto* core = static_cast<IPluginV3OneCore*>(own.getCapabilityInterface(PluginCapabilityType::kCORE));
  ASSERT_NE(core, nullptr);
  EXPECT_STREQ(core->getPluginName(), "Script");
}

}  // namespace
}  // namespace wootz_test
