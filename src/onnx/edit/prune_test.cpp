#include "onnx/edit/prune.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>

#include "onnx/edit/editable_model.h"
#include "onnx/model_for_test.h"

namespace wootz::importer {
namespace {

using Floats = std::vector<float>;

// y = (conv(x, f) as rows) w v', v transposed.
ModelProto layers_model() {
  ModelProto model = model_for_test();
  auto* graph = model.mutable_graph();
  add_input(graph, "x", {"1", "4", "1", "1"});
  add_node(graph, "Conv", {"x", "f"}, {"c"}, "conv");
  add_node(graph, "Reshape", {"c", "shape"}, {"h"});
  add_node(graph, "MatMul", {"h", "w"}, {"g"}, "product");
  auto* gemm = add_node(graph, "Gemm", {"g", "v"}, {"y"}, "gemm");
  auto* transposed = gemm->add_attribute();
  transposed->set_name("transB");
  transposed->set_type(::onnx::AttributeProto::INT);
  transposed->set_i(1);
  add_output(graph, "y");
  const auto add = [&](const char* name, const std::vector<int64_t>& dims, const Floats& values) {
    *graph->add_initializer() = raw_tensor<float>(name, TensorProto::FLOAT, dims, values);
  };
  add("f", {4, 4, 1, 1}, {1, 2, 3, 4, -4, 3, -2, 1, 1, 1, 1, 1, 0, 0, 5, 0});
  add("w", {4, 8}, {1, 8, 1, 2, 3, 4, 5, 6,  //
                    2, 7, 0, 2, 1, 4, 5, 6,  //
                    3, 6, 1, 2, 2, 4, 5, 7,  //
                    4, 5, 0, 2, 4, 4, 6, 7});
  add("v", {2, 8}, {1, 2, 3, 4, 5, 6, 7, 8, -8, 7, -6, 5, -4, 3, -2, 1});
  *graph->add_initializer() = raw_tensor<int64_t>("shape", TensorProto::INT64, {2}, {1, 4});
  return model;
}

struct Converted {
  Status status;
  std::vector<EditedLayer> layers;
  ModelProto model;

