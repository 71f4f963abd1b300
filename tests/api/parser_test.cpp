// ONNX models through the public parser: layers that can be asked and changed, errors, support queries.
#include "api/harness.h"
#include "onnx/model_for_test.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;
using namespace wootz::importer;
using nvonnxparser::createParser;
using nvonnxparser::IParser;
using Floats = std::vector<float>;

bool parse(IParser& parser, const ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return parser.parse(bytes.data(), bytes.size());
}

void set_ints(NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto* attribute = add_attribute(node, name, AttributeProto::INTS);
  for (int64_t v : values) attribute->add_ints(v);
}

// x [N,1,2,2] -> conv (kernel 2 x 2, two maps) -> relu -> y [N,2,1,1].
ModelProto conv_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"N", "1", "2", "2"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {2, 1, 2, 2}, {1, 1, 1, 1, 1, 0, 0, -1});
  *graph->add_initializer() = raw_tensor<float>("b", TensorProto::FLOAT, {2}, {0.5F, 0});
  set_ints(add_node(graph, "Conv", {"x", "w", "b"}, {"c"}, "the conv"), "kernel_shape", {2, 2});
  add_node(graph, "Relu", {"c"}, {"y"}, "the relu");
  add_output(graph, "y");
  return model;
}

TEST(Parser, LayersCanBeAskedAndChanged) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  ASSERT_TRUE(parse(*parser, conv_model())) << b.logger.errors();
  EXPECT_EQ(parser->getNbErrors(), 0);
  ASSERT_EQ(b.network->getNbInputs(), 1);
  ITensor* x = b.network->getInput(0);
  EXPECT_STREQ(x->getName(), "x");
  EXPECT_STREQ(x->getDimensionName(0), "N");
  EXPECT_EQ(list(x->getDimensions()), (std::vector<int64_t>{-1, 1, 2, 2}));
  ASSERT_EQ(b.network->getNbLayers(), 2);
  ILayer* layer = b.network->getLayer(0);
  EXPECT_STREQ(layer->getName(), "the conv");
  ASSERT_EQ(layer->getType(), LayerType::kCONVOLUTION);
  auto* conv = static_cast<IConvolutionLayer*>(layer);
  EXPECT_EQ(conv->getNbInputs(), 1) << "weights are not inputs";
  EXPECT_EQ(conv->getNbOutputMaps(), 2);
  EXPECT_EQ(list(conv->getKernelSizeNd()), (std::vector<int64_t>{2, 2}));
  ASSERT_EQ(conv->getKernelWeights().count, 8);
  EXPECT_EQ(static_cast<const float*>(conv->getKernelWeights().values)[7], -1);
  ASSERT_EQ(conv->getBiasWeights().count, 2);
  EXPECT_EQ(b.network->getLayer(1)->getType(), LayerType::kACTIVATION);
  EXPECT_EQ(parser->getLayerOutputTensor("the conv", 0), conv->getOutput(0));
  EXPECT_EQ(parser->getLayerOutputTensor("nobody", 0), nullptr);
  int64_t libraries = 7;
  EXPECT_EQ(parser->getUsedVCPluginLibraries(libraries), nullptr);
  EXPECT_EQ(libraries, 0);

  // New weights, and a layer behind the model's output, which stops being one.
  static const Floats ones(8, 1);
  conv->setKernelWeights(weights(ones));
  ITensor* y = b.network->getOutput(0);
  EXPECT_STREQ(y->getName(), "y");
  b.network->unmarkOutput(*y);
  b.output(b.network->addReduce(*y, ReduceOperation::kMAX, 1U << 1, false), "z");
  b.profile("x", {1, 1, 2, 2}, {1, 1, 2, 2}, {4, 1, 2, 2});
  parser.reset();
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({2, 1, 2, 2})));
  const Floats data{1, 2, 3, 4, -1, -1, -1, -1};
  expect_near(run(*context, {{"x", data.data()}}, "z"), {10.5F, 0});
}

