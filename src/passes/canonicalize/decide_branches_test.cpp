#include "passes/canonicalize/decide_branches.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz {
namespace {

// Squeezes x where it has one row, or gives its first rows; a sum follows. N is symbol 0.
constexpr const char* kText = R"(graph "g" {
  sym N = input_dim %x 0;
  %x: f32[N,3] = input;
  %s = Shape(%x);
  %zero: i64[] = const [0];
  %one: i64[] = const [1];
  %n = Gather(%s, %zero) {axis = 0};
  %c = Equal(%n, %one);
  %y = If(%c, %x, %x) {then_branch = graph "t" {
    %a: f32[N,3] = input;
    %r: f32[N,3] = Neg(%a);
    return %r;
  }, else_branch = graph "e" {
    %b: f32[N,3] = input;
    %k: f32[2,3] = const [1, 2, 3, 4, 5, 6];
    return %k;
  }};
  %z = Exp(%y);
  return %z;
})";

std::unique_ptr<Graph> graph_of(const std::string& text) {
  Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
  EXPECT_TRUE(graph.ok()) << graph.status().to_string();
  if (!graph.ok()) return std::make_unique<Graph>();
  const Status inferred = infer_graph(**graph);
  EXPECT_TRUE(inferred.ok()) << inferred.to_string();
  return std::move(graph).value();
}

const Node* find(const Graph& graph, std::string_view op_name) {
  for (const Node* n = graph.first(); n != nullptr; n = n->next())
    if (n->is(op_name)) return n;
  return nullptr;
}

std::optional<DimRange> is(int64_t low, int64_t high) { return DimRange{low, high}; }

TEST(DecideBranches, ExtentsOfAConditionOverExtentsAreExpressions) {
  const auto graph = graph_of(kText);
  ASSERT_EQ(graph->outputs().size(), 1u);
  const Shape& shape = graph->outputs()[0]->shape();
  ASSERT_EQ(shape.size(), 2u);
  for (const int64_t n : {1, 2, 5}) {
    const auto rows = shape[0].evaluate([&](SymbolId) { return std::optional<int64_t>(n); });
    EXPECT_EQ(rows, n == 1 ? 1 : 2);
  }
  EXPECT_EQ(shape[1], Dim(3));
}

TEST(DecideBranches, ByTheRangeOfEveryProfile) {
  for (const auto& [profiles, left] : std::vector<std::pair<std::vector<ProfileRanges>, const char*>>{
           {{{is(1, 1)}}, "Neg"}, {{{is(2, 8)}}, nullptr}, {{{is(2, 8)}, {is(9, 9)}}, nullptr}}) {
    const auto graph = graph_of(kText);
    const Result<int> decided = decide_branches(*graph, profiles);
    ASSERT_TRUE(decided.ok()) << decided.status().to_string();
    EXPECT_EQ(*decided, 1);
    EXPECT_EQ(find(*graph, "If"), nullptr);
    EXPECT_EQ(find(*graph, "Neg") != nullptr, left != nullptr);
    EXPECT_TRUE(verify_graph(*graph).ok());
    if (left == nullptr && !graph->outputs().empty()) {
      EXPECT_EQ(graph->outputs()[0]->shape()[0], Dim(2));
    }
  }
}

TEST(DecideBranches, StaysWhereShapesOrProfilesDiffer) {
  for (const std::vector<ProfileRanges>& profiles :
       std::vector<std::vector<ProfileRanges>>{{}, {{}}, {{is(1, 2)}}, {{is(1, 1)}, {is(2, 2)}}, {{std::nullopt}}}) {
    const auto graph = graph_of(kText);
    const Result<int> decided = decide_branches(*graph, profiles);
    ASSERT_TRUE(decided.ok()) << decided.status().to_string();
    EXPECT_EQ(*decided, 0);
    EXPECT_NE(find(*graph, "If"), nullptr);
  }
}

