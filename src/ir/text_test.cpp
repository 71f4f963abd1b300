#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/half.h"
#include "base/testing.h"
#include "ir/test_ops.h"
#include "ir/verify.h"

namespace wootz {
namespace {

using ::testing::HasSubstr;

std::string round_trip(const Graph& graph) {
  const std::string text = print_graph(graph);
  Result<std::unique_ptr<Graph>> read = parse_graph(text, find_test_op);
  EXPECT_TRUE(read.ok()) << read.status().message() << "\n" << text;
  if (!read.ok()) return "";
  EXPECT_EQ(print_graph(**read), text);
  return text;
}

std::unique_ptr<Graph> parsed(std::string_view text) {
  Result<std::unique_ptr<Graph>> read = parse_graph(text, find_test_op);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : nullptr;
}

std::string refusal(std::string_view text) {
  const Result<std::unique_ptr<Graph>> read = parse_graph(text, find_test_op);
  EXPECT_FALSE(read.ok()) << text;
  return read.status().message();
}

TEST(Text, ReadsTheExampleShape) {
  const auto graph = parsed(R"(
    graph "net" {
      sym N = input_dim %x 0;   // the batch
      sym H = input_dim %x 2;
      %x: f32[N,3,H,224] = input;
      %w: f32[1,3,1,2] = const [1, -0.5, 3e-2, inf, -inf, 0];
      %y: f32[N,1,H/2,(H*N+1)/2] = Conv(%x, %w) {strides = [2, 2]} "first conv" from ["conv1", "bn1"];
      return %y;
    })");
  ASSERT_NE(graph, nullptr);
  EXPECT_TRUE(verify_graph(*graph).ok()) << verify_graph(*graph).message();
  EXPECT_EQ(graph->name(), "net");
  ASSERT_EQ(graph->symbols().size(), 2u);
  EXPECT_EQ(graph->symbols()[1].name, "H");
  EXPECT_EQ(graph->symbols()[1].index, 2);
  EXPECT_EQ(graph->symbols()[1].value_id, graph->inputs()[0]->id());
  const Node* conv = graph->first();
  EXPECT_EQ(conv->name(), "first conv");
  EXPECT_EQ(conv->provenance(), (std::vector<std::string>{"conv1", "bn1"}));
  EXPECT_EQ(conv->attr_ints("strides"), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(conv->input(1)->constant().as<float>()[2], 0.03f);
  const Dim n = Dim::symbol(0), h = Dim::symbol(1);
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{n, 1, floor_div(h, 2), floor_div(h * n + 1, 2)}));
  round_trip(*graph);
}

TEST(Text, TypesAndNodeNamesMayBeLeftOut) {
  const auto graph = parsed("graph { %x: f32[4] = input; %y = Sqrt(%x); %z = Cast(%y) {to = \"f16\"}; return %z; }");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->num_nodes(), 2);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::kInvalid);
  EXPECT_FALSE(graph->first()->name().empty());
  EXPECT_EQ(graph->last()->attr_dtype("to"), DType::kF16);
  round_trip(*graph);
}

