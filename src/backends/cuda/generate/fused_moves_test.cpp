// What goes on in the step of a gather or concatenation, and in that of a convolution which reads one.
#include <gtest/gtest.h>

#include <functional>

#include "backend/chain.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/providers.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::cuda {
namespace {

void add(std::vector<TensorDesc>* to, DType type, const Dims& dims, Layout layout = Layout::kLinear) {
  to->push_back({type, layout, dims, dims, false});
}

bool is_refused(Problem p, const std::function<void(Problem*)>& spoil) {
  std::vector<Launch> launches;
  const bool good = generate_at_optimum(p, &launches).ok();
  spoil(&p);
  return good && !generate_at_optimum(p, &launches).ok();
}

std::function<void(Problem*)> sized(size_t input, const Dims& dims) {
  return [=](Problem* p) { p->inputs[input].dims = p->inputs[input].max_dims = dims; };
}

bool says(const Problem& p, const char* text) {
  std::vector<Launch> launches;
  EXPECT_TRUE(generate_at_optimum(p, &launches).ok());
  return launches.size() == 1 && launches[0].source.find(text) != std::string::npos;
}

Problem embedding_of(int64_t rows, int64_t length, DType type) {
  Problem p;
  EmbeddingParams params{.tables = 2, .has_scale = true, .has_bias = true};
  params.sum.num_inputs = 3;
  const uint16_t both = params.sum.push(PwOp::kAdd, type, params.sum.input(0, type), params.sum.input(1, type));
  params.sum.outputs = {params.sum.push(PwOp::kAdd, type, both, params.sum.input(2, type))};
  p.params = params;
  for (const int64_t extent : {500, 2}) {
    add(&p.inputs, type, {extent, length});
    add(&p.inputs, DType::kI64, {1, rows});
  }
  for (const Dims& dims : {Dims{1, rows, length}, Dims{length}, Dims{length}}) add(&p.inputs, type, dims);
  add(&p.outputs, type, {1, rows, length});
  p.num_main = 7;
  return p;
}

TEST(Embedding, ReadsSixteenBytesWhereRowsAllow) {
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF16), "constexpr int kVector = 8;"));
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF32), "constexpr int kVector = 4;"));
  EXPECT_TRUE(says(embedding_of(128, 770, DType::kF16), "constexpr int kVector = 2;"));
  EXPECT_TRUE(says(embedding_of(128, 768, DType::kF16), "constexpr int kRowThreads = 128;"));
}

// A plan may say anything.
TEST(Embedding, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    return is_refused(embedding_of(16, 64, DType::kF16), spoil);
  };
  EXPECT_TRUE(refused(sized(0, {500, 56})));
  EXPECT_TRUE(refused(sized(0, {500, 8, 8})));
  EXPECT_TRUE(refused(sized(1, {1, 15})));
  EXPECT_TRUE(refused(sized(3, {16})));
  EXPECT_TRUE(refused(sized(4, {1, 16, 60})));
  EXPECT_TRUE(refused(sized(5, {63})));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[2].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().tables = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().sum = {}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().has_scale = false; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<EmbeddingParams>().sum.num_inputs = 60000; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[0].dtype = DType::kI8; }));
}

// Channels last, scaled by channel.
Problem concat_of(const std::vector<int64_t>& channels) {
  Problem p;
  p.params = MoveParams{.kind = MoveKind::kConcat, .axis = 1};
  int64_t all = 0;
  for (const int64_t each : channels) {
    add(&p.inputs, DType::kF16, {1, each, 28, 28}, Layout::kChannelsLast);
    all += each;
  }
  p.num_main = static_cast<int>(channels.size());
  add(&p.inputs, DType::kF16, {all, 1, 1});
  add(&p.outputs, DType::kF16, {1, all, 28, 28}, Layout::kChannelsLast);
  p.acc_dtype = DType::kF16;
  p.epilogue.num_inputs = 2;
  const uint16_t x = p.epilogue.input(0, DType::kF16);
  p.epilogue.outputs = {p.epilogue.push(PwOp::kMul, DType::kF16, x, p.epilogue.input(1, DType::kF16))};
  return p;
}

TEST(ConcatWithExpression, ReadsWhatAllPartsAllow) {
  EXPECT_TRUE(says(concat_of({64, 32, 32}), "constexpr int kVector = 8;"));
  EXPECT_TRUE(says(concat_of({64, 36}), "constexpr int kVector = 4;"));
  EXPECT_TRUE(says(concat_of({63, 65}), "constexpr int kVector = 1;"));
}

