#include "passes/quantization/qdq_report.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace wootz {
namespace {

constexpr const char* kNetwork = R"(graph "g" {
  %x: f32[4,2] = input;
  %r: f32[2,2] = input;
  %h: u8[3,2] = input;
  %s: f32[] = const [0.5];
  %z: u8[] = const [7];
  %w: i8[2,2] = const [1, 2, 3, 4];
  %v: i8[2,2] = const [5, 6, 7, 8];
  %q: u8[4,2] = Quantize(%x, %s, %z) {to = "u8"};
  %d: f32[4,2] = Dequantize(%q, %s, %z);
  %dw: f32[2,2] = Dequantize(%w, %s);
  %p: f32[4,2] = MatMul(%d, %dw);
  %t: f32[2,4] = Transpose(%p) {perm = [1, 0]};
  %qt: u8[2,4] = Quantize(%t, %s, %z) {to = "u8"};
  %dt: f32[2,4] = Dequantize(%qt, %s, %z);
  %qa: u8[2,4] = Quantize(%dt, %s, %z) {to = "u8"};
  %dv: f32[2,2] = Dequantize(%v, %s);
  %u: f32[2,2] = MatMul(%r, %dv);
  %e: f32[2,4] = Dequantize(%qa, %s, %z);
  %y: f32[2,4] = Softmax(%e) {axis = 1};
  %g: f32[3,2] = Dequantize(%h, %s);
  %k: f32[2,2] = const [1, 2, 3, 4];
  %n: f32[3,2] = MatMul(%g, %k);
  return %y, %u, %n;
})";

const QdqLine& line_of(const std::vector<QdqLine>& lines, std::string_view node) {
  static const QdqLine kNone;
  for (const QdqLine& line : lines)
    if (line.node == node) return line;
  ADD_FAILURE() << "no line about " << node;
  return kNone;
}

TEST(QdqReport, SaysWhatBecameOfEach) {
  auto graph = parse_graph(kNetwork, find_op);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  ASSERT_TRUE(infer_graph(**graph).ok());
  for (Node* node : (*graph)->nodes()) node->add_provenance(node->output()->name());
  QdqRecorder recorder(**graph);
  PipelineOptions options;
  options.observer = [&](const PassReport& pass, const Graph& g) { recorder.after_pass(pass.name, g); };
  ASSERT_TRUE(run_pipeline(**graph, options).ok());
  const std::vector<QdqLine> lines = recorder.lines(**graph);
  std::string all;
  for (const QdqLine& line : lines) all += to_string(line) + "\n";
  SCOPED_TRACE(all);
  ASSERT_EQ(lines.size(), 9u);
  for (const QdqLine& line : lines) EXPECT_FALSE(line.reason.empty()) << line.node;
  EXPECT_EQ(line_of(lines, "d").fate, "fused");
  EXPECT_NE(line_of(lines, "d").reason.find("8 bits"), std::string::npos);
  EXPECT_EQ(line_of(lines, "dw").fate, "fused");
  EXPECT_EQ(line_of(lines, "dv").fate, "folded");
  EXPECT_EQ(line_of(lines, "qt").fate, "fused");
  EXPECT_NE(line_of(lines, "qt").reason.find("moved past 't'"), std::string::npos);
  EXPECT_EQ(line_of(lines, "dt").fate, "removed");
  EXPECT_EQ(line_of(lines, "q").fate, "kept");
  EXPECT_EQ(line_of(lines, "q").kind, "Quantize");
  EXPECT_NE(line_of(lines, "q").reason.find("input of the network"), std::string::npos);
  EXPECT_EQ(line_of(lines, "g").fate, "kept");
  EXPECT_NE(line_of(lines, "g").reason.find("second operand is in float"), std::string::npos);
  EXPECT_FALSE(line_of(lines, "g").step.empty());
}

}  // namespace
}  // namespace wootz