  Floats values(const std::string& name) const {
    for (const TensorProto& tensor : model.graph().initializer()) {
      if (tensor.name() != name) continue;
      Floats values(tensor.raw_data().size() / sizeof(float));
      std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
      return values;
    }
    return {};
  }
};

Converted converted(const ModelProto& model, const FormatRules& rules) {
  Converted made;
  const std::string bytes = model.SerializeAsString();
  const auto editable = EditableModel::read(std::as_bytes(std::span(bytes)), "");
  if (!editable.ok()) return {editable.status(), {}, {}};
  made.status = (*editable)->convert(rules, &made.layers);
  const Result<std::string> out = (*editable)->bytes();
  EXPECT_TRUE(out.ok() && made.model.ParseFromString(*out));
  return made;
}

FormatRules pruning(NumberFormat format = NumberFormat::kFp32) {
  FormatRules rules;
  rules.format = format;
  rules.sparse = true;
  rules.scales = {{"x", 0.1F}, {"h", 0.2F}, {"g", 0.3F}};
  rules.types = {{"x", DType::kF32}, {"c", DType::kF32}, {"h", DType::kF32}, {"g", DType::kF32}, {"y", DType::kF32}};
  return rules;
}

TEST(Prune, TheTwoSmallestOfFourBecomeZero) {
  const Converted made = converted(layers_model(), pruning());
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  EXPECT_EQ(made.values("f_pruned"), (Floats{0, 0, 3, 4, -4, 3, 0, 0, 1, 1, 0, 0, 0, 0, 5, 0}));
  EXPECT_EQ(made.values("w_pruned"), (Floats{0, 8, 1, 2, 3, 4, 5, 0,  //
                                             0, 7, 0, 2, 0, 4, 0, 0,  //
                                             3, 0, 1, 0, 0, 0, 0, 7,  //
                                             4, 0, 0, 0, 4, 0, 6, 7}));
  EXPECT_EQ(made.values("v_pruned"), (Floats{0, 0, 3, 4, 0, 0, 7, 8, -8, 7, 0, 0, -4, 3, 0, 0}));
  EXPECT_TRUE(made.values("w").empty()) << "nothing reads them";
  EXPECT_EQ(made.model.graph().node_size(), layers_model().graph().node_size());
  EXPECT_EQ(made.model.opset_import(0).version(), layers_model().opset_import(0).version());
  ASSERT_EQ(made.layers.size(), 3u);
  for (const EditedLayer& layer : made.layers) EXPECT_EQ(layer.why_not, "");
  EXPECT_DOUBLE_EQ(*made.layers[0].pruned, std::sqrt((5 + 5 + 2) / (30.0 + 30 + 4 + 25)));
  EXPECT_DOUBLE_EQ(*made.layers[2].pruned, std::sqrt((5 + 61 + 61 + 5) / 408.0));
  const ImportedForTest imported = import_for_test(made.model);
  EXPECT_TRUE(imported.status.ok()) << imported.status.message();
}

TEST(Prune, WhatIsPrunedStaysSo) {
  const Converted once = converted(layers_model(), pruning());
  const Converted twice = converted(once.model, pruning());
  ASSERT_TRUE(twice.status.ok());
  EXPECT_EQ(twice.model.SerializeAsString(), once.model.SerializeAsString());
  for (const EditedLayer& layer : twice.layers) EXPECT_EQ(layer.pruned, 0.0);
}

TEST(Prune, KeptLayersStayWhole) {
  FormatRules rules = pruning();
  rules.keep = {"product"};
  const Converted made = converted(layers_model(), rules);
  ASSERT_TRUE(made.status.ok());
  EXPECT_EQ(made.layers[1].why_not, "kept in float");
  EXPECT_FALSE(made.layers[1].pruned);
  EXPECT_EQ(made.values("w").size(), 32u);
  EXPECT_TRUE(made.values("w_pruned").empty());
  EXPECT_FALSE(made.values("f_pruned").empty());
}

TEST(Prune, SumsThatAreNotInFoursAreSaidSo) {
  ModelProto model = layers_model();
  auto* graph = model.mutable_graph();
  graph->mutable_node(0)->set_input(1, "three");
  *graph->add_initializer() = raw_tensor<float>("three", TensorProto::FLOAT, {4, 3, 1, 1}, Floats(12, 1));
  EXPECT_EQ(converted(model, pruning()).layers[0].why_not, "3 channels are not in fours");
  const Converted narrow = converted(model, pruning(NumberFormat::kInt8));
  ASSERT_TRUE(narrow.status.ok()) << narrow.status.message();
  EXPECT_EQ(narrow.layers[0].why_not, "");
  EXPECT_EQ(narrow.layers[0].not_pruned, "3 channels are not in fours");
  EXPECT_TRUE(narrow.layers[1].pruned);
}

// Zeros stay zeros in every format; a layer that cannot have the format keeps its weights.
TEST(Prune, ComesBeforeRounding) {
  const Converted int8 = converted(layers_model(), pruning(NumberFormat::kInt8));
  ASSERT_TRUE(int8.status.ok()) << int8.status.message();
  for (const TensorProto& tensor : int8.model.graph().initializer())
    if (tensor.name() == "v_pruned_quantized") {
      const std::string& bytes = tensor.raw_data();
      const std::vector<int> values(bytes.begin(), bytes.end());
      EXPECT_EQ(values, (std::vector<int>{0, 0, 48, 64, 0, 0, 111, 127, -127, 111, 0, 0, -64, 48, 0, 0}));
    }
  FormatRules rules = pruning(NumberFormat::kInt8);
  rules.scales.erase("h");
  const Converted part = converted(layers_model(), rules);
  EXPECT_EQ(part.layers[1].why_not, "no range is known of its activation");
  EXPECT_FALSE(part.layers[1].pruned);
  EXPECT_EQ(part.values("w").size(), 32u);
  EXPECT_TRUE(part.values("w_pruned").empty());
}

TEST(Prune, HalvesArePrunedToo) {
  const Converted made = converted(layers_model(), pruning(NumberFormat::kFp16));
  ASSERT_TRUE(made.status.ok()) << made.status.message();
  bool found = false;
  for (const TensorProto& tensor : made.model.graph().initializer()) {
    if (tensor.name() != "v_pruned_f16") continue;
    found = true;
    std::vector<uint16_t> bits(tensor.raw_data().size() / sizeof(uint16_t));
    std::memcpy(bits.data(), tensor.raw_data().data(), tensor.raw_data().size());
    EXPECT_EQ(bits[0], 0);
    EXPECT_EQ(bits[2], 0x4200);
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(made.layers[2].pruned);
}

}  // namespace
}  // namespace wootz::importer
