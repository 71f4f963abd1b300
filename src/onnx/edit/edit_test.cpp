#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/testing.h"
#include "onnx/edit/editable_model.h"
#include "onnx/edit/narrow_weights.h"
#include "onnx/model_for_test.h"

namespace wootz::importer {
namespace {

namespace fs = std::filesystem;

class EditedModel : public ::testing::Test {
 protected:
  EditedModel() : folder_(fs::path(::testing::TempDir()) / ("edit" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~EditedModel() override { fs::remove_all(folder_); }
  // y = relu(x f) w, with names that new ones could meet.
  static ModelProto products() {
    ModelProto model = model_for_test();
    auto* graph = model.mutable_graph();
    add_input(graph, "x", {"2", "4"});
    add_node(graph, "MatMul", {"x", "f"}, {"h"}, "first");
    add_node(graph, "Relu", {"h"}, {"r"});
    add_node(graph, "MatMul", {"r", "w"}, {"y"});
    add_output(graph, "y");
    *graph->add_initializer() = raw_tensor<float>("f", TensorProto::FLOAT, {4, 3}, std::vector<float>(12, 0.5F));
    *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {3, 2}, {1, -2, 3, 4, -5, 6});
    *graph->add_initializer() = raw_tensor<float>("x_scale", TensorProto::FLOAT, {}, {1});
    return model;
  }
  std::string save(const ModelProto& model, const char* name = "model.onnx") const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    return path;
  }
  static ModelProto load(const EditableModel& model) {
    ModelProto read;
    const Result<std::string> bytes = model.bytes();
    EXPECT_TRUE(bytes.ok() && read.ParseFromString(*bytes));
    return read;
  }
  fs::path folder_;
};

FormatRules int8_rules() {
  FormatRules rules;
  rules.scales = {{"x", 0.1F}, {"r", 0.2F}};
  return rules;
}

TEST_F(EditedModel, LayersGetQuantizeAndDequantize) {
  const auto model = EditableModel::open(save(products()));
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<EditedLayer> layers;
  ASSERT_TRUE((*model)->convert(int8_rules(), &layers).ok());
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].name, "first");
  EXPECT_EQ(layers[1].name, "y");
  EXPECT_FLOAT_EQ(static_cast<float>(layers[1].scale), 0.2F);
  EXPECT_DOUBLE_EQ(layers[1].weight_scale[1], static_cast<double>(6.F / 127));
  const ModelProto read = load(**model);
  std::vector<std::string> ops;
  for (const NodeProto& node : read.graph().node()) ops.push_back(node.op_type());
  const std::vector<std::string> want = {"DequantizeLinear", "DequantizeLinear", "QuantizeLinear",
                                         "DequantizeLinear", "MatMul",           "Relu",
                                         "QuantizeLinear",   "DequantizeLinear", "MatMul"};
  EXPECT_EQ(std::multiset<std::string>(ops.begin(), ops.end()), std::multiset<std::string>(want.begin(), want.end()));
  std::set<std::string> constants;
  for (const TensorProto& tensor : read.graph().initializer()) EXPECT_TRUE(constants.insert(tensor.name()).second);
  EXPECT_EQ(constants.count("f") + constants.count("w") + constants.count("x_scale"), 0U) << "nothing reads them";
  const ImportedForTest imported = import_for_test(read);
  EXPECT_TRUE(imported.status.ok()) << imported.status.message();
}

TEST_F(EditedModel, ALayerMayHaveAFormatOfItsOwn) {
  const auto model = EditableModel::open(save(products()));
  ASSERT_TRUE(model.ok());
  FormatRules rules = int8_rules();
  rules.formats = {{"first", NumberFormat::kFp8}};
  std::vector<EditedLayer> layers;
  ASSERT_TRUE((*model)->convert(rules, &layers).ok());
  EXPECT_EQ(layers[0].format, NumberFormat::kFp8);
  EXPECT_EQ(layers[1].format, NumberFormat::kInt8);
  const ModelProto read = load(**model);
  EXPECT_EQ(read.opset_import(0).version(), 19) << "which FP8 needs";
  std::multiset<int> types;
  for (const TensorProto& tensor : read.graph().initializer()) types.insert(tensor.data_type());
  EXPECT_EQ(types.count(TensorProto::FLOAT8E4M3FN), 2U) << "weights and the activation's zero point";
  EXPECT_EQ(types.count(TensorProto::INT8), 2U);
  const ImportedForTest imported = import_for_test(read);
  EXPECT_TRUE(imported.status.ok()) << imported.status.message();
}

TEST_F(EditedModel, KeptLayersStayAndOthersMustBeThere) {
  const auto model = EditableModel::open(save(products()));
  ASSERT_TRUE(model.ok());
  FormatRules rules = int8_rules();
  rules.keep = {"first"};
  std::vector<EditedLayer> layers;
  ASSERT_TRUE((*model)->copy()->convert(rules, &layers).ok());
  EXPECT_EQ(layers[0].why_not, "kept in float");
  EXPECT_EQ(layers[1].why_not, "");
  rules.keep = {"none"};
  EXPECT_FALSE((*model)->copy()->convert(rules, &layers).ok());
  rules.keep = {};
  rules.scales.erase("r");
  ASSERT_TRUE((*model)->copy()->convert(rules, &layers).ok());
  EXPECT_EQ(layers[1].why_not, "no range is known of its activation");
}

