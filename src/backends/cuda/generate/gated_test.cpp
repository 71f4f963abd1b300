// A depthwise convolution and the gate of its image as one step: where it is offered, and what a plan may not ask for.
// That the results are right is tested with all kernels' (tests/kernels) and on networks (tests/conformance).
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "backend/chain.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/providers.h"
#include "backends/cuda/targets/devices.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::cuda {
namespace {

void add(std::vector<TensorDesc>* to, const Dims& dims, bool constant, Layout layout = Layout::kLinear) {
  to->push_back({DType::kF16, layout, dims, dims, constant});
}

Problem gated_of(int64_t images, int64_t channels, int64_t hidden, int64_t extent,
                 Layout layout = Layout::kChannelsLast) {
  Problem conv, gate;
  conv.params =
      ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}, .groups = channels, .has_bias = true};
  add(&conv.inputs, {images, channels, extent, extent}, false, layout);
  add(&conv.inputs, {channels, 1, 3, 3}, true);
  add(&conv.inputs, {channels}, true);
  add(&conv.outputs, {images, channels, extent, extent}, false, layout);
  conv.num_main = 3;
  conv.acc_dtype = gate.acc_dtype = DType::kF16;
  gate.params = SqueezeExciteParams{.has_b2 = true};
  gate.inputs = conv.outputs;
  add(&gate.inputs, {hidden, channels, 1, 1}, true);
  add(&gate.inputs, {channels, hidden, 1, 1}, true);
  add(&gate.inputs, {channels}, true);
  add(&gate.outputs, {images, channels, 1, 1}, false, layout);
  gate.num_main = 4;
  Problem both = make_chain(conv, gate);
  both.outputs.push_back(conv.outputs[0]);
  return both;
}

std::vector<Candidate> offers_for(const Provider& provider, const Problem& p, const char* isa = "sm_90") {
  Limits limits;
  const std::vector<DeviceDescription> devices = known_devices();
  for (const DeviceDescription& d : devices)
    if (d.isa == isa) limits.device = &d;
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  provider.tactics(p, limits, &offers, &refusals);
  return offers;
}

TEST(Gated, IsOfferedWhereThereAreClusters) {
  const auto offered = [](const Problem& p, const char* isa = "sm_90") {
    std::set<std::string> names;
    for (const Candidate& c : offers_for(generated_provider(), p, isa)) {
      names.insert(c.tactic.kernel);
      EXPECT_EQ(c.output_layouts, std::vector<Layout>(2, Layout::kChannelsLast));
      EXPECT_GT(c.workspace, 0U);
    }
    return names;
  };
  const std::set<std::string> large{"chain_generated_gated4_c8", "chain_generated_gated4_c16",
                                    "chain_generated_gated8_c8", "chain_generated_gated8_c16"};
  EXPECT_EQ(offered(gated_of(1, 1632, 68, 12)), large);
  EXPECT_EQ(offered(gated_of(1, 144, 6, 95)).size(), 6U);  // small matrices: four blocks, too
  EXPECT_TRUE(offered(gated_of(1, 1632, 68, 12), "sm_80").empty());
  EXPECT_TRUE(offered(gated_of(16, 144, 6, 12)).empty());  // as many clusters as there is no room for
  EXPECT_TRUE(offered(gated_of(1, 20, 4, 12)).empty());    // no packs of 8
}

