// Plugins of TensorRT's own, as programs ask for them: by the registry, with addPluginV2 and addPluginV3.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "base/testing.h"
#include "plugins/places.h"
#include "wootz/plugin_creator_v3.h"

namespace wootz_test {
namespace {

using namespace nvinfer1;  // NOLINT: test code over that interface

class StockPlugins : public OnEachPlace {
 protected:
  void SetUp() override { ASSERT_TRUE(initLibNvInferPlugins(&b.logger, "stock")); }

  IPluginCreator* creator(const char* name, const char* version = "1") {
    return static_cast<IPluginCreator*>(getPluginRegistry()->getCreator(name, version, "stock"));
  }
  struct Destroy {
    void operator()(IPluginV2* plugin) const { plugin->destroy(); }
  };
  std::unique_ptr<IPluginV2, Destroy> make(const char* name, const std::vector<PluginField>& fields) {
    const PluginFieldCollection all{static_cast<int32_t>(fields.size()), fields.data()};
    IPluginCreator* const found = creator(name);
    return std::unique_ptr<IPluginV2, Destroy>(found == nullptr ? nullptr : found->createPlugin("made", &all));
  }
  std::vector<float> random(size_t count) {
    std::mt19937 generator(static_cast<uint32_t>(wootz::test_seed()));
    std::uniform_real_distribution<float> any(-1, 1);
    std::vector<float> values(count);
    for (float& v : values) v = any(generator);
    return values;
  }
  Bench b;
};
INSTANTIATE_TEST_SUITE_P(On, StockPlugins, testing::ValuesIn(places()), name_of);

TEST_P(StockPlugins, CreatorsAreListedWithTheirFields) {
  int32_t count = 0;
  IPluginCreatorInterface* const* const all = getPluginRegistry()->getAllCreators(&count);
  EXPECT_GE(count, 30);
  EXPECT_NE(std::find(all, all + count, creator("EfficientNMS_TRT")), all + count);
  const PluginFieldCollection* const fields = creator("EfficientNMS_TRT")->getFieldNames();
  std::set<std::string> names;
  for (int32_t i = 0; i < fields->nbFields; ++i) names.insert(fields->fields[i].name);
  EXPECT_EQ(names, (std::set<std::string>{"score_threshold", "iou_threshold", "max_output_boxes", "background_class",
                                          "score_activation", "class_agnostic", "box_coding"}));
  EXPECT_EQ(creator("EfficientNMS_TRT", "9"), nullptr);
  EXPECT_EQ(getPluginRegistry()->getCreator("EfficientNMS_TRT", "1", "elsewhere"), nullptr);
  EXPECT_TRUE(initLibNvInferPlugins(&b.logger, "stock"));
  int32_t again = 0;
  getPluginRegistry()->getAllCreators(&again);
  EXPECT_EQ(again, count);
}

// Two boxes that cover each other, and one apart.
TEST_P(StockPlugins, EfficientNmsInANetwork) {
  const float score = 0.3F, iou = 0.5F;
  const int32_t most = 4;
  const auto plugin = make("EfficientNMS_TRT", {{"score_threshold", &score, PluginFieldType::kFLOAT32, 1},
                                                {"iou_threshold", &iou, PluginFieldType::kFLOAT32, 1},
                                                {"max_output_boxes", &most, PluginFieldType::kINT32, 1}});
  ASSERT_NE(plugin, nullptr);
  ITensor* const inputs[] = {b.input("boxes", {1, 3, 4}), b.input("scores", {1, 3, 2})};
  IPluginV2Layer* const layer = b.network->addPluginV2(inputs, 2, *plugin);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V2);
  EXPECT_STREQ(layer->getPlugin().getPluginType(), "EfficientNMS_TRT");
  ASSERT_EQ(layer->getNbOutputs(), 4);
  EXPECT_EQ(list(layer->getOutput(1)->getDimensions()), (std::vector<int64_t>{1, 4, 4})) << b.logger.errors();
  EXPECT_EQ(layer->getOutput(3)->getType(), DataType::kINT32);
  const char* const names[] = {"count", "kept", "values", "classes"};
  for (int32_t i = 0; i < 4; ++i) b.output(layer->getOutput(i), names[i]);
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> boxes{0, 0, 10, 10, 0, 0, 10, 9, 20, 20, 30, 30};
  const std::vector<float> scores{0.5F, 0.1F, 0.9F, 0.2F, 0.1F, 0.4F};
  const Array<int32_t> count(1), classes(4);
  const Array<float> kept(16), values(4), all_boxes(boxes), all_scores(scores);
  EXPECT_TRUE(context->setInputTensorAddress("boxes", all_boxes.data()));
  EXPECT_TRUE(context->setInputTensorAddress("scores", all_scores.data()));
  EXPECT_TRUE(context->setTensorAddress("count", count.data()));
  EXPECT_TRUE(context->setTensorAddress("kept", kept.data()));
  EXPECT_TRUE(context->setTensorAddress("values", values.data()));
  EXPECT_TRUE(context->setTensorAddress("classes", classes.data()));
  ASSERT_TRUE(context->enqueueV3(nullptr));
  EXPECT_EQ(count.values()[0], 2);
  EXPECT_EQ(values.values(), (std::vector<float>{0.9F, 0.4F, 0, 0}));
  EXPECT_EQ(classes.values(), (std::vector<int32_t>{0, 1, 0, 0}));
  EXPECT_EQ(kept.values(), (std::vector<float>{0, 0, 10, 9, 20, 20, 30, 30, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_P(StockPlugins, InstanceNormWithWeightsAsFields) {
  const std::vector<float> x = random(2 * 3 * 8), scale{1, -2, 0.5F}, bias{0, 1, -1};
  const float epsilon = 1e-3F;
  const auto plugin = make("InstanceNormalization_TRT", {{"epsilon", &epsilon, PluginFieldType::kFLOAT32, 1},
                                                         {"scales", scale.data(), PluginFieldType::kFLOAT32, 3},
                                                         {"bias", bias.data(), PluginFieldType::kFLOAT32, 3}});
  ASSERT_NE(plugin, nullptr);
  ITensor* const input = b.input("x", {2, 3, 2, 4});
  b.output(b.network->addPluginV2(&input, 1, *plugin), "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  std::vector<float> want;
  for (size_t line = 0; line < 6; ++line) {
    const float* const v = x.data() + line * 8;
    const float mean = std::accumulate(v, v + 8, 0.0F) / 8;
    float square = 0;
    for (size_t i = 0; i < 8; ++i) square += (v[i] - mean) * (v[i] - mean) / 8;
    for (size_t i = 0; i < 8; ++i)
      want.push_back((v[i] - mean) / std::sqrt(square + epsilon) * scale[line % 3] + bias[line % 3]);
  }
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  expect_near(run(*context, {{"x", x.data()}}, "y"), want, 1e-4F);
}

TEST_P(StockPlugins, ScatterElementsByAddPluginV3) {
  auto* const found = getPluginRegistry()->getCreator("ScatterElements", "2", "stock");
  ASSERT_NE(found, nullptr);
  EXPECT_STREQ(found->getInterfaceInfo().kind, "PLUGIN CREATOR_V3ONE");
  const int32_t axis = 1;
  const PluginField fields[] = {{"reduction", "add", PluginFieldType::kCHAR, 3},
                                {"axis", &axis, PluginFieldType::kINT32, 1}};
  const PluginFieldCollection all{2, fields};
  const Owned<IPluginV3> plugin(
      static_cast<IPluginCreatorV3One*>(found)->createPlugin("s", &all, TensorRTPhase::kBUILD));
  ASSERT_NE(plugin, nullptr) << b.logger.errors();
  const std::vector<int64_t> indices{0, 2, 1, 1};
  const std::vector<float> updates{10, 20, 30, 40};
  ITensor* const inputs[] = {b.input("x", {2, 3}), b.constant({2, 2}, indices), b.constant({2, 2}, updates)};
  IPluginV3Layer* const layer = b.network->addPluginV3(inputs, 3, nullptr, 0, *plugin);
  ASSERT_NE(layer, nullptr) << b.logger.errors();
  EXPECT_EQ(layer->getType(), LayerType::kPLUGIN_V3);
  b.output(layer, "y");
  const Owned<ICudaEngine> engine = b.engine();
  ASSERT_NE(engine, nullptr) << b.logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(*context, {{"x", x.data()}}, "y"), (std::vector<float>{11, 2, 23, 4, 75, 6}));
}

// What a plugin was made with comes back from its bytes.
TEST_P(StockPlugins, PluginsAreWrittenAndReadAgain) {
  const int32_t height = 3, width = 2;
  const auto plugin = make("ROIAlign_TRT", {{"output_height", &height, PluginFieldType::kINT32, 1},
                                            {"output_width", &width, PluginFieldType::kINT32, 1}});
  ASSERT_NE(plugin, nullptr);
  std::vector<char> bytes(plugin->getSerializationSize());
  ASSERT_GT(bytes.size(), 0U);
  plugin->serialize(bytes.data());
  const std::unique_ptr<IPluginV2, Destroy> again(
      creator("ROIAlign_TRT")->deserializePlugin("again", bytes.data(), bytes.size()));
  ASSERT_NE(again, nullptr);
  ITensor* const inputs[] = {b.input("x", {1, 2, 8, 8}), b.input("rois", {5, 4}),
                             b.input("batch", {5}, DataType::kINT32)};
  IPluginV2Layer* const layer = b.network->addPluginV2(inputs, 3, *again);
  EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{5, 2, 3, 2})) << b.logger.errors();
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(creator("ROIAlign_TRT")->deserializePlugin("half", bytes.data(), bytes.size()), nullptr);
}

TEST_P(StockPlugins, WrongFieldsAndShapesAreRefused) {
  const float half = 0.5F;
  EXPECT_EQ(make("EfficientNMS_TRT", {{"max_output_boxes", &half, PluginFieldType::kFLOAT32, 1}}), nullptr);
  EXPECT_EQ(make("GroupNormalizationPlugin", {}), nullptr);
  EXPECT_EQ(make("Clip_TRT", {{"clipMin", nullptr, PluginFieldType::kFLOAT32, 1}}), nullptr);
  const auto plugin = make("EfficientNMS_TRT", {});
  ASSERT_NE(plugin, nullptr);
  ITensor* const inputs[] = {b.input("boxes", {1, 3, 5}), b.input("scores", {1, 3, 2})};
  IPluginV2Layer* const layer = b.network->addPluginV2(inputs, 2, *plugin);
  ASSERT_NE(layer, nullptr);
  b.output(layer, "y");
  EXPECT_EQ(b.engine(), nullptr);
  EXPECT_NE(b.logger.errors().find("4 coordinates"), std::string::npos) << b.logger.errors();
}

}  // namespace
}  // namespace wootz_test
