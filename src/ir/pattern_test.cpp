#include "ir/pattern.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/test_ops.h"
#include "ir/text.h"

namespace wootz {
namespace {

using pat::any;
using pat::maybe;
using pat::op;
using pat::same;
using pat::scalar;

std::unique_ptr<Graph> graph_of(std::string_view body) {
  auto read = parse_graph("graph {\n" + std::string(body) + "\n}", find_test_op);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : std::make_unique<Graph>();
}

const Pattern& silu() {
  static const Pattern kSilu = op("Mul", {any("x"), op("Sigmoid", {same("x")})});
  return kSilu;
}

TEST(Pattern, CommutativeInputsInEitherOrder) {
  for (const char* mul : {"Mul(%x, %s)", "Mul(%s, %x)"}) {
    const auto graph = graph_of("%x: f32[2] = input; %s = Sigmoid(%x); %y = " + std::string(mul) + "; return %y;");
    const auto found = match(silu(), graph->last());
    ASSERT_TRUE(found) << mul;
    EXPECT_EQ(found->value("x"), graph->inputs()[0]);
    EXPECT_EQ(found->nodes, (std::vector<Node*>{graph->last(), graph->first()}));
  }
}

TEST(Pattern, OrderCountsForOtherOpsAndOnRequest) {
  const auto graph =
      graph_of("%x: f32[2] = input; %s = Sigmoid(%x); %y = Mul(%s, %x); %z = Sub(%s, %x); return %y, %z;");
  EXPECT_FALSE(match(silu().ordered(), graph->last()->prev(), MatchUses::kAny));
  EXPECT_FALSE(match(op("Sub", {any("x"), op("Sigmoid", {same("x")})}), graph->last(), MatchUses::kAny));
  EXPECT_TRUE(match(op("Sub", {op("Sigmoid", {any("x")}), same("x")}), graph->last(), MatchUses::kAny));
}

TEST(Pattern, SameMeansTheSameValue) {
  const auto graph = graph_of("%x: f32[2] = input; %z: f32[2] = input; %s = Sigmoid(%x); %y = Mul(%z, %s); return %y;");
  EXPECT_FALSE(match(silu(), graph->last()));
}

TEST(Pattern, ClosedMatchesKeepWhatOthersRead) {
  const auto graph = graph_of("%x: f32[2] = input; %s = Sigmoid(%x); %y = Mul(%x, %s); %z = Sqrt(%s); return %y, %z;");
  Node* mul = graph->last()->prev();
  EXPECT_FALSE(match(silu(), mul));
  EXPECT_TRUE(match(silu(), mul, MatchUses::kAny));
  const auto output = graph_of("%x: f32[2] = input; %s = Sigmoid(%x); %y = Mul(%x, %s); return %y, %s;");
  EXPECT_FALSE(match(silu(), output->last()));
}

TEST(Pattern, SingleUse) {
  const auto graph = graph_of("%x: f32[2] = input; %s = Sigmoid(%x); %y = Mul(%s, %s); %o = Sqrt(%x); return %y, %o;");
  EXPECT_TRUE(match(op("Mul", {op("Sigmoid", {any()}), any()}), graph->last()->prev()));
  EXPECT_FALSE(match(op("Mul", {op("Sigmoid", {any()}).single_use(), any()}), graph->last()->prev()));
}

// x * 0.5 * (1 + erf(x / sqrt(2))) in its usual spellings.
TEST(Pattern, SpelledOutGelu) {
  const Pattern erf =
      op("Erf",
         {pat::either({op("Div", {any("x"), scalar(std::sqrt(2.0))}), op("Mul", {any("x"), scalar(std::sqrt(0.5))})})});
  const Pattern one_plus = op("Add", {erf, scalar(1.0)});
  const Pattern gelu = pat::either({
      op("Mul", {op("Mul", {same("x"), one_plus}), scalar(0.5)}),
      op("Mul", {op("Mul", {same("x"), scalar(0.5)}), one_plus}),
      op("Mul", {same("x"), op("Mul", {one_plus, scalar(0.5)})}),
  });
  const std::string head =
      "%x: f32[8] = input; %half: f32[] = const [0.5]; %one: f32[1] = const [1]; %r: f32[] = const [1.4142135]; "
      "%q: f16[] = const [0.7071]; ";
  for (const char* body : {
           "%a = Div(%x, %r); %b = Erf(%a); %c = Add(%b, %one); %d = Mul(%x, %c); %e = Mul(%d, %half); return %e;",
           "%a = Mul(%q, %x); %b = Erf(%a); %c = Add(%one, %b); %d = Mul(%half, %x); %e = Mul(%c, %d); return %e;",
           "%a = Div(%x, %r); %b = Erf(%a); %c = Add(%b, %one); %d = Mul(%half, %c); %e = Mul(%d, %x); return %e;",
       }) {
    const auto graph = graph_of(head + body);
    const auto found = match(gelu, graph->last());
    ASSERT_TRUE(found) << body;
    EXPECT_EQ(found->value("x"), graph->inputs()[0]);
    EXPECT_EQ(found->nodes.size(), 5u);
  }
  const auto wrong = graph_of(
      head +
      "%a = Div(%x, %half); %b = Erf(%a); %c = Add(%b, %one); %d = Mul(%x, %c); %e = Mul(%d, %half); return %e;");
  EXPECT_FALSE(match(gelu, wrong->last()));
}

// A value used twice inside: (x - mean) / sqrt(mean((x - mean)^2) + eps).
TEST(Pattern, SharedSubexpressions) {
  const auto last_axis = [](const Node& n) { return n.attr_ints("axes") == std::vector<int64_t>{-1}; };
  const Pattern centered = op("Sub", {any("x"), op("Mean", {same("x")}).where(last_axis)}).as("d");
  const Pattern variance = op("Mean", {op("Mul", {same("d"), same("d")})}).where(last_axis);
  const Pattern norm = op("Div", {centered, op("Sqrt", {op("Add", {variance, scalar("eps")})})});
  const auto graph = graph_of(R"(
      %x: f32[4,8] = input; %eps: f32[] = const [0.00001];
      %m = Mean(%x) {axes = [-1]}; %d = Sub(%x, %m); %sq = Mul(%d, %d); %v = Mean(%sq) {axes = [-1]};
      %ve = Add(%v, %eps); %s = Sqrt(%ve); %y = Div(%d, %s); return %y;)");
  const auto found = match(norm, graph->last());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes.size(), 7u);
  EXPECT_FLOAT_EQ(static_cast<float>(found->scalar("eps")), 1e-5f);
  EXPECT_TRUE(found->node("d")->is("Sub"));
  EXPECT_TRUE(std::isnan(found->scalar("x")));
}

TEST(Pattern, MaybeOmittedAndMoreInputs) {
  const auto graph = graph_of(R"(
      %x: f32[4] = input; %w: f32[4] = const [1, 2, 3, 4];
      %h = Cast(%x) {to = "f16"}; %c = Conv(%h, %w, _) {groups = 2}; %k = Conv(%x, %w, %x); %l = Clip(%x, _, %x);
      return %c, %k, %l;)");
  Node* with_bias = graph->last()->prev();
  Node* without = with_bias->prev();
  EXPECT_TRUE(match(op("Conv", {maybe("Cast", any("x")), pat::constant("w")}), without));
  EXPECT_EQ(match(op("Conv", {maybe("Cast", any("x")), pat::constant()}), without)->value("x"), graph->inputs()[0]);
  EXPECT_FALSE(match(op("Conv", {any(), any()}), with_bias));
  EXPECT_TRUE(match(op("Conv", {any(), any()}).more_inputs(), with_bias));
  EXPECT_TRUE(match(op("Conv"), with_bias));
  EXPECT_TRUE(match(op("Clip", {any("x"), pat::none(), same("x")}), graph->last()));
  EXPECT_FALSE(match(op("Clip", {any(), any(), any()}), graph->last()));
  EXPECT_TRUE(match(op("Conv").attr("groups", 2), without));
  EXPECT_FALSE(match(op("Conv").attr("groups", 1), without));
  EXPECT_FALSE(match(op("Conv").attr("groups", 0), with_bias));
}

TEST(Pattern, OutputsByNumber) {
  const auto graph =
      graph_of("%x: f32[4] = input; %k: i64[] = const [2]; %v, %i = TopK(%x, %k); %y = Sqrt(%i); return %y;");
  EXPECT_FALSE(match(op("Sqrt", {op("TopK")}), graph->last()));
  EXPECT_TRUE(match(op("Sqrt", {op("TopK").output(1)}), graph->last()));
  EXPECT_TRUE(match(op("TopK").output(1).as("t"), graph->first()));
}

// The choice made for one input must be taken back when a later one fails.
TEST(Pattern, Backtracks) {
  const Pattern pattern = op("Add", {op("Mul", {any("a"), any("b")}), op("Sub", {same("b"), same("a")})});
  const auto graph = graph_of(
      "%x: f32[4] = input; %z: f32[4] = input; %m = Mul(%x, %z); %s = Sub(%x, %z); %y = Add(%s, %m); return %y;");
  const auto found = match(pattern, graph->last());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value("b"), graph->inputs()[0]);
  EXPECT_EQ(found->value("a"), graph->inputs()[1]);
}

TEST(Pattern, GivesUpInsteadOfTakingForever) {
  std::string body = "%v0: f32[4] = input; ";
  Pattern pattern = pat::constant();
  for (int i = 1; i <= 40; ++i) {
    body += "%v" + std::to_string(i) + " = Add(%v" + std::to_string(i - 1) + ", %v" + std::to_string(i - 1) + "); ";
    pattern = op("Add", {pattern, pattern});
  }
  EXPECT_FALSE(match(pattern, graph_of(body + "return %v40;")->last()));
}

}  // namespace
}  // namespace wootz