// The same in 8 bits, with what quantizes each value in between.
Problem gated_bytes(int64_t images, int64_t channels, int64_t hidden, int64_t extent) {
  PointwiseExpr quantize;
  quantize.num_inputs = 1;
  const uint16_t x = quantize.input(0, DType::kF32), by = quantize.constant(0.013, DType::kF32);
  quantize.outputs = {quantize.push(PwOp::kQuantize, DType::kI8, x, by, quantize.constant(0, DType::kF32))};
  Problem p = gated_of(images, channels, hidden, extent);
  for (TensorDesc& t : p.inputs) t.dtype = t.dims.rank() == 1 ? DType::kF32 : DType::kI8;
  p.outputs[0].dtype = DType::kF32;
  p.outputs[1].dtype = DType::kI8;
  p.acc_dtype = DType::kF32;
  auto& chain = p.as<ChainParams>();
  FamilyParams first = chain.first.get()->params, second = chain.second.get()->params;
  auto& conv = std::get<ConvParams>(first);
  conv.x_scale = {0.02}, conv.x_zero = {0}, conv.w_scale = {0.001};
  auto& gate = std::get<SqueezeExciteParams>(second);
  gate.mean = gate.hidden = quantize;
  gate.x_scale = {0.013, 0.013, 0.013}, gate.x_zero = {0, 0, 0}, gate.w1_scale = {0.01}, gate.w2_scale = {0.01};
  chain.first = box_params(std::move(first));
  chain.second = box_params(std::move(second));
  chain.first_epilogue = quantize;
  chain.first_acc = DType::kF32;
  chain.middle = DType::kI8;
  return p;
}

TEST(Gated, IsOfferedOfBytes) {
  const auto generated = [](const Problem& p) { return offers_for(generated_provider(), p).size(); };
  EXPECT_EQ(generated(gated_bytes(1, 1632, 68, 12)), 4U);
  EXPECT_EQ(generated(gated_bytes(1, 144, 6, 95)), 6U);
  EXPECT_EQ(generated(gated_bytes(1, 20, 4, 12)), 0U);    // no packs of 8
  EXPECT_EQ(generated(gated_bytes(1, 8256, 8, 12)), 0U);  // sums that floats may round
  const auto refused = [](const std::function<void(SqueezeExciteParams*)>& spoil) {
    Problem p = gated_bytes(2, 64, 8, 14);
    std::vector<Launch> launches;
    const bool good = generate_at_optimum(p, &launches).ok();
    FamilyParams second = p.as<ChainParams>().second.get()->params;
    spoil(&std::get<SqueezeExciteParams>(second));
    p.as<ChainParams>().second = box_params(std::move(second));
    return good && !generate_at_optimum(p, &launches).ok();
  };
  EXPECT_TRUE(refused([](SqueezeExciteParams* g) { g->x_zero = {0, 3, 0}; }));
  EXPECT_TRUE(refused([](SqueezeExciteParams* g) { g->x_scale = {0.1}; }));
  EXPECT_TRUE(refused([](SqueezeExciteParams* g) { g->w1_scale = {0.1, 0.2}; }));
  EXPECT_TRUE(refused([](SqueezeExciteParams* g) { g->mean = {}; }));
  EXPECT_TRUE(refused([](SqueezeExciteParams* g) { g->hidden = {}; }));
}

// Whatever a convolution and a gate take by themselves is measured beside.
TEST(Gated, IsComparedWithBothOneAfterTheOther) {
  const Problem p = gated_of(1, 144, 6, 30, Layout::kLinear);
  const std::vector<Candidate> apart = offers_for(apart_provider(), p);
  ASSERT_GE(apart.size(), 2U);
  for (const Candidate& c : apart) {
    EXPECT_NE(c.tactic.config.find("|generated:squeeze_excite_generated"), std::string::npos) << c.tactic.config;
    EXPECT_EQ(c.output_layouts, std::vector<Layout>(2, Layout::kChannelsLast));
    Problem made = gated_of(1, 144, 6, 30);
    EXPECT_TRUE(apart_provider().create(c.tactic, made, {}).ok()) << c.tactic.config;
    made.outputs[1].layout = Layout::kLinear;
    EXPECT_FALSE(apart_provider().create(c.tactic, made, {}).ok());
  }
  EXPECT_TRUE(offers_for(apart_provider(), gated_of(16, 144, 6, 12, Layout::kLinear)).empty());  // two steps
}

FamilyParamsBox changed(const FamilyParamsBox& box, const std::function<void(ConvParams*)>& change) {
  FamilyParams params = box.get()->params;
  change(&std::get<ConvParams>(params));
  return box_params(std::move(params));
}