TEST(Parser, UnchangedModel) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  ASSERT_TRUE(parse(*parser, conv_model()));
  b.profile("x", {1, 1, 2, 2}, {1, 1, 2, 2}, {4, 1, 2, 2});
  for (int build = 0; build < 2; ++build) {  // a network can be built again
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    Owned<IExecutionContext> context(engine->createExecutionContext());
    ASSERT_TRUE(context->setInputShape("x", dims({1, 1, 2, 2})));
    const Floats data{5, 2, 3, 4};
    expect_near(run(*context, {{"x", data.data()}}, "y"), {14.5F, 1});
  }
}

// What an engine built from the network as it stands computes from x = {5, 2, 3, 4}.
Floats result_of(Bench& b, const char* input, const char* output) {
  const Owned<ICudaEngine> engine = b.engine();
  EXPECT_NE(engine, nullptr) << b.logger.errors();
  if (engine == nullptr) return {};
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setInputShape(input, dims({1, 1, 2, 2})));
  const Floats data{5, 2, 3, 4};
  return run(*context, {{input, data.data()}}, output);
}

// Looking at the layers of a model, and naming them, leaves the graph that it was parsed to; so does a build.
TEST(Parser, LookedAtNamedAndBuiltAgain) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  ASSERT_TRUE(parse(*parser, conv_model()));
  EXPECT_EQ(b.network->getNbLayers(), 2);
  b.profile("x", {1, 1, 2, 2}, {1, 1, 2, 2}, {4, 1, 2, 2});
  expect_near(result_of(b, "x", "y"), {14.5F, 1});
  ITensor* y = b.network->getOutput(0);
  EXPECT_EQ(list(y->getDimensions()), (std::vector<int64_t>{-1, 2, 1, 1}));
  ASSERT_EQ(b.network->getNbLayers(), 2);
  ILayer* relu = b.network->getLayer(1);
  EXPECT_EQ(relu->getOutput(0), y) << "an output is the tensor of its layer";
  EXPECT_EQ(relu->getInput(0), b.network->getLayer(0)->getOutput(0));
  EXPECT_STREQ(relu->getInput(0)->getName(), "c");
  relu->setName("renamed");
  y->setName("result");
  relu->getInput(0)->setName("inner");
  b.network->markOutput(*relu->getInput(0));
  Owned<IBuilderConfig> other(b.builder->createBuilderConfig());
  other.swap(b.config);
  b.profile("x", {1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 2, 2});
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_STREQ(engine->getIOTensorName(1), "result");
  EXPECT_STREQ(engine->getIOTensorName(2), "inner");
  EXPECT_EQ(b.network->getNbLayers(), 2);
  b.network->unmarkOutput(*relu->getInput(0));
  other.swap(b.config);
  expect_near(result_of(b, "x", "result"), {14.5F, 1});
}

TEST(Parser, InputsNamedAndShapedAnew) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  ASSERT_TRUE(parse(*parser, conv_model()));
  b.network->getInput(0)->setName("image");
  b.profile("image", {1, 1, 2, 2}, {1, 1, 2, 2}, {4, 1, 2, 2});
  expect_near(result_of(b, "image", "y"), {14.5F, 1});
  // What the graph says is no longer so: the layers say it again.
  b.network->getInput(0)->setDimensions(dims({1, 1, 2, 3}));
  EXPECT_EQ(list(b.network->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 2, 1, 2}));
  b.config.reset(b.builder->createBuilderConfig());
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(list(engine->getTensorShape("y")), (std::vector<int64_t>{1, 2, 1, 2}));
}

