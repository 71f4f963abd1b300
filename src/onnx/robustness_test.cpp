// Bytes that are no model, or almost one: an error or a graph, never a crash.
#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"
#include "onnx/model_for_test.h"

namespace wootz::importer {
namespace {

ModelProto sample() {
  ModelProto model = model_for_test();
  GraphProto* graph = model.mutable_graph();
  add_input(graph, "x", {"N", "3"});
  add_input(graph, "c", {}, TensorProto::BOOL);
  *graph->add_initializer() = raw_tensor<float>("w", TensorProto::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  add_node(graph, "MatMul", {"x", "w"}, {"m"});
  NodeProto* softmax = add_node(graph, "Softmax", {"m"}, {"s"});
  add_attribute(softmax, "axis", AttributeProto::INT)->set_i(-1);
  NodeProto* choose = add_node(graph, "If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    GraphProto* g = add_attribute(choose, branch, AttributeProto::GRAPH)->mutable_g();
    add_node(g, "Relu", {"s"}, {"r"});
    add_output(g, "r");
  }
  auto* function = model.add_functions();
  function->set_domain("local");
  function->set_name("F");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  add_node(function->mutable_node(), "Relu", {"a"}, {"b"});
  add_node(graph, "F", {"y"}, {"z"})->set_domain("local");
  add_output(graph, "z");
  return model;
}

TEST(Robustness, EveryTruncation) {
  const std::string bytes = sample().SerializeAsString();
  const ImportedForTest whole = import_for_test(bytes);
  EXPECT_TRUE(whole.status.ok()) << whole.status.to_string();
  int accepted = 0;
  for (size_t length = 0; length < bytes.size(); ++length)
    accepted += import_for_test(bytes.substr(0, length)).status.ok();
  EXPECT_EQ(accepted, 0);  // the opset import is written last
}

TEST(Robustness, RandomChanges) {
  const std::string bytes = sample().SerializeAsString();
  const auto seed = static_cast<unsigned>(test_seed());
  std::mt19937 rng(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (unsigned k = 0; k < 1 + rng() % 4; ++k) changed[rng() % changed.size()] = static_cast<char>(rng());
    const ImportedForTest imported = import_for_test(changed);
    EXPECT_EQ(imported.status.ok(), imported.graph != nullptr);
    EXPECT_NE(imported.status.code(), Code::kInternal) << imported.status.to_string();
  }
}

TEST(Robustness, NothingAtAll) {
  EXPECT_EQ(import_for_test(std::string()).status.code(), Code::kCorrupt);
  EXPECT_EQ(import_for_test(std::string(1000, '\0')).status.code(), Code::kCorrupt);
  EXPECT_EQ(import_for_test(std::string("hello")).problems.size(), 1u);
  EXPECT_EQ(import_file("/nonexistent/model.onnx").status().code(), Code::kIo);
  EXPECT_EQ(import_file("/").status().code(), Code::kIo);
}

}  // namespace
}  // namespace wootz::importer
