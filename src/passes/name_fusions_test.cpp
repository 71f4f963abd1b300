#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace wootz {
namespace {

TEST(NameFusions, SayWhatWasFused) {
  const auto graph = parse_graph(R"(graph "g" {
    %x: f32[2,2] = input;
    %a = Pointwise(%x) {expr = expr "v0=input.f32(0); v1=exp.f32(v0); out v1"} "n1" from ["add1", "relu1"];
    %b = MatMul(%a, %a) "n2" from ["fc1", "relu2"];
    %c = MatMul(%b, %b) "n3" from ["fc1", "relu2"];
    %y = Exp(%c) "n4" from ["a"];
    %z = Exp(%y) "n5" from ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    return %z;
  })",
                                 find_op);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  ASSERT_TRUE(infer_graph(**graph).ok());
  ASSERT_TRUE(name_fusions(**graph).ok());
  std::vector<std::string> names;
  for (const Node* node : (*graph)->nodes()) names.push_back(node->name());
  EXPECT_EQ(names[0], "fusedPointwiseNode(add1, relu1)");
  EXPECT_EQ(names[1], "fc1 + relu2");
  EXPECT_EQ(names[2].rfind("fc1 + relu2", 0), 0u) << names[2];
  EXPECT_NE(names[2], names[1]);
  EXPECT_EQ(names[3], "n4");
  EXPECT_EQ(names[4], "1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 and 2 more");
}

}  // namespace
}  // namespace wootz
