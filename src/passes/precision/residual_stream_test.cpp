// What BF16 keeps in FP32: a transformer's residual stream, from its embeddings to the norm at the end.
#include "passes/precision/residual_stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing.h"
#include "base/tolerance.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/precision/assign_precision.h"

namespace wootz {
namespace {

HostTensor scaled(HostTensor tensor, double by, double more = 0) {
  for (int64_t i = 0; i < tensor.volume(); ++i) tensor.set_f64(i, tensor.get_f64(i) * by + more);
  return tensor;
}

// `biased`: the GEMMs that add to the stream have a bias of their own.
void check_residual_stream(bool biased) {
  std::string text = "graph \"g\" {\n  %x0: f32[4,32] = input;\n";
  for (const char* name : {"s", "t"}) text += fmt::format("  %{}: f32[32] = input;\n", name);
  constexpr int kLayers = 8;
  for (int l = 0; l < kLayers; ++l) {
    text += fmt::format("  %v{0}: f32[32,64] = input;\n  %w{0}: f32[64,32] = input;\n  %b{0}: f32[32] = input;\n", l);
    text += fmt::format("  %h{0} = MatMul(%x{0}, %v{0});\n  %r{0} = Relu(%h{0});\n  %p{0} = MatMul(%r{0}, %w{0}{1});\n",
                        l, biased ? fmt::format(", %b{}", l) : "");
    text += fmt::format("  %a{0} = Add(%p{0}, %x{0});\n  %x{1} = LayerNorm(%a{0}, %s, %t) {{axis = -1}};\n", l, l + 1);
  }
  text += fmt::format("  return %x{};\n}}\n", kLayers);
  CaseList random(test_seed());
  std::vector<HostTensor> inputs;
  double errors[2] = {};
  for (const DType type : {DType::kF16, DType::kBF16}) {
    Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string() << text;
    ASSERT_TRUE(infer_graph(**graph).ok());
    if (inputs.empty())
      for (const Value* v : (*graph)->inputs()) {
        const double scale = v->name()[0] == 'v' || v->name()[0] == 'w' ? 0.08 : 1;  // layers change the stream little
        const bool norm_scale = v->name() == "s";
        inputs.push_back(
            scaled(random.random(DType::kF32, *to_dims(v->shape())), norm_scale ? 0.1 : scale, norm_scale ? 0.75 : 0));
      }
    const auto want = run_graph(**graph, inputs);
    ASSERT_TRUE(want.ok());
    ASSERT_TRUE(run_pipeline(**graph, {}).ok());
    ASSERT_TRUE(assign_precision(**graph, type).ok());
    ASSERT_TRUE(verify_graph(**graph).ok());
    int norms = 0, wide = 0, gemms = 0;
    for (const Node* node : (*graph)->nodes()) {
      if (node->op().lowering == Lowering::kNorm) norms += node->output()->dtype() == DType::kF32;
      if (!node->is("MatMul")) continue;
      ++gemms;
      EXPECT_EQ(node->input(0)->dtype(), type);
      wide += node->output()->dtype() == DType::kF32;
    }
    EXPECT_EQ(gemms, 2 * kLayers);
    EXPECT_EQ(wide, type == DType::kBF16 ? kLayers : 0);
    EXPECT_EQ(norms, type == DType::kBF16 ? kLayers : 0);
    const auto have = run_graph(**graph, inputs);
    ASSERT_TRUE(have.ok()) << have.status().to_string();
    errors[type == DType::kBF16] = compare((*have)[0], (*want)[0]).relative;
  }
  EXPECT_LT(errors[0], 0.01);
  EXPECT_LT(errors[1], 0.08);
}

// In BF16 what a transformer's layers are added to stays in FP32, and their GEMMs read it rounded; in F16, which has
// the digits for it, nothing is held back.
TEST(ResidualStream, KeepsItsDigitsInBf16) {
  for (const bool biased : {false, true}) {
    SCOPED_TRACE(biased);
    check_residual_stream(biased);
  }
}

// Embeddings begin the stream, and a norm ends it: in BF16 the sum of their rows and what is given out keep the digits
// of FP32, while the table of the sum's node is kept rounded.
TEST(ResidualStream, EmbeddingsAndTheLastNormKeepTheirDigitsInBf16) {
  CaseList random(test_seed());
  std::vector<HostTensor> inputs;
  for (const int64_t rows : {50, 9}) {  // tables of what BF16 holds: rounding them is no error
    inputs.push_back(random.random(DType::kF32, Dims{rows, 32}));
    for (int64_t i = 0; i < inputs.back().volume(); ++i)
      inputs.back().set_f64(i, std::round(inputs.back().get_f64(i) * 32) / 32);
  }
  Result<std::unique_ptr<Graph>> graph = parse_graph(R"(graph "g" {
    %words: f32[50,32] = input;
    %places: f32[9,32] = input;
    %ids: i64[1,9] = input;
    %at: i64[1,9] = input;
    %s: f32[32] = input;
    %t: f32[32] = input;
    %v: f32[32,64] = input;
    %w: f32[64,32] = input;
    %e = Gather(%words, %ids) {axis = 0};
    %p = Gather(%places, %at) {axis = 0};
    %sum = Add(%e, %p);
    %x = LayerNorm(%sum, %s, %t) {axis = -1};
    %h = MatMul(%x, %v);
    %r = Relu(%h);
    %m = MatMul(%r, %w);
    %a = Add(%m, %x);
    %y = LayerNorm(%a, %s, %t) {axis = -1};
    return %y;
  })",
                                                     find_op);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  ASSERT_TRUE(infer_graph(**graph).ok());
  for (int k = 0; k < 2; ++k) {
    inputs.push_back(HostTensor::allocate(DType::kI64, Dims{1, 9}).value());
    for (int64_t i = 0; i < 9; ++i) inputs.back().set_f64(i, static_cast<double>(k == 0 ? i * 5 + 2 : i));
  }
  for (int k = 0; k < 2; ++k) inputs.push_back(random.random(DType::kF32, Dims{32}));
  inputs.push_back(scaled(random.random(DType::kF32, Dims{32, 64}), 0.02));  // the layer changes the stream little
  inputs.push_back(scaled(random.random(DType::kF32, Dims{64, 32}), 0.02));
  const auto want = run_graph(**graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status().to_string();
  PipelineOptions rounds;
  rounds.part = PipelinePart::kRounds;  // as a build does: embeddings become one node afterwards
  ASSERT_TRUE(run_pipeline(**graph, rounds).ok());
  ASSERT_TRUE(assign_precision(**graph, DType::kBF16).ok());
  ASSERT_TRUE(verify_graph(**graph).ok());
  int sums = 0, rows = 0;
  for (const Node* node : (*graph)->nodes()) {
    if (!node->is("Gather")) continue;
    EXPECT_EQ(node->output()->dtype(), DType::kF32) << node->name();
    (node->has_attr("epilogue") ? sums : rows)++;
    EXPECT_EQ(node->input(0)->dtype(), node->has_attr("epilogue") ? DType::kBF16 : DType::kF32) << node->name();
  }
  EXPECT_EQ(sums, 1);
  EXPECT_EQ(rows, 1);
  const auto have = run_graph(**graph, inputs);
  ASSERT_TRUE(have.ok()) << have.status().to_string();
  EXPECT_LT(compare((*have)[0], (*want)[0]).relative, 1e-3);  // 2^-9, a rounding's, would be more
}

}  // namespace
}  // namespace wootz