// Layers behind a model's tensors, built, and others behind those.
TEST(Parser, GrowsBetweenBuilds) {
  static const Floats kHalf{0.5F};
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  ASSERT_TRUE(parse(*parser, conv_model()));
  ITensor* y = b.network->getOutput(0);
  b.network->unmarkOutput(*y);
  ILayer* half = b.network->addScale(*y, ScaleMode::kUNIFORM, kNone, weights(kHalf), kNone);
  EXPECT_EQ(b.network->getNbLayers(), 3);
  EXPECT_EQ(list(half->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 2, 1, 1}));
  b.output(half, "half");
  b.profile("x", {1, 1, 2, 2}, {1, 1, 2, 2}, {4, 1, 2, 2});
  expect_near(result_of(b, "x", "half"), {7.25F, 0.5F});
  ITensor* extra = b.input("extra", {1});
  b.network->unmarkOutput(*half->getOutput(0));
  ILayer* flat = b.network->addShuffle(*half->getOutput(0));
  static_cast<IShuffleLayer*>(flat)->setReshapeDimensions(dims({0, 2}));
  ILayer* one = b.network->addShuffle(*extra);
  static_cast<IShuffleLayer*>(one)->setReshapeDimensions(dims({1, 1}));
  b.output(b.network->addElementWise(*flat->getOutput(0), *one->getOutput(0), ElementWiseOperation::kSUM), "sum");
  EXPECT_EQ(b.network->getLayer(2), half) << "layers of the model first";
  EXPECT_STREQ(b.network->getLayer(0)->getName(), "the conv");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  ASSERT_TRUE(context->setInputShape("x", dims({1, 1, 2, 2})));
  const Floats data{5, 2, 3, 4}, ten{10};
  expect_near(run(*context, {{"x", data.data()}, {"extra", ten.data()}}, "sum"), {17.25F, 10.5F});
}

TEST(Parser, TwoModelsAndLayersOfTheApplication) {
  Bench b;
  ITensor* own = b.input("own", {2});
  b.output(b.network->addUnary(*own, UnaryOperation::kNEG), "negative");
  Owned<IParser> first(createParser(*b.network, b.logger)), second(createParser(*b.network, b.logger));
  ModelProto one = model_for_test();
  add_input(one.mutable_graph(), "p", {"N"});
  add_node(one.mutable_graph(), "Relu", {"p"}, {"q"}, "node");
  add_output(one.mutable_graph(), "q");
  ASSERT_TRUE(parse(*first, one));
  EXPECT_FALSE(parse(*second, one)) << "the names are taken";
  EXPECT_GT(second->getNbErrors(), 0);
  second->clearErrors();
  ModelProto two = model_for_test();
  add_input(two.mutable_graph(), "r", {"N"});
  add_node(two.mutable_graph(), "Abs", {"r"}, {"s"}, "node");
  add_output(two.mutable_graph(), "s");
  ASSERT_TRUE(parse(*second, two)) << b.logger.errors();
  b.logger.take_errors();
  EXPECT_EQ(b.network->getNbInputs(), 3);
  EXPECT_EQ(b.network->getNbOutputs(), 3);
  IOptimizationProfile* p = b.builder->createOptimizationProfile();
  for (const char* name : {"p", "r"})
    for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      p->setDimensions(name, select, dims({2}));
  b.config->addOptimizationProfile(p);
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const Floats data{-1, 2};
  Floats out[3] = {Floats(2), Floats(2), Floats(2)};
  for (const char* name : {"own", "p", "r"}) context->setInputTensorAddress(name, data.data());
  for (const char* name : {"p", "r"}) ASSERT_TRUE(context->setInputShape(name, dims({2})));
  context->setTensorAddress("negative", out[0].data());
  context->setTensorAddress("q", out[1].data());
  context->setTensorAddress("s", out[2].data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << b.logger.errors();
  EXPECT_EQ(out[0], (Floats{1, -2}));
  EXPECT_EQ(out[1], (Floats{0, 2}));
  EXPECT_EQ(out[2], (Floats{1, 2}));
}

// relu -> an unknown op -> relu -> another one.
ModelProto broken_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"});
  add_node(graph, "Relu", {"x"}, {"a"}, "first");
  add_node(graph, "NobodysOp", {"a"}, {"b"}, "second");
  add_node(graph, "Relu", {"x"}, {"c"}, "third");
  add_node(graph, "AnotherOp", {"c"}, {"d"}, "fourth");
  add_output(graph, "b");
  add_output(graph, "d");
  return model;
}