// A plan may say anything.
TEST(Gated, RefusesOperandsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    Problem p = gated_of(2, 64, 8, 14);
    std::vector<Launch> launches;
    const bool good = generate_at_optimum(p, &launches).ok();
    spoil(&p);
    return good && !generate_at_optimum(p, &launches).ok();
  };
  const auto sized = [](size_t input, const Dims& dims) {
    return [=](Problem* p) { p->inputs[input].dims = p->inputs[input].max_dims = dims; };
  };
  const auto of_conv = [&](const std::function<void(ConvParams*)>& change) {
    return refused([&](Problem* p) { p->as<ChainParams>().first = changed(p->as<ChainParams>().first, change); });
  };
  EXPECT_TRUE(refused(sized(0, {2, 64, 14, 15})));
  EXPECT_TRUE(refused(sized(1, {64, 2, 3, 3})));
  EXPECT_TRUE(refused(sized(2, {63})));
  EXPECT_TRUE(refused(sized(3, {8, 56, 1, 1})));
  EXPECT_TRUE(refused(sized(4, {64, 16, 1, 1})));
  EXPECT_TRUE(refused(sized(5, {63})));
  EXPECT_TRUE(of_conv([](ConvParams* c) { c->groups = 32; }));
  EXPECT_TRUE(of_conv([](ConvParams* c) { c->pads = {1, 1, 1, 2}; }));
  EXPECT_TRUE(of_conv([](ConvParams* c) { c->strides = {0, 1}; }));
  EXPECT_TRUE(of_conv([](ConvParams* c) { c->transposed = true; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].constant = false; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[0].dtype = DType::kBF16; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[0].layout = Layout::kLinear; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].layout = Layout::kLinear; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[3] = p->outputs[1].max_dims[3] = 13; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[0].dims[1] = p->outputs[0].max_dims[1] = 56; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().second = box_params(ConvParams()); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<ChainParams>().second = {}; }));
}

// Of more images than clusters have room for, two steps, or what these become.
TEST(Gated, IsOneStepOrStepsOfItsOwn) {
  for (const int64_t images : {1, 32}) {
    const auto of = [&](int64_t channels, int64_t extent) {
      return fmt::format("f16[{},{},{},{}]", images, channels, extent, extent);
    };
    const std::string text = fmt::format(
        "graph \"g\" {{\n%x: {0} = input;\n%f: f16[64,1,3,3] = const splat(0.5);\n%w: f16[8,64,1,1] = const "
        "splat(0.25);\n%v: f16[64,8,1,1] = const splat(0.25);\n"
        "%s, %c = Chain(%x, %f, %w, %v) {{body = graph \"both\" {{ %x: {0} = input; %f: f16[64,1,3,3] = input; "
        "%w: f16[8,64,1,1] = input; %v: f16[64,8,1,1] = input; %c: {0} = Conv(%x, %f) {{groups = 64, pads = [1, 1, 1, "
        "1]}}; %s: {1} = Chain(%c, %w, %v) {{body = graph \"gate\" {{ %i: {0} = input; %w: f16[8,64,1,1] = input; "
        "%v: f16[64,8,1,1] = input; %m: {1} = Pool(%i) {{kind = \"avg\", global = 1}}; %h: {2} = Conv(%m, %w); "
        "%o: {1} = Conv(%h, %v); return %o; }}}}; return %s, %c; }}}};\n%y = Mul(%c, %s);\nreturn %y;\n}}\n",
        of(64, 14), of(64, 1), of(8, 1));
    const auto graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    ASSERT_TRUE(infer_graph(**graph).ok());
    LowerOptions options;
    options.backend = "cuda";
    options.providers = {&generated_provider()};
    const Result<Lowered> lowered = lower_graph(**graph, options);
    ASSERT_TRUE(lowered.ok()) << lowered.status().to_string();
    size_t gated = 0;
    for (const Step& step : lowered->program.steps) gated += step.problem.is(Family::kChain);
    EXPECT_EQ(gated, images == 1 ? 1U : 0U);
    EXPECT_EQ(lowered->program.steps.size(), images == 1 ? 2U : 5U);
  }
}

}  // namespace
}  // namespace wootz::cuda
