// Layers are handles on a network's graph: a setter makes the nodes of its layer anew, and leaves those of others.
#include "api/dense.h"
#include "onnx/model_for_test.h"

namespace wootz_test {
namespace {

using namespace wootz::importer;
using nvonnxparser::createParser;
using nvonnxparser::IParser;

AttributeProto* ints(NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto* attribute = add_attribute(node, name, AttributeProto::INTS);
  for (const int64_t v : values) attribute->add_ints(v);
  return attribute;
}

// x [N,2,6,6] -> 1x1 convolution -> relu -> 2x2 pooling -> flattened, times a matrix -> y.
ModelProto small_model() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"N", "2", "6", "6"});
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {3, 2, 1, 1}, {1, 2, -1, 0.5F, 0.25F, -2});
  *graph->add_initializer() = raw_tensor<float>("b", TensorProto::FLOAT, {3}, {0.5F, 0, 1});
  add_node(graph, "Conv", {"x", "w", "b"}, {"c"}, "the conv");
  add_node(graph, "Relu", {"c"}, {"r"}, "the relu");
  NodeProto* pool = add_node(graph, "MaxPool", {"r"}, {"p"}, "the pool");
  ints(pool, "kernel_shape", {2, 2});
  ints(pool, "strides", {2, 2});
  add_node(graph, "GlobalAveragePool", {"p"}, {"g"}, "the mean");
  add_node(graph, "Flatten", {"g"}, {"f"}, "the rows");
  *graph->add_initializer() = raw_tensor<float>("m", TensorProto::FLOAT, {3, 2}, {1, 0, 0, 1, 1, -1});
  add_node(graph, "MatMul", {"f", "m"}, {"y"}, "the product");
  add_output(graph, "y");
  return model;
}

struct Model : Bench {
  explicit Model(bool refittable = false) {
    wootz_config_set_option(config.get(), "timing", "0");
    if (refittable) config->setFlag(BuilderFlag::kREFIT);
    const Owned<IParser> parser(createParser(*network, logger));
    const std::string bytes = small_model().SerializeAsString();
    EXPECT_TRUE(parser->parse(bytes.data(), bytes.size())) << logger.errors();
    profile("x", {1, 2, 6, 6}, {2, 2, 6, 6}, {4, 2, 6, 6});
  }
  template <class L>
  L* layer(const std::string& name) {
    for (int32_t i = 0; i < network->getNbLayers(); ++i)
      if (name == network->getLayer(i)->getName()) return static_cast<L*>(network->getLayer(i));
    ADD_FAILURE() << "no layer '" << name << "'";
    return nullptr;
  }
  std::string plan() {
    const Owned<IHostMemory> bytes(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(bytes, nullptr) << logger.errors();
    return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes->data()), bytes->size());
  }
  Floats infer() {
    const Owned<ICudaEngine> made = engine();
    EXPECT_NE(made, nullptr) << logger.errors();
    if (made == nullptr) return {};
    const Owned<IExecutionContext> context(made->createExecutionContext());
    EXPECT_TRUE(context->setInputShape("x", dims({2, 2, 6, 6})));
    Floats x(144);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    return run(*context, {{"x", x.data()}}, "y");
  }
};

// A setter that says what was said already: each layer's nodes are made anew, the plan is the same to the bit.
TEST(Handles, ALayerThatIsEmittedAnewIsTheSame) {
  const std::string untouched = Model().plan();
  ASSERT_FALSE(untouched.empty());
  const int32_t layers = Model().network->getNbLayers();
  for (int32_t i = 0; i < layers; ++i) {
    Model model;
    ILayer* layer = model.network->getLayer(i);
    layer->setInput(0, *layer->getInput(0));
    EXPECT_EQ(model.plan(), untouched) << layer->getName();
  }
}

