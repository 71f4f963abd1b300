// Nodes of ONNX models that are plugins.
#include "plugins/quick_plugin.h"
#include "plugins/script_plugin.h"

namespace wootz_test {
namespace {

// Just enough of protobuf to write a model.
std::string varint(uint64_t v) {
  std::string s;
  for (; v >= 128; v >>= 7) s += static_cast<char>(v | 128);
  return s + static_cast<char>(v);
}
std::string number(int field, uint64_t v) { return varint(static_cast<uint64_t>(field) << 3) + varint(v); }
std::string bytes(int field, const std::string& b) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(b.size()) + b;
}
std::string real(int field, float v) {
  std::string s = varint(static_cast<uint64_t>(field) << 3 | 5);
  return s.append(reinterpret_cast<const char*>(&v), sizeof v);
}

std::string attribute(const std::string& name, int type, const std::string& value) {
  return bytes(5, bytes(1, name) + value + number(20, static_cast<uint64_t>(type)));
}
std::string text_attr(const std::string& name, const std::string& v) { return attribute(name, 3, bytes(4, v)); }
std::string float_attr(const std::string& name, float v) { return attribute(name, 1, real(2, v)); }
std::string int_attr(const std::string& name, int64_t v) {
  return attribute(name, 2, number(3, static_cast<uint64_t>(v)));
}
std::string ints_attr(const std::string& name, const std::vector<int64_t>& list) {
  std::string all;
  for (const int64_t v : list) all += number(8, static_cast<uint64_t>(v));
  return attribute(name, 7, all);
}

std::string value_info(const std::string& name, int type, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const int64_t d : shape) dims += bytes(1, number(1, static_cast<uint64_t>(d)));
  return bytes(1, name) + bytes(2, bytes(1, number(1, static_cast<uint64_t>(type)) + bytes(2, dims)));
}

// x [4] (and shape s [2]) through one node to y.
std::string model(const std::string& op, const std::string& domain, const std::string& attributes,
                  bool with_shape = false) {
  std::string node = bytes(1, "x") + (with_shape ? bytes(1, "s") : "") + bytes(2, "y") + bytes(3, "the_plugin") +
                     bytes(4, op) + attributes;
  if (!domain.empty()) node += bytes(7, domain);
  std::string graph = bytes(1, node) + bytes(2, "g") + bytes(11, value_info("x", 1, {4}));
  if (with_shape) {
    std::string data;
    for (const int64_t v : {2, 2}) data.append(reinterpret_cast<const char*>(&v), sizeof v);
    graph += bytes(5, number(1, 2) + number(2, 7) + bytes(8, "s") + bytes(9, data));
  }
  graph += bytes(12, bytes(1, "y") + bytes(2, bytes(1, number(1, 1))));
  return number(1, 8) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, 17)) +
         (domain.empty() ? "" : bytes(8, bytes(1, domain) + number(2, 1)));
}

class PluginsOfOnnx : public Plugins {
 protected:
  bool parse(const std::string& m, uint32_t flags = 0) {
    parser.reset(nvonnxparser::createParser(*b.network, b.logger));
    parser->setFlags(flags | 1U);
    return parser->parse(m.data(), m.size());
  }
  Bench b;
  Owned<nvonnxparser::IParser> parser;
};
INSTANTIATE_TEST_SUITE_P(On, PluginsOfOnnx, testing::ValuesIn(places()), name_of);

const std::string kHere = text_attr("plugin_version", "3") + text_attr("plugin_namespace", "tests");

TEST_P(PluginsOfOnnx, AttributesBecomeFields) {
  const std::string attributes = kHere + float_attr("factor", 4) + ints_attr("counts", {3, -4, 5}) +
                                 int_attr("wide", int64_t{1} << 40) + text_attr("text", "hello") +
                                 ints_attr("extents", {6, 7}) + int_attr("not_a_field", 1);
  ASSERT_TRUE(parse(model("Script", "some.domain", attributes))) << b.logger.errors();
  EXPECT_EQ(script.created_as, "the_plugin");
  EXPECT_EQ(script.created_with, (std::vector<std::string>{"factor=4.000000,", "counts=3,-4,5,", "wide=1099511627776,",
                                                           "text=hello", "extents=6,7,"}));
  ASSERT_EQ(b.network->getNbLayers(), 1);
  ILayer* layer = b.network->getLayer(0);
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  EXPECT_STREQ(layer->getName(), "the_plugin");
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 4));
}

