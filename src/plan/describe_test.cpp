#include "plan/describe.h"

#include <gtest/gtest.h>

#include "backend/index_literals.h"
#include "base/json.h"
#include "plan/program_testing.h"

namespace wootz {
namespace {

// x [N, 3] -> softmax -> y, and a second layer that reads an omitted operand.
Program two_layers() {
  Program p;
  p.symbols = {{"N", SymbolSource::kInputDim, 0_tensor, 0}};
  p.exprs = {{ShapeOp::kSymbol, 0, {}}, {ShapeOp::kConst, 3, {}}};
  p.tensors.resize(3);
  const TensorKind kinds[] = {TensorKind::kInput, TensorKind::kIntermediate, TensorKind::kOutput};
  const char* names[] = {"x", "h", "y"};
  for (const TensorIndex t : p.tensors.indices()) {
    p.tensors[t].name = names[t.position()];
    p.tensors[t].dtype = DType::kF32;
    p.tensors[t].kind = kinds[t.position()];
    p.tensors[t].dims = {0_expr, 1_expr};
  }
  p.tensors[1_tensor].layout = Layout::kChannelsLast;
  p.inputs = {{0_tensor, false}};
  p.outputs = {{2_tensor, false}};
  p.steps.resize(2);
  p.steps[0_step].name = "soft + more";
  p.steps[0_step].provenance = {"soft", "more"};
  p.steps[0_step].problem.set_family(Family::kSoftmax);
  p.steps[0_step].problem.as<SoftmaxParams>().axis = 1;
  p.steps[0_step].tactic = {"native", "softmax_f32_avx2", ""};
  p.steps[0_step].inputs = {0_tensor};
  p.steps[0_step].outputs = {1_tensor};
  p.steps[0_step].measured_us = 12.25f;
  p.steps[1_step] = p.steps[0_step];
  p.steps[1_step].name = "last";
  p.steps[1_step].problem.set_family(Family::kOp);
  p.steps[1_step].inputs = {1_tensor, TensorIndex()};
  p.steps[1_step].outputs = {2_tensor};
  p.steps[1_step].measured_us = -1;
  return p;
}

TEST(Describe, JsonHasTheShapeThatToolsRead) {
  const Program p = two_layers();
  const auto json = describe_program(p);
  ASSERT_EQ(json["Layers"].size(), 2u);
  const auto& layer = json["Layers"][0];
  EXPECT_EQ(layer["Name"], "soft + more");
  EXPECT_EQ(layer["LayerType"], "SoftMax");
  EXPECT_EQ(layer["Inputs"][0]["Name"], "x");
  EXPECT_EQ(layer["Inputs"][0]["Dimensions"], OrderedJson({-1, 3}));
  EXPECT_EQ(layer["Inputs"][0]["Format/Datatype"], "Row major linear FP32");
  EXPECT_EQ(layer["Outputs"][0]["Format/Datatype"], "Channels last FP32");
  EXPECT_EQ(layer["Parameters"]["axis"], 1);
  EXPECT_EQ(layer["TacticName"], "native:softmax_f32_avx2");
  EXPECT_EQ(layer["TacticTimeUs"], 12.25);
  EXPECT_EQ(layer["Metadata"], "[ONNX Layer: soft]\x1e[ONNX Layer: more]");
  EXPECT_EQ(json["Layers"][1]["Inputs"].size(), 1u);
  EXPECT_FALSE(json["Layers"][1].contains("TacticTimeUs"));
  EXPECT_EQ(json["Bindings"], OrderedJson({"x", "y"}));
}

TEST(Describe, LinesAndShapesOfACall) {
  const Program p = two_layers();
  EXPECT_EQ(describe_step_line(p, 0_step),
            "soft + more [SoftMax] x f32[?x3] -> h f32[?x3]@channels_last, native:softmax_f32_avx2, 12.2 us");
  ShapeValues shapes;
  ASSERT_TRUE(evaluate_shapes(p, std::vector<int64_t>{5}, &shapes).ok());
  DescribeOptions options;
  options.shapes = &shapes;
  EXPECT_EQ(describe_step_line(p, 1_step, options),
            "last [Op] h f32[5x3]@channels_last, - -> y f32[5x3], native:softmax_f32_avx2");
  options.names_only = true;
  EXPECT_EQ(describe_program(p, options)["Layers"][1], "last");
}

TEST(Describe, AnyProgram) {
  RandomProgram random(9);
  for (int i = 0; i < 20; ++i) {
    const Program p = random.make();
    EXPECT_EQ(describe_program(p)["Layers"].size(), p.steps.size());
    for (const StepIndex s : p.steps.indices()) EXPECT_FALSE(describe_step_line(p, s).empty());
  }
}

}  // namespace
}  // namespace wootz