TEST(Parser, EveryErrorIsTold) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  EXPECT_FALSE(parse(*parser, broken_model()));
  ASSERT_EQ(parser->getNbErrors(), 2) << b.logger.errors();
  EXPECT_STREQ(parser->getError(0)->nodeName(), "second");
  EXPECT_STREQ(parser->getError(0)->nodeOperator(), "NobodysOp");
  EXPECT_EQ(parser->getError(0)->node(), 1);
  EXPECT_EQ(parser->getError(0)->code(), nvonnxparser::ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_NE(std::string(parser->getError(0)->desc()), "");
  EXPECT_EQ(parser->getError(1)->node(), 3);
  EXPECT_EQ(parser->getError(2), nullptr);
  EXPECT_EQ(b.network->getNbLayers(), 0) << "nothing was added";
  parser->clearErrors();
  EXPECT_EQ(parser->getNbErrors(), 0);
}

TEST(Parser, SupportBySubgraphs) {
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  EXPECT_TRUE(parser->supportsOperator("Conv"));
  EXPECT_FALSE(parser->supportsOperator("NobodysOp"));
  const std::string bytes = broken_model().SerializeAsString();
  EXPECT_EQ(parser->getNbSubgraphs(), 0);
  EXPECT_FALSE(parser->supportsModelV2(bytes.data(), bytes.size()));
  std::vector<int64_t> supported, refused;
  for (int64_t i = 0; i < parser->getNbSubgraphs(); ++i) {
    int64_t count = 0;
    const int64_t* nodes = parser->getSubgraphNodes(i, count);
    auto& to = parser->isSubgraphSupported(i) ? supported : refused;
    to.insert(to.end(), nodes, nodes + count);
  }
  std::sort(supported.begin(), supported.end());
  std::sort(refused.begin(), refused.end());
  EXPECT_EQ(supported, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(refused, (std::vector<int64_t>{1, 3}));
  int64_t count = 5;
  EXPECT_EQ(parser->getSubgraphNodes(99, count), nullptr);
  EXPECT_NE(b.logger.errors().find("IParser::getSubgraphNodes: there is no subgraph 99"), std::string::npos);
  EXPECT_EQ(count, 0);
  SubGraphCollection_t collection;
  const std::string good = conv_model().SerializeAsString();
  EXPECT_TRUE(parser->supportsModel(good.data(), good.size(), collection));
  ASSERT_EQ(collection.size(), 1u);
  EXPECT_TRUE(collection[0].second);
}

ModelProto double_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"2"}, TensorProto::DOUBLE);
  add_node(graph, "Neg", {"x"}, {"y"}, "negate");
  add_output(graph, "y");
  return model;
}

TEST(Parser, TypesThatTheApiLacks) {
  {
    Bench b;
    Owned<IParser> parser(createParser(*b.network, b.logger));
    ASSERT_TRUE(parse(*parser, double_model())) << b.logger.errors();
    EXPECT_NE(b.logger.warnings().find("'x'"), std::string::npos);
    EXPECT_NE(b.logger.warnings().find("'y'"), std::string::npos);
    Owned<ICudaEngine> engine = b.engine();
    ASSERT_NE(engine, nullptr) << b.logger.errors();
    EXPECT_EQ(engine->getTensorDataType("x"), DataType::kFLOAT);
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kFLOAT);
    Owned<IExecutionContext> context(engine->createExecutionContext());
    const Floats data{1.5F, -2};
    expect_near(run(*context, {{"x", data.data()}}, "y"), {-1.5F, 2});
  }
  Bench b;
  Owned<IParser> parser(createParser(*b.network, b.logger));
  EXPECT_EQ(wootz_parser_set_option(parser.get(), "io_types", "roughly"), 1);
  ASSERT_EQ(wootz_parser_set_option(parser.get(), "io_types", "exact"), 0);
  ASSERT_TRUE(parse(*parser, double_model()));
  Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  EXPECT_EQ(static_cast<int32_t>(engine->getTensorDataType("x")), WOOTZ_EXTENDED_TYPE + 4);
  Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<double> data{1e-300, -2};
  EXPECT_EQ(run<double>(*context, {{"x", data.data()}}, "y"), (std::vector<double>{-1e-300, 2}));
}

}  // namespace
}  // namespace wootz_test