TEST(Text, EveryAttributeKindSurvives) {
  Graph graph("attributes \"quoted\" \n");
  Value* x = graph.add_input("x", DType::kF32, {2});
  AttrMap attrs;
  attrs["i"] = int64_t{INT64_MIN};
  attrs["f"] = 3.0;
  attrs["s"] = std::string("tab\tquote\"back\\\x01 end");
  attrs["is"] = std::vector<int64_t>{};
  attrs["fs"] = std::vector<double>{1, -0.0, 1e300, 5e-324, 0.1, INFINITY, -INFINITY};
  attrs["t"] = HostTensor::from<int64_t>(std::vector<int64_t>{INT64_MIN, INT64_MAX}, Dims{2});
  PointwiseExpr expr;
  expr.outputs.push_back(expr.push(PwOp::kLeakyRelu, DType::kF32, expr.input(0, DType::kF32), 0, 0, 0.1));
  attrs["e"] = expr;
  auto inner = std::make_shared<Graph>("inner");
  inner->mark_output(inner->add_input("v", DType::kI32, {}));
  attrs["g"] = inner;
  attrs["d"] = std::string("bf16");
  graph.mark_output(graph.add_node(test_op("Any"), "n", {x, nullptr}, attrs, 2)->output(1));
  const std::string text = round_trip(graph);
  const auto read = parsed(text);
  const Node& node = *read->first();
  EXPECT_EQ(read->name(), graph.name());
  EXPECT_EQ(node.attr_int("i"), INT64_MIN);
  EXPECT_EQ(node.attr_float("f"), 3.0);
  EXPECT_EQ(node.attr_string("s"), "tab\tquote\"back\\\x01 end");
  EXPECT_TRUE(std::holds_alternative<std::vector<int64_t>>(node.attrs().at("is")));
  const std::vector<double> floats = node.attr_floats("fs");
  ASSERT_EQ(floats.size(), 7u);
  EXPECT_TRUE(std::signbit(floats[1]));
  EXPECT_EQ(floats[3], 5e-324);
  EXPECT_EQ(floats[4], 0.1);
  EXPECT_EQ(node.attr_tensor("t")->as<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(*node.attr_expr("e"), expr);
  ASSERT_NE(node.attr_graph("g"), nullptr);
  EXPECT_EQ(node.attr_graph("g")->inputs()[0]->name(), "v");
  EXPECT_EQ(node.attr_dtype("d"), DType::kBF16);
  EXPECT_EQ(node.num_inputs(), 2);
  EXPECT_EQ(node.input(1), nullptr);
  EXPECT_EQ(node.num_outputs(), 2);
}

TEST(Text, ConstantsKeepEveryBit) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  for (int d = 1; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype_bits(dtype) == 0) continue;
    for (const int64_t count : {0, 1, 7, 16, 17, 100}) {
      for (const bool uniform : {false, true}) {
        Graph graph;
        HostTensor tensor = std::move(HostTensor::allocate(dtype, Dims{count})).value();
        const uint64_t pattern = rng();
        auto* bytes = static_cast<uint8_t*>(tensor.mutable_data());
        for (size_t i = 0; i < tensor.bytes(); ++i)
          bytes[i] = static_cast<uint8_t>(uniform ? pattern >> (8 * (i % 8)) : rng());
        graph.mark_output(graph.add_constant("c", tensor));
        const std::string text = print_graph(graph);
        Result<std::unique_ptr<Graph>> read = parse_graph(text, find_test_op);
        ASSERT_TRUE(read.ok()) << read.status().message() << text;
        const HostTensor& back = (*read)->outputs()[0]->constant();
        ASSERT_EQ(back.dtype(), dtype);
        ASSERT_EQ(back.bytes(), tensor.bytes());
        ASSERT_TRUE(tensor.bytes() == 0 || std::memcmp(back.data(), tensor.data(), tensor.bytes()) == 0) << text;
      }
    }
  }
}

TEST(Text, UniformConstantsAreShort) {
  Graph graph;
  HostTensor tensor = std::move(HostTensor::allocate(DType::kF32, Dims{64, 64})).value();
  for (float& v : tensor.as_mutable<float>()) v = 0.25f;
  graph.mark_output(graph.add_constant("c", tensor));
  EXPECT_THAT(round_trip(graph), HasSubstr("splat(0.25)"));
}

TEST(Text, ElidedConstantsAreRefusedByName) {
  Graph graph;
  graph.mark_output(graph.add_constant("c", HostTensor::from<float>(std::vector<float>(100, 1.5f), Dims{100})));
  PrintOptions options;
  options.elide_bytes = 64;
  const std::string text = print_graph(graph, options);
  EXPECT_THAT(text, HasSubstr("elided"));
  EXPECT_THAT(refusal(text), HasSubstr("elided"));
}

TEST(Text, NamesOfAllKinds) {
  Graph graph;
  Value* a = graph.add_input("/layer.1/conv:0", DType::kF32, {1});
  Value* b = graph.add_input("same", DType::kF32, {1});
  Node* n = graph.add_node(test_op("Add"), "", {a, b}, {});
  n->set_name("");
  n->output()->set_name("same");
  Node* m = graph.add_node(test_op("Add"), "two\nlines", {n->output(), b}, {});
  m->output()->set_name("");
  graph.mark_output(m->output());
  const auto read = parsed(round_trip(graph));
  EXPECT_EQ(read->inputs()[0]->name(), "/layer.1/conv:0");
  EXPECT_EQ(read->first()->name(), "");
  EXPECT_EQ(read->first()->output()->name(), "same");
  EXPECT_EQ(read->last()->input(0), read->first()->output());
  EXPECT_EQ(read->last()->input(1), read->inputs()[1]);
  EXPECT_EQ(read->last()->name(), "two\nlines");
  EXPECT_EQ(read->outputs()[0]->name(), "");
}