constexpr const char* kRequire = R"(graph "g" {
  sym N = input_dim %x 0;
  %x: f32[N,3] = input;
  %s = Shape(%x);
  %zero: i64[] = const [0];
  %one: i64[] = const [1];
  %n = Gather(%s, %zero) {axis = 0};
  %c = Equal(%n, %one);
  %y = Require(%c, %x) {expected = 0, message = "one row is too few"};
  %z = Neg(%y);
  return %z;
})";

TEST(DecideBranches, WhatHoldsIsNotAskedAgain) {
  const auto holds = graph_of(kRequire), open = graph_of(kRequire), fails = graph_of(kRequire);
  EXPECT_TRUE(decide_branches(*holds, {{is(2, 8)}}).ok());
  EXPECT_EQ(find(*holds, "Require"), nullptr);
  EXPECT_TRUE(verify_graph(*holds).ok());
  EXPECT_TRUE(decide_branches(*open, {{is(1, 8)}}).ok());
  EXPECT_NE(find(*open, "Require"), nullptr);
  const Result<int> refused = decide_branches(*fails, {{is(1, 1)}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("one row is too few"), std::string::npos);
}

constexpr const char* kAssert = R"(graph "g" {
  sym N = input_dim %x 0;
  %x: f32[N,3] = input;
  %s = Shape(%x);
  %two: i64[2] = const [2, 3];
  %less = Less(%s, %two);
  %c = Not(%less);
  %held = Assert(%c) {message = "two rows are needed"};
  %z = Neg(%x);
  return %z;
})";

TEST(DecideBranches, AnAssertionIsGoneFailsOrStays) {
  const auto holds = graph_of(kAssert), open = graph_of(kAssert), fails = graph_of(kAssert);
  EXPECT_TRUE(decide_branches(*holds, {{is(2, 8)}}).ok());
  EXPECT_EQ(find(*holds, "Assert"), nullptr);
  EXPECT_TRUE(verify_graph(*holds).ok());
  EXPECT_TRUE(decide_branches(*open, {{is(1, 8)}}).ok());
  EXPECT_NE(find(*open, "Assert"), nullptr);
  const Result<int> refused = decide_branches(*fails, {{is(1, 1)}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("two rows are needed"), std::string::npos);
}

// An If inside of a branch that stays.
TEST(DecideBranches, InsideOfBranches) {
  const auto graph = graph_of(R"(graph "g" {
  %c: bool[] = input;
  sym N = input_dim %x 0;
  %x: f32[N,3] = input;
  %s = Shape(%x);
  %zero: i64[] = const [0];
  %four: i64[] = const [4];
  %n = Gather(%s, %zero) {axis = 0};
  %d = Less(%n, %four);
  %y = If(%c, %d, %x, %x) {then_branch = graph "t" {
    %e: bool[] = input;
    %a: f32[N,3] = input;
    %r: f32[N,3] = If(%e, %a, %a) {then_branch = graph "tt" {
      %p: f32[N,3] = input;
      %q: f32[N,3] = Exp(%p);
      return %q;
    }, else_branch = graph "te" {
      %p: f32[N,3] = input;
      %q: f32[N,3] = Abs(%p);
      return %q;
    }};
    return %r;
  }, else_branch = graph "e" {
    %b: f32[N,3] = input;
    %r: f32[N,3] = Neg(%b);
    return %r;
  }};
  return %y;
})");
  const Result<int> decided = decide_branches(*graph, {{is(1, 3)}});
  ASSERT_TRUE(decided.ok()) << decided.status().to_string();
  EXPECT_EQ(*decided, 1);
  const Node* outer = find(*graph, "If");
  ASSERT_NE(outer, nullptr);
  const auto then = outer->attr_graph("then_branch");
  EXPECT_NE(find(*then, "Exp"), nullptr);
  EXPECT_EQ(find(*then, "If"), nullptr);
  EXPECT_TRUE(verify_graph(*graph).ok());
}

}  // namespace
}  // namespace wootz