// A plan may say anything.
TEST(ConcatWithExpression, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    return is_refused(concat_of({64, 32}), spoil);
  };
  EXPECT_TRUE(refused(sized(0, {1, 56, 28, 28})));
  EXPECT_TRUE(refused(sized(1, {1, 32, 28, 27})));
  EXPECT_TRUE(refused(sized(1, {32, 28, 28})));
  EXPECT_TRUE(refused(sized(2, {95, 1, 1})));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().axis = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().axis = -1; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<MoveParams>().kind = MoveKind::kSplit; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].layout = Layout::kBlocked8; }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 0; }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 3; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
}

// A convolution by pixels of what `first` makes, channels last.
Problem convolution_of(const Problem& first) {
  const Dims& x = first.outputs[0].dims;
  Problem p;
  p.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}};
  p.inputs = first.outputs;
  add(&p.inputs, DType::kF16, {40, x[1], 1, 1});
  p.inputs[1].constant = true;
  add(&p.outputs, DType::kF16, {x[0], 40, x[2], x[3]}, Layout::kChannelsLast);
  p.num_main = 2;
  return make_chain(first, p);
}

Problem gate_of(int64_t channels) {
  Problem p;
  p.set_family(Family::kPointwise);
  add(&p.inputs, DType::kF16, {1, channels, 1, 1}, Layout::kChannelsLast);
  add(&p.inputs, DType::kF16, {1, channels, 9, 9}, Layout::kChannelsLast);
  add(&p.outputs, DType::kF16, {1, channels, 9, 9}, Layout::kChannelsLast);
  p.epilogue.num_inputs = 2;
  const uint16_t gate = p.epilogue.input(0, DType::kF16);
  p.epilogue.outputs = {p.epilogue.push(PwOp::kMul, DType::kF16, gate, p.epilogue.input(1, DType::kF16))};
  return convolution_of(p);
}

Problem joined(const std::vector<int64_t>& channels) {
  Problem p = concat_of(channels);
  p.inputs.pop_back();
  p.epilogue = {};
  return convolution_of(p);
}

// A plan may say anything.
TEST(TileReads, RefusesOperandsThatDoNotGoTogether) {
  const auto no_gate = [](const std::function<void(Problem*)>& spoil) { return is_refused(gate_of(64), spoil); };
  EXPECT_TRUE(no_gate(sized(0, {1, 64, 9, 1})));
  EXPECT_TRUE(no_gate(sized(0, {1, 63, 1, 1})));
  EXPECT_TRUE(no_gate(sized(2, {40, 72, 1, 1})));
  EXPECT_TRUE(no_gate([](Problem* p) { p->inputs[0].dtype = DType::kF32; }));
  EXPECT_TRUE(no_gate([](Problem* p) { p->inputs[0].constant = true; }));
  EXPECT_TRUE(no_gate([](Problem* p) { p->as<ChainParams>().first_epilogue.code.back().op = PwOp::kAdd; }));
  EXPECT_TRUE(no_gate([](Problem* p) { p->as<ChainParams>().first_epilogue.outputs[0] = 0; }));
  EXPECT_TRUE(no_gate([](Problem* p) { *p = gate_of(60); }));
  const auto apart = [](const std::function<void(Problem*)>& spoil) { return is_refused(joined({64, 32}), spoil); };
  EXPECT_TRUE(apart(sized(0, {1, 56, 28, 28})));
  EXPECT_TRUE(apart(sized(1, {1, 32, 28, 27})));
  EXPECT_TRUE(apart(sized(1, {32, 28, 28})));
  EXPECT_TRUE(apart([](Problem* p) { p->inputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(apart([](Problem* p) { p->inputs[1].layout = Layout::kLinear; }));
  EXPECT_TRUE(apart([](Problem* p) { p->as<ChainParams>().first_main = 1; }));
  EXPECT_TRUE(apart([](Problem* p) { *p = joined({60, 36}); }));
}

// Rows that are normalized and multiplied, and kept.
Problem normed(int64_t length) {
  Problem first, second;
  first.params = NormParams{.axis = 2, .has_scale = true, .has_bias = true};
  for (const Dims& dims : {Dims{1, 128, length}, Dims{length}, Dims{length}}) add(&first.inputs, DType::kF16, dims);
  first.inputs[1].constant = first.inputs[2].constant = true;
  add(&first.outputs, DType::kF16, {1, 128, length});
  first.num_main = 3;
  first.acc_dtype = second.acc_dtype = DType::kF16;
  second.params = GemmParams{.has_bias = true};
  second.inputs = first.outputs;
  add(&second.inputs, DType::kF16, {length, 384});
  add(&second.inputs, DType::kF16, {384});
  second.inputs[1].constant = second.inputs[2].constant = true;
  add(&second.outputs, DType::kF16, {1, 128, 384});
  second.num_main = 3;
  Problem chain = make_chain(first, second);
  chain.outputs.push_back(first.outputs[0]);
  return chain;
}

FamilyParamsBox with_norm(const FamilyParamsBox& box, const std::function<void(NormParams*)>& change) {
  FamilyParams params = box.get()->params;
  change(&std::get<NormParams>(params));
  return box_params(std::move(params));
}

// A plan may say anything.
TEST(TileReads, RefusesRowsThatAreNotNormalizedSo) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) { return is_refused(normed(256), spoil); };
  const auto of_norm = [&](const std::function<void(NormParams*)>& change) {
    return refused([&](Problem* p) { p->as<ChainParams>().first = with_norm(p->as<ChainParams>().first, change); });
  };
  EXPECT_TRUE(of_norm([](NormParams* n) { n->axis = 1; }));
  EXPECT_TRUE(of_norm([](NormParams* n) { n->kind = NormKind::kL2; }));
  EXPECT_TRUE(of_norm([](NormParams* n) { n->has_bias = false; }));
  EXPECT_TRUE(of_norm([](NormParams* n) { n->epsilon = -1; }));
  EXPECT_TRUE(refused(sized(1, {255})));
  EXPECT_TRUE(refused(sized(2, {1})));
  EXPECT_TRUE(refused(sized(3, {255, 384})));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].constant = false; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[0].constant = true; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[0].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[1] = p->outputs[1].max_dims[1] = 127; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs.push_back(p->outputs[1]); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().first_main = 2; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().second = box_params(ConvParams{}); }));
  EXPECT_TRUE(refused([](Problem* p) { *p = normed(252); }));
}