TEST_F(EditedModel, WhatIsQuantizedOrUnreadableIsRefused) {
  ModelProto model = products();
  add_node(model.mutable_graph(), "QuantizeLinear", {"y", "x_scale"}, {"q"});
  const auto quantized = EditableModel::open(save(model));
  ASSERT_FALSE(quantized.ok());
  EXPECT_NE(quantized.status().message().find("it is quantized already: node 'q' (QuantizeLinear)"), std::string::npos);
  EXPECT_FALSE(EditableModel::open(folder_ / "missing.onnx").ok());
  std::ofstream(folder_ / "text.onnx") << "no model";
  EXPECT_FALSE(EditableModel::open(folder_ / "text.onnx").ok());
  ModelProto external = products();
  TensorProto& tensor = *external.mutable_graph()->mutable_initializer(0);
  tensor.clear_raw_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
  auto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("weights.bin");
  const auto missing = EditableModel::open(save(external, "external.onnx"));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.status().message().find("weights.bin"), std::string::npos) << missing.status().message();
}

TEST_F(EditedModel, ExternalDataInsideOfNodesAreRefused) {
  ModelProto model = products();
  auto* value =
      add_attribute(add_node(model.mutable_graph(), "Constant", {}, {"k"}, "inner"), "value", AttributeProto::TENSOR);
  value->mutable_t()->set_data_location(TensorProto::EXTERNAL);
  const auto opened = EditableModel::open(save(model));
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("node 'inner' (Constant) has external data inside of it"),
            std::string::npos);
}

TEST_F(EditedModel, InputsWithDefaultsAreNoConstants) {
  ModelProto model = products();
  add_input(model.mutable_graph(), "w", {"3", "2"});
  const auto opened = EditableModel::open(save(model));
  ASSERT_TRUE(opened.ok());
  std::vector<EditedLayer> layers;
  ASSERT_TRUE((*opened)->convert(int8_rules(), &layers).ok());
  EXPECT_EQ(layers[1].why_not, "its weights are no constant");
}

TEST_F(EditedModel, SixteenBitsKeepInputsAndOutputs) {
  const auto model = EditableModel::open(save(products()));
  ASSERT_TRUE(model.ok());
  FormatRules rules;
  rules.format = NumberFormat::kFp16;
  rules.types = {{"x", DType::kF32}, {"h", DType::kF32}, {"r", DType::kF32}, {"y", DType::kF32}};
  std::vector<EditedLayer> layers;
  ASSERT_TRUE((*model)->convert(rules, &layers).ok());
  const ImportedForTest imported = import_for_test(load(**model));
  ASSERT_TRUE(imported.status.ok()) << imported.status.message();
  EXPECT_EQ(imported.graph->inputs()[0]->dtype(), DType::kF32);
  EXPECT_EQ(imported.graph->outputs()[0]->name(), "y");
  EXPECT_EQ(imported.graph->outputs()[0]->dtype(), DType::kF32);
  int products = 0;
  for (const Node* node = imported.graph->first(); node != nullptr; node = node->next())
    if (node->is("MatMul")) products += node->output()->dtype() == DType::kF16 ? 1 : 0;
  EXPECT_EQ(products, 2);
}

TEST(NarrowWeights, AreNearest) {
  std::mt19937 random(test_seed());
  std::normal_distribution<float> normal;
  std::vector<float> values(8 * 64);
  for (float& value : values) value = normal(random);
  const HostTensor weights = HostTensor::from<float>(values, Dims{8, 64});
  const auto channels = narrow_channels(weights, DType::kI8, 0);
  ASSERT_TRUE(channels.ok());
  for (const bool zero_points : {false, true}) {
    const auto blocks = narrow_blocks(weights, 1, 16, zero_points);
    ASSERT_TRUE(blocks.ok());
    EXPECT_EQ(blocks->scales.dims(), (Dims{8, 4}));
    EXPECT_GT(blocks->error, channels->error);
    for (int64_t i = 0; i < weights.volume(); ++i) {
      const int64_t block = i / 64 * 4 + i % 64 / 16;
      const double scale = blocks->scales.get_f64(block);
      const double zero = zero_points ? blocks->zero_points.get_f64(block) : 0;
      const double back = (blocks->values.get_f64(i) - zero) * scale;
      EXPECT_LE(std::abs(back - weights.get_f64(i)), scale * (zero_points ? 1.0 : 0.5001)) << i;
    }
  }
  for (int64_t i = 0; i < weights.volume(); ++i)
    EXPECT_LE(std::abs(channels->values.get_f64(i) * channels->scales.get_f64(i / 64) - weights.get_f64(i)),
              channels->scales.get_f64(i / 64) * 0.5001);
}

TEST(NarrowWeights, ZerosAndWhatIsTooLargeHaveANumber) {
  const auto zeros = narrow_channels(HostTensor::from<float>(std::vector<float>(4), Dims{2, 2}), DType::kI8, 0);
  ASSERT_TRUE(zeros.ok());
  EXPECT_EQ(zeros->scales.get_f64(0), 1);
  EXPECT_EQ(zeros->error, 0);
  double error = 0;
  const std::vector<float> large = {-1e9F, 1, -INFINITY};
  const auto half = rounded_to(HostTensor::from<float>(large, Dims{3}), DType::kF16, &error);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->get_f64(0), -65504);
  EXPECT_EQ(half->get_f64(2), -INFINITY);
}

}  // namespace
}  // namespace wootz::importer
