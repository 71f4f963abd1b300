// What goes wrong in a plugin ends the call with a reason that names the layer, and leaves nothing behind.
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

struct Fault {
  const char* callback;
  const char* says;  // part of the logged reason
};

class AddFaults : public testing::TestWithParam<Fault>, protected Scripted {};
TEST_P(AddFaults, AddingRefuses) {
  script.fails = GetParam().callback;
  Bench b;
  EXPECT_EQ(add_script(b, {b.input("x", {4})}), nullptr);
  EXPECT_NE(b.logger.errors().find(GetParam().says), std::string::npos) << b.logger.errors();
}
INSTANTIATE_TEST_SUITE_P(Each, AddFaults,
                         testing::Values(Fault{"clone", "IPluginV3::clone gave no plugin"},
                                         Fault{"getCapabilityInterface", "gives no capability"},
                                         Fault{"getNbOutputs", "getNbOutputs answered -1"}));

class BuildFaults : public testing::TestWithParam<Fault>, protected Scripted {};
TEST_P(BuildFaults, BuildingFails) {
  Bench b;
  script.tactics = {1, 2};
  IPluginV3Layer* layer = add_script(b, {b.input("x", {4})});
  ASSERT_NE(layer, nullptr);
  b.output(layer, "y");
  script.fails = GetParam().callback;
  EXPECT_EQ(b.builder->buildSerializedNetwork(*b.network, *b.config), nullptr);
  const std::string errors = b.logger.errors();
  EXPECT_NE(errors.find(GetParam().says), std::string::npos) << errors;
  EXPECT_NE(errors.find("the_plugin"), std::string::npos) << errors;
}
INSTANTIATE_TEST_SUITE_P(Each, BuildFaults,
                         testing::Values(Fault{"getOutputDataTypes", "getOutputDataTypes answered 12"},
                                         Fault{"getOutputShapes", "getOutputShapes answered 13"},
                                         Fault{"supportsFormatCombination", "supportsFormatCombination refuses"},
                                         Fault{"configurePlugin", "configurePlugin answered 11"},
                                         Fault{"getValidTactics", "getValidTactics answered 14"},
                                         Fault{"setTactic", "setTactic answered 15"},
                                         Fault{"onShapeChange", "onShapeChange answered 16"},
                                         Fault{"enqueue", "enqueue answered 17"},
                                         Fault{"attachToContext", "attachToContext gave no plugin"},
                                         Fault{"getFieldsToSerialize", "getFieldsToSerialize gave nothing"}));

class RunFaults : public Plugins {
 protected:
  RunFaults() {
    b.output(add_script(b, {b.input("x", {4})}), "y");
    plan.reset(b.builder->buildSerializedNetwork(*b.network, *b.config));
    EXPECT_NE(plan, nullptr) << b.logger.errors();
    runtime.reset(createInferRuntime(b.logger));
  }
  Owned<ICudaEngine> load() { return Owned<ICudaEngine>(runtime->deserializeCudaEngine(plan->data(), plan->size())); }
  bool says(const char* part) {
    const std::string errors = b.logger.take_errors();
    EXPECT_NE(errors.find(part), std::string::npos) << errors;
    EXPECT_NE(errors.find("the_plugin"), std::string::npos) << errors;
    return true;
  }
  Bench b;
  Owned<IHostMemory> plan;
  Owned<IRuntime> runtime;
};
INSTANTIATE_TEST_SUITE_P(On, RunFaults, testing::ValuesIn(places()), name_of);

TEST_P(RunFaults, LoadingWithoutTheCreatorNamesWhatIsMissing) {
  ASSERT_TRUE(getPluginRegistry()->deregisterCreator(creator));
  EXPECT_EQ(load(), nullptr);
  const std::string errors = b.logger.take_errors();
  for (const char* part : {"'Script'", "version '3'", "namespace 'tests'", "the_plugin", "loadLibrary"})
    EXPECT_NE(errors.find(part), std::string::npos) << errors;
  // The runtime's own registry is asked first.
  ASSERT_TRUE(runtime->getPluginRegistry().registerCreator(creator, ""));
  EXPECT_NE(load(), nullptr) << b.logger.errors();
  ASSERT_TRUE(runtime->getPluginRegistry().deregisterCreator(creator));
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
}

TEST_P(RunFaults, LoadingFails) {
  script.fails = "createPlugin at run time";
  EXPECT_EQ(load(), nullptr);
  says("createPlugin gave no plugin");
  script.fails = "setTactic";
  EXPECT_EQ(load(), nullptr);
  says("setTactic answered 15");
}

TEST_P(RunFaults, ContextsAndInferencesFail) {
  Owned<ICudaEngine> engine = load();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  script.fails = "attachToContext";
  EXPECT_EQ(engine->createExecutionContext(), nullptr);
  says("attachToContext gave no plugin");
  script.fails.clear();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_NE(context, nullptr);
  const std::vector<float> input{1, 2, 3, 4};
  const Array<float> x(input), output(4);
  ASSERT_TRUE(context->setTensorAddress("x", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y", output.data()));
  for (const auto& [callback, part] :
       {std::pair{"onShapeChange", "onShapeChange answered 16"}, {"enqueue", "enqueue answered 17"}}) {
    script.fails = callback;
    EXPECT_FALSE(context->enqueueV3(nullptr)) << callback;
    says(part);
  }
  script.fails.clear();
  EXPECT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(output.values(), scaled(input, 2));
}

TEST_P(RunFaults, DataOfPlansAreChecked) {
  // A byte of the plan's text of the plugin is no digit: digests find it first, wherever it is.
  std::vector<char> bytes(static_cast<const char*>(plan->data()),
                          static_cast<const char*>(plan->data()) + plan->size());
  const std::string needle = "Script";
  const auto at = std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end());
  ASSERT_NE(at, bytes.end());
  *at = 'X';
  EXPECT_EQ(runtime->deserializeCudaEngine(bytes.data(), bytes.size()), nullptr);
}

TEST_P(Plugins, BadCallsAreRefused) {
  Bench b;
  ScriptPlugin plugin(1);
  ITensor* x = b.input("x", {4});
  EXPECT_EQ(b.network->addPluginV3(nullptr, 1, nullptr, 0, plugin), nullptr);
  EXPECT_EQ(b.network->addPluginV3(&x, -1, nullptr, 0, plugin), nullptr);
  EXPECT_EQ(b.network->addPluginV3(&x, 1, nullptr, 1, plugin), nullptr);
  // Elements of a shape input must be known with the shapes.
  Bench c;
  ITensor* y = c.input("y", {4});
  ITensor* computed = c.network->addCast(*y, DataType::kINT64)->getOutput(0);
  IPluginV3Layer* layer = add_script(c, {y}, {computed});
  ASSERT_NE(layer, nullptr);
  script.shapes = [](const DimsExprs*, const DimsExprs* values, DimsExprs* out, IExprBuilder&) {
    return *out = values[0], 0;
  };
  c.output(layer, "z");
  EXPECT_EQ(c.builder->buildSerializedNetwork(*c.network, *c.config), nullptr);
  EXPECT_NE(c.logger.errors().find("shape input 0: its elements must follow"), std::string::npos) << c.logger.errors();
}

}  // namespace
}  // namespace wootz_test