TEST(Handles, SettingsOfSeveralLayersAtOnce) {
  const Floats before = Model().infer();
  Model model;
  auto* pool = model.layer<IPoolingLayer>("the pool");
  pool->setPoolingType(PoolingType::kAVERAGE);  // the same extents: nothing else is made anew
  model.layer<IActivationLayer>("the relu")->setActivationType(ActivationType::kLEAKY_RELU);
  model.layer<IActivationLayer>("the relu")->setAlpha(1);
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 3, 3, 3}));
  const Floats linear = model.infer();  // a mean of means of a linear function
  ASSERT_EQ(linear.size(), before.size());
  EXPECT_NE(linear, before);
  pool->setStrideNd(dims({3, 3}));  // other extents: what follows is made anew when it is asked for
  pool->setWindowSizeNd(dims({3, 3}));
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 3, 2, 2}));
  expect_near(model.infer(), linear);
}

TEST(Handles, OtherWeightsKeepTheModelsNames) {
  Model model(true);
  auto* relu = model.layer<IActivationLayer>("the relu");
  relu->setActivationType(ActivationType::kSIGMOID);
  model.layer<IPoolingLayer>("the pool")->setStrideNd(dims({1, 1}));
  const Owned<ICudaEngine> engine = model.engine();
  ASSERT_NE(engine, nullptr) << model.logger.errors();
  const Owned<IRefitter> refitter(createInferRefitter(*engine, model.logger));
  std::vector<const char*> names(8, nullptr);
  names.resize(static_cast<size_t>(refitter->getAllWeights(8, names.data())));
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, (std::vector<std::string>{"b", "m", "w"}));
}

// What is wrong is said at the next question, and a later setting mends it.
TEST(Handles, AWrongSettingIsSaidAndMended) {
  const Floats before = Model().infer();
  Model model;
  auto* pool = model.layer<IPoolingLayer>("the pool");
  pool->setWindowSizeNd(dims({9, 9}));
  EXPECT_EQ(list(pool->getOutput(0)->getDimensions()), std::vector<int64_t>{-1000});
  EXPECT_NE(model.logger.take_errors().find("the pool"), std::string::npos);
  EXPECT_EQ(model.engine(), nullptr);
  EXPECT_NE(model.logger.take_errors().find("the pool"), std::string::npos);
  pool->setWindowSizeNd(dims({2, 2}));
  expect_near(model.infer(), before);
}

TEST(Handles, ACycleIsRefusedAndCanBeUndone) {
  const Floats before = Model().infer();
  Model model;
  auto* relu = model.layer<ILayer>("the relu");
  ITensor* was = relu->getInput(0);
  relu->setInput(0, *model.layer<ILayer>("the pool")->getOutput(0));
  EXPECT_EQ(model.engine(), nullptr);
  EXPECT_NE(model.logger.take_errors().find("depends on the layer's own output"), std::string::npos);
  relu->setInput(0, *was);
  expect_near(model.infer(), before);
}

// A layer within a loop belongs to no node of the network's own graph.
TEST(Handles, LayersOfALoop) {
  Bench b;
  wootz_config_set_option(b.config.get(), "timing", "0");
  ITensor* x = b.input("x", {3});
  ILoop* loop = b.network->addLoop();
  static const std::vector<int32_t> kTimes{4};
  loop->addTripLimit(*b.constant({}, kTimes), TripLimit::kCOUNT);
  IRecurrenceLayer* state = loop->addRecurrence(*x);
  auto* step = b.network->addElementWise(*state->getOutput(0), *x, ElementWiseOperation::kSUM);
  state->setInput(1, *step->getOutput(0));
  b.output(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE, 0), "y");
  const Floats data{1, 2, -3};
  const auto result = [&] {
    const Owned<ICudaEngine> engine = b.engine();
    EXPECT_NE(engine, nullptr) << b.logger.errors();
    const Owned<IExecutionContext> context(engine->createExecutionContext());
    return run(*context, {{"x", data.data()}}, "y");
  };
  EXPECT_EQ(list(b.network->getOutput(0)->getDimensions()), std::vector<int64_t>{3});
  expect_near(result(), {5, 10, -15});
  step->setOperation(ElementWiseOperation::kSUB);
  EXPECT_EQ(list(b.network->getOutput(0)->getDimensions()), std::vector<int64_t>{3});
  expect_near(result(), {-3, -6, 9});
}

}  // namespace
}  // namespace wootz_test
