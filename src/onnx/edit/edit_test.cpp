#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/half.h"
#include "base/testing.h"
#include "onnx/edit/block_formats.h"
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

// Weights of blocks that differ in size, with a block of zeros, one that is far below the others, and E2M1's ties.
HostTensor weights_in_blocks(int64_t rows, int64_t depth, std::mt19937* random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * depth));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::ldexp(normal(*random), static_cast<int>(i / 16 % 5) - 2);
  std::fill(values.begin(), values.begin() + 32, 0.F);
  for (size_t i = 32; i < 48; ++i) values[i] *= 1e-9F;
  return HostTensor::from<float>(values, Dims{rows, depth});
}

TEST(BlockFormats, Nvfp4IsTheNearestByTheBestScale) {
  std::mt19937 random(test_seed());
  const int64_t rows = 6, depth = 64;
  const HostTensor weights = weights_in_blocks(rows, depth, &random);
  const auto made = narrow_nvfp4(weights, 1);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->values.dtype(), DType::kF4E2M1);
  EXPECT_EQ(made->scales.dtype(), DType::kF8E4M3);
  EXPECT_EQ(made->scales.dims(), (Dims{rows, depth / 16}));
  float most = 0;
  for (const float v : weights.as<float>()) most = std::max(most, std::abs(v));
  ASSERT_EQ(made->tensor_scale.get_f64(0), static_cast<double>(most / (6 * 448)));
  const auto tensor_scale = static_cast<float>(made->tensor_scale.get_f64(0));
  const auto* const codes = static_cast<const uint8_t*>(made->scales.data());
  HostTensor one = *HostTensor::allocate(DType::kF4E2M1, Dims{1});
  for (int64_t b = 0; b < rows * depth / 16; ++b) {
    // Independently: each code of E2M1 by the tensor's own rounding, the squares of all scales around the plain one.
    const auto lost = [&](int code) {
      const float scale = small_float_to_f32(DType::kF8E4M3, static_cast<uint8_t>(code)) * tensor_scale;
      double sum = 0;
      for (int64_t i = b * 16; i < b * 16 + 16; ++i) {
        one.set_f64(0, static_cast<float>(weights.get_f64(i)) / scale);
        const double d = weights.get_f64(i) - static_cast<float>(one.get_f64(0)) * scale;
        sum += d * d;
      }
      return sum;
    };
    float largest = 0;
    for (int64_t i = b * 16; i < b * 16 + 16; ++i)
      largest = std::max(largest, static_cast<float>(std::abs(weights.get_f64(i))));
    const int plain =
        largest == 0 ? 0x38 : std::max<int>(1, f32_to_small_float(DType::kF8E4M3, largest / 6 / tensor_scale, true));
    ASSERT_GT(codes[b], 0);
    ASSERT_LE(codes[b], 0x7e);
    EXPECT_LE(lost(codes[b]), lost(plain)) << "block " << b;
    for (int code = std::max(1, plain - 2); code <= std::min(0x7e, plain + 5); ++code)
      EXPECT_LE(lost(codes[b]), lost(code) * (1 + 1e-12)) << "block " << b << " scale " << code;
    const float scale = small_float_to_f32(DType::kF8E4M3, codes[b]) * tensor_scale;
    for (int64_t i = b * 16; i < b * 16 + 16; ++i) {
      one.set_f64(0, static_cast<float>(weights.get_f64(i)) / scale);
      EXPECT_EQ(made->values.get_f64(i), one.get_f64(0)) << i;
    }
  }
  EXPECT_EQ(codes[0], 0x38) << "a block of zeros";
}