TEST(Text, SymbolsOfAllKinds) {
  Graph graph;
  Value* x = graph.add_input("x", DType::kF32, {});
  const Dim n = Dim::symbol(graph.add_symbol({"N", SymbolKind::kInputDim, x->id(), 0, -1}));
  const Dim odd = Dim::symbol(graph.add_symbol({"seq len/2", SymbolKind::kInputValue, x->id(), 3, -1}));
  Dim found = Dim::symbol(graph.add_symbol({"N", SymbolKind::kDataDependent, 99, 1, 4096}));
  const Dim one_over_zero = floor_div(n, 0);
  x->set_type(DType::kF32, {n, odd * 2 - n, dim_min(n, odd), ceil_div(n, odd), mod(found, 4), one_over_zero});
  Node* node = graph.add_node(test_op("Sqrt"), "n", {x}, {});
  node->output()->set_type(DType::kI64, {3});
  node->output()->set_shape_values(std::vector<Dim>{n, found + 1, -5});
  graph.mark_output(node->output());
  const auto read = parsed(round_trip(graph));
  ASSERT_EQ(read->symbols().size(), 3u);
  EXPECT_EQ(read->symbols()[1].name, "seq len/2");
  EXPECT_EQ(read->symbols()[1].kind, SymbolKind::kInputValue);
  EXPECT_EQ(read->symbols()[1].index, 3);
  EXPECT_EQ(read->symbols()[2].name, "N");
  EXPECT_EQ(read->symbols()[2].upper_bound, 4096);
  EXPECT_EQ(read->symbols()[2].value_id, -1);  // of a value that is gone
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(read->inputs()[0]->shape()[static_cast<size_t>(i)], x->shape()[static_cast<size_t>(i)]) << i;
  EXPECT_EQ(*read->outputs()[0]->shape_values(), *node->output()->shape_values());
}

TEST(Text, SubgraphsShareSymbolsOrHaveTheirOwn) {
  Graph graph("outer");
  Value* cond = graph.add_input("cond", DType::kBool, {});
  const Dim n = Dim::symbol(graph.add_symbol({"N", SymbolKind::kInputDim, cond->id(), 0, -1}));
  auto shared = std::make_shared<Graph>("shared");
  shared->share_symbols(graph);
  shared->mark_output(shared->add_input("a", DType::kF32, {n}));
  auto own = std::make_shared<Graph>("own");
  const Dim m = Dim::symbol(own->add_symbol({"M", SymbolKind::kInputDim, -1, 0, -1}));
  own->mark_output(own->add_input("a", DType::kF32, {m * 2}));
  graph.add_node(test_op("If"), "if", {cond}, {{"then", shared}, {"else", own}});
  const auto read = parsed(round_trip(graph));
  const Node* node = read->first();
  EXPECT_EQ(&node->attr_graph("then")->symbols(), &read->symbols());
  EXPECT_NE(&node->attr_graph("else")->symbols(), &read->symbols());
  EXPECT_EQ(node->attr_graph("else")->symbols()[0].name, "M");
}

TEST(Text, EqualNodesPrintEqually) {
  const auto text_of = [](const char* prefix, SymbolId first_symbol) {
    Graph graph("any");
    for (int i = 0; i < 4; ++i) graph.add_symbol({std::string(prefix) + std::to_string(i)});
    const Dim n = Dim::symbol(first_symbol), m = Dim::symbol(3 - first_symbol);
    Value* x = graph.add_input(std::string(prefix) + "x", DType::kF32, {n, m * 2});
    Node* node = graph.add_node(test_op("Add"), prefix, {x, x}, {});
    node->output()->set_type(DType::kF32, {n, m * 2});
    auto text = print_node(*node);
    EXPECT_TRUE(text.ok());
    return *text;
  };
  const std::string text = text_of("a", 0);
  EXPECT_EQ(text, text_of("b", 2));
  const auto read = parsed(text);
  EXPECT_TRUE(verify_graph(*read).ok()) << verify_graph(*read).message();
  EXPECT_EQ(read->first()->num_inputs(), 2);
  EXPECT_EQ(read->inputs().size(), 1u);
}