// What does not read a row's whole length knows nothing of its mean.
TEST(TileReads, NoClusterSharesANormalizedRow) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  generated_provider().tactics(normed(768), {}, &offers, &refusals);
  EXPECT_GE(offers.size(), 2U);
  for (const Candidate& c : offers) EXPECT_EQ(c.tactic.kernel.find("c2"), std::string::npos) << c.tactic.kernel;
}

// Convolutions that are for libraries read one concatenation, which is made once.
TEST(TileReads, AConcatenationIsMadeOnceOrNotAtAll) {
  for (const int64_t images : {1, 64}) {
    std::string chains;
    for (const char* name : {"y", "z"})
      chains += fmt::format(
          "%{0} = Chain(%a, %b, %w{0}) {{body = graph \"{0}\" {{ %p: f16[{1},256,20,20] = input; %q: "
          "f16[{1},256,20,20] "
          "= "
          "input; %w: f16[512,512,1,1] = input; %c = Concat(%p, %q) {{axis = 1}}; %r = Conv(%c, %w); return %r; "
          "}}}};\n",
          name, images);
    const std::string text = fmt::format(
        "graph \"g\" {{\n%a: f16[{0},256,20,20] = input;\n%b: f16[{0},256,20,20] = input;\n%wy: f16[512,512,1,1] = "
        "const "
        "splat(0.5);\n%wz: f16[512,512,1,1] = const splat(0.25);\n{1}return %y, %z;\n}}\n",
        images, chains);
    const auto graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    for (Node* node = (*graph)->first(); node != nullptr; node = node->next())
      ASSERT_TRUE(infer_graph(*node->attr_graph("body")).ok());
    ASSERT_TRUE(infer_graph(**graph).ok());
    LowerOptions options;
    options.backend = "cuda";
    options.providers = {&generated_provider()};
    const Result<Lowered> lowered = lower_graph(**graph, options);
    ASSERT_TRUE(lowered.ok()) << lowered.status().to_string();
    int moves = 0, chained = 0;
    for (const Step& step : lowered->program.steps) {
      moves += step.problem.is(Family::kMove);
      chained += step.problem.is(Family::kChain);
    }
    EXPECT_EQ(moves, images == 1 ? 0 : 1) << images;
    EXPECT_EQ(chained, images == 1 ? 2 : 0) << images;
  }
}

}  // namespace
}  // namespace wootz::cuda