TEST(BlockFormats, EveryCodeOfE2M1RoundsAsTheTensorDoes) {
  // With 6 * 448 in the block the scale of the tensor is 1; with 448 in another one, that block's is 448 / 6.
  std::vector<float> values(4096 * 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i % 257) - 128) * 0x1p-4F;
  values[0] = 2688;
  for (size_t b = 1; b < 4096; ++b) values[b * 16] = 6;
  const HostTensor weights = HostTensor::from<float>(values, Dims{4096, 16});
  const auto made = narrow_nvfp4(weights, 1);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->tensor_scale.get_f64(0), 1);
  HostTensor one = *HostTensor::allocate(DType::kF4E2M1, Dims{1});
  std::set<double> seen;
  for (int64_t i = 0; i < weights.volume(); ++i) {
    one.set_f64(0, static_cast<float>(weights.get_f64(i)) / static_cast<float>(made->scales.get_f64(i / 16)));
    ASSERT_EQ(made->values.get_f64(i), one.get_f64(0)) << i;
    seen.insert(one.get_f64(0));
  }
  EXPECT_EQ(seen.size(), 15U) << "of 16 codes, of which two are 0";
}

TEST(BlockFormats, Mxfp8SaturatesNothing) {
  std::mt19937 random(test_seed());
  const int64_t rows = 96, depth = 6;  // blocks along the first axis
  HostTensor weights = weights_in_blocks(rows, depth, &random);
  weights.set_f64(5, 448);
  weights.set_f64(4, std::nextafter(448.F, 500.F));
  const auto made = narrow_mxfp8(weights, 0);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->scales.dtype(), DType::kF8E8M0);
  ASSERT_EQ(made->scales.dims(), (Dims{rows / 32, depth}));
  HostTensor one = *HostTensor::allocate(DType::kF8E4M3, Dims{1});
  for (int64_t b = 0; b < made->scales.volume(); ++b) {
    double most = 0;
    const auto at = [&](int64_t i) { return (b / depth * 32 + i) * depth + b % depth; };
    for (int64_t i = 0; i < 32; ++i) most = std::max(most, std::abs(weights.get_f64(at(i))));
    const double scale = made->scales.get_f64(b);
    EXPECT_LE(most / scale, 448);
    EXPECT_GT(most / scale, 224) << "no power of two too much";
    for (int64_t i = 0; i < 32; ++i) {
      one.set_f64(0, weights.get_f64(at(i)) / scale);
      EXPECT_EQ(made->values.get_f64(at(i)), one.get_f64(0));
    }
  }
  EXPECT_EQ(made->scales.get_f64(5), 1);
  EXPECT_EQ(made->scales.get_f64(4), 2);
}

TEST_F(EditedModel, BlockFormatsAreWrittenAndRead) {
  for (const NumberFormat format : {NumberFormat::kNvfp4, NumberFormat::kMxfp8}) {
    const bool four = format == NumberFormat::kNvfp4;
    ModelProto model = products();
    model.mutable_graph()->clear_initializer();
    *model.mutable_graph()->add_initializer() =
        raw_tensor<float>("f", TensorProto::FLOAT, {4, 64}, std::vector<float>(256, 0.5F));
    *model.mutable_graph()->add_initializer() =
        raw_tensor<float>("w", TensorProto::FLOAT, {64, 2}, std::vector<float>(128, -0.25F));
    const auto opened = EditableModel::open(save(model));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    FormatRules rules;
    rules.format = format;
    std::vector<EditedLayer> layers;
    const Status status = (*opened)->convert(rules, &layers);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(layers[0].why_not, fmt::format("blocks of {} do not divide its sums of 4", four ? 16 : 32));
    EXPECT_EQ(layers[1].why_not, "");
    const ModelProto read = load(**opened);
    EXPECT_EQ(read.opset_import(0).version(), four ? 23 : 24);
    EXPECT_GE(read.ir_version(), four ? 11 : 12);
    std::multiset<int> types;
    for (const TensorProto& tensor : read.graph().initializer()) types.insert(tensor.data_type());
    const std::multiset<int> want =
        four ? std::multiset<int>{TensorProto::FLOAT4E2M1, TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT,
                                  TensorProto::FLOAT}
             : std::multiset<int>{TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E8M0, TensorProto::FLOAT};
    EXPECT_EQ(types, want);
    const ImportedForTest imported = import_for_test(read);
    EXPECT_TRUE(imported.status.ok()) << imported.status.message();
  }
}

}  // namespace
}  // namespace wootz::importer