TEST_P(PluginsOfOnnx, ShapeInputsByNumber) {
  script.shapes = [](const DimsExprs*, const DimsExprs* values, DimsExprs* out, IExprBuilder&) {
    return *out = values[0], 0;
  };
  script.work = [](const PluginTensorDesc*, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                   void*, cudaStream_t) {
    std::memcpy(outputs[0], inputs[0], 4 * sizeof(float));
    return 0;
  };
  ASSERT_TRUE(parse(model("Script", "", kHere + ints_attr("tensorrt_plugin_shape_input_indices", {1}), true)))
      << b.logger.errors();
  EXPECT_EQ(list(b.network->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 2}));
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> input{1, 2, 3, 4};
  EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), input);
}

TEST_P(PluginsOfOnnx, AnotherVersionOrNamespaceIsNotThisPlugin) {
  for (const std::string& attributes : {text_attr("plugin_namespace", "tests"), text_attr("plugin_version", "3"),
                                        kHere + text_attr("other", "x") + text_attr("counts", "no numbers")}) {
    Bench other;
    Owned<nvonnxparser::IParser> p(nvonnxparser::createParser(*other.network, other.logger));
    const std::string m = model("Script", "", attributes);
    EXPECT_FALSE(p->parse(m.data(), m.size()));
    EXPECT_NE(other.logger.errors().find("Script"), std::string::npos) << other.logger.errors();
  }
}

TEST_P(PluginsOfOnnx, ACreatorThatRefusesIsReported) {
  script.fails = "createPlugin";
  EXPECT_FALSE(parse(model("Script", "", kHere)));
  EXPECT_NE(b.logger.errors().find("createPlugin gave no plugin"), std::string::npos) << b.logger.errors();
  ASSERT_GE(parser->getNbErrors(), 1);
  EXPECT_STREQ(parser->getError(0)->nodeName(), "the_plugin");
}

// A plugin under an operator's name.
class ReluCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const AsciiChar*, const PluginFieldCollection*, TensorRTPhase) noexcept override {
    return new ScriptPlugin(10);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  const AsciiChar* getPluginName() const noexcept override { return "Relu"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

TEST_P(PluginsOfOnnx, OverrideTakesThePluginForAKnownOperator) {
  ReluCreator relu;
  ASSERT_TRUE(b.builder->getPluginRegistry().registerCreator(relu, ""));
  ASSERT_TRUE(
      parse(model("Relu", "", ""), 1U << static_cast<uint32_t>(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE)))
      << b.logger.errors();
  EXPECT_EQ(b.logger.warnings(), "");
  EXPECT_EQ(b.network->getLayer(0)->getType(), LayerType::kPLUGIN_V3);
  Bench plain;
  Owned<nvonnxparser::IParser> p(nvonnxparser::createParser(*plain.network, plain.logger));
  ASSERT_TRUE(plain.builder->getPluginRegistry().registerCreator(relu, ""));
  const std::string m = model("Relu", "", "");
  ASSERT_TRUE(p->parse(m.data(), m.size()));
  EXPECT_EQ(plain.network->getLayer(0)->getType(), LayerType::kACTIVATION);
}

// Of its two forms a Quick plugin is asked for the one that the network prefers.
TEST_F(QuickPlugins, NodesBecomeTheFormThatIsPreferred) {
  using Flag = NetworkDefinitionCreationFlag;
  const std::pair<uint32_t, QuickPluginCreationRequest> forms[] = {
      {0, QuickPluginCreationRequest::kUNKNOWN},
      {1U << static_cast<uint32_t>(Flag::kPREFER_JIT_PYTHON_PLUGINS), QuickPluginCreationRequest::kPREFER_JIT},
      {1U << static_cast<uint32_t>(Flag::kPREFER_AOT_PYTHON_PLUGINS), QuickPluginCreationRequest::kPREFER_AOT}};
  const std::string m =
      model("Quick", "some.domain",
            text_attr("plugin_version", "1") + text_attr("plugin_namespace", "tests") + float_attr("factor", 5));
  for (const auto& [flags, request] : forms) {
    Bench b(flags);
    const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*b.network, b.logger));
    ASSERT_TRUE(parser->parse(m.data(), m.size())) << b.logger.errors();
    EXPECT_EQ(quick.request, request);
    EXPECT_EQ(quick.phase, TensorRTPhase::kBUILD);
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const std::vector<float> input{1, 2, 3, 4};
    EXPECT_EQ(run(*context, {{"x", input.data()}}, "y"), scaled(input, 5));
  }
}

}  // namespace
}  // namespace wootz_test