TEST(Text, RefusalsKnowTheirPlace) {
  EXPECT_THAT(refusal(""), HasSubstr("line 1, column 1"));
  EXPECT_THAT(refusal("graph {\n  %x: f32[2] = input\n}"), HasSubstr("line 3, column 1: ';' expected"));
  EXPECT_THAT(refusal("graph { %y = Sqrt(%x); }"), HasSubstr("'x' is not defined"));
  EXPECT_THAT(refusal("graph { %y = Nope(); }"), HasSubstr("no op 'Nope'"));
  EXPECT_THAT(refusal("graph { %x: f32[K] = input; }"), HasSubstr("symbol 'K'"));
  EXPECT_THAT(refusal("graph { %x: f99[1] = input; }"), HasSubstr("element type"));
  EXPECT_THAT(refusal("graph { %x: f32[1] = input; %x: f32[1] = input; }"), HasSubstr("defined twice"));
  EXPECT_THAT(refusal("graph { %x, %x = Any(); }"), HasSubstr("defined twice"));
  EXPECT_THAT(refusal("graph { %c: i8[1] = const [200]; }"), HasSubstr("does not fit i8"));
  EXPECT_THAT(refusal("graph { %c: f32[2] = const hex\"00\"; }"), HasSubstr("bytes"));
  EXPECT_THAT(refusal("graph { %c: f32[1000000000] = const [1]; }"), HasSubstr("elements expected"));
  EXPECT_THAT(refusal("graph { %c: f32[1000000000] = const splat(1); }"), HasSubstr("splats"));
  EXPECT_THAT(refusal("graph { Any() {i = 1, i = 2}; }"), HasSubstr("twice"));
  EXPECT_THAT(refusal("graph { Any() {e = expr \"v0=nope\"}; }"), HasSubstr("operation"));
  EXPECT_THAT(refusal("graph { sym N; sym N; }"), HasSubstr("declared twice"));
  EXPECT_THAT(refusal("graph { } trailing"), HasSubstr("the end"));
  EXPECT_THAT(refusal("graph { %x: f32[1,1,1,1,1,1,1,1,1] = input; }"), HasSubstr("more than 8"));
}

TEST(Text, HostileNestingIsRefused) {
  std::string dims(100000, '(');
  EXPECT_THAT(refusal("graph { %x: f32[" + dims), HasSubstr("nests deeper"));
  EXPECT_THAT(refusal("graph { %x: f32[" + std::string(100000, '-')), HasSubstr("nests deeper"));
  std::string graphs;
  for (int i = 0; i < 100000; ++i) graphs += "graph { Any() {g = ";
  EXPECT_THAT(refusal(graphs), HasSubstr("nest deeper than 64"));
}

std::string random_dim(std::mt19937_64& rng, int depth) {
  const auto sub = [&] { return random_dim(rng, depth - 1); };
  switch (rng() % (depth > 0 ? 10 : 2)) {
    case 0: return std::to_string(rng() % 9);
    case 1: return "s" + std::to_string(rng() % 3);
    case 2: return "(" + sub() + ")+" + sub();
    case 3: return "(" + sub() + ")-(" + sub() + ")";
    case 4:
    case 5: return "(" + sub() + ")*(" + sub() + ")";
    case 6: return "(" + sub() + ")/(" + sub() + ")";
    case 7: return "mod(" + sub() + "," + sub() + ")";
    case 8: return "ceil_div(" + sub() + "," + sub() + ")";
    default: return (rng() % 2 ? "min(" : "max(") + sub() + "," + sub() + ")";
  }
}

TEST(Text, RandomDimensionsSurvive) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 2000; ++i) {
    const std::string dim = random_dim(rng, 4);
    const auto graph = parsed("graph { sym s0; sym s1; sym s2; %x: f32[" + dim + "] = input; }");
    ASSERT_NE(graph, nullptr);
    const std::string text = print_graph(*graph);
    const auto again = parsed(text);
    ASSERT_NE(again, nullptr);
    ASSERT_EQ(print_graph(*again), text) << dim;
  }
}

// Sums that grow and are thrown away, over and over: the work is bounded by the length of the text.
TEST(Text, HostileDimensionsEndSoon) {
  std::string text = "graph { ";
  for (int i = 0; i < 600; ++i) text += "sym s" + std::to_string(i) + ";";
  for (int k = 0; k < 100; ++k) {
    text += "%x" + std::to_string(k) + ": f32[";
    for (int i = 0; i < 300; ++i) text += (i ? "+s" : "s") + std::to_string(i);
    text += "] = input; ";
  }
  EXPECT_THAT(refusal(text), HasSubstr("too complicated"));
}

}  // namespace
}  // namespace wootz
