// Convolutions alike of one image, and products alike of one tensor by packed weights, as one.
#include <gtest/gtest.h>

#include <functional>

#include "backend/chain.h"
#include "backend/siblings.h"
#include "backends/cuda/generate/families.h"
#include "backends/cuda/providers.h"
#include "ir/text.h"
#include "lower/lower.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::cuda {
namespace {

Problem convolution_of(int64_t channels, Layout layout) {
  Problem p;
  p.params = ConvParams{.strides = {1, 1}, .dilations = {1, 1}, .pads = {0, 0, 0, 0}, .has_bias = true};
  const auto add = [](std::vector<TensorDesc>* to, const Dims& dims, Layout own, bool constant) {
    to->push_back({DType::kF16, own, dims, dims, constant});
  };
  add(&p.inputs, {1, 64, 20, 20}, layout, false);
  add(&p.inputs, {channels, 64, 1, 1}, Layout::kLinear, true);
  add(&p.inputs, {channels}, Layout::kLinear, true);
  add(&p.outputs, {1, channels, 20, 20}, layout, false);
  p.num_main = 3;
  return p;
}

Problem siblings_of(const std::vector<int64_t>& channels) {
  std::vector<Problem> each;
  for (const int64_t c : channels) each.push_back(convolution_of(c, Layout::kChannelsLast));
  return make_siblings(each).value();
}

Problem product_of(int64_t columns) {
  Problem p;
  p.params = GemmParams{.w_block = 64};
  const auto add = [](std::vector<TensorDesc>* to, DType type, const Dims& dims, bool constant) {
    to->push_back({type, Layout::kLinear, dims, dims, constant});
  };
  add(&p.inputs, DType::kF16, {1, 3, 128}, false);
  add(&p.inputs, DType::kI4, {128, columns}, true);
  add(&p.inputs, DType::kF32, {2, columns}, true);
  add(&p.outputs, DType::kF16, {1, 3, columns}, false);
  p.num_main = 3;
  return p;
}

TEST(Siblings, AreProductsAlikeButForTheirColumns) {
  const auto together = [](const std::function<void(Problem*)>& change) {
    std::vector<Problem> each(2, product_of(32));
    change(&each[1]);
    return make_siblings(each).has_value();
  };
  EXPECT_TRUE(together([](Problem* p) { *p = product_of(48); }));
  EXPECT_FALSE(together([](Problem* p) { p->as<GemmParams>().w_block = 128; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[1].dtype = DType::kU4; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[2].dtype = DType::kF16; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[2].constant = false; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[2].dims[1] = 16; }));
  const std::vector<Problem> plain(2, [] {
    Problem p = product_of(32);
    p.as<GemmParams>().w_block = 0;
    return p;
  }());
  EXPECT_FALSE(make_siblings(plain).has_value());
  const Problem all = make_siblings(std::vector<Problem>{product_of(32), product_of(48)}).value();
  const Result<Problem> joint = joint_of(all);
  ASSERT_TRUE(joint.ok()) << joint.status().to_string();
  EXPECT_EQ(joint->key(), product_of(80).key());
  std::vector<Launch> launches;
  EXPECT_TRUE(generate_at_optimum(all, &launches).ok());
  const auto refused = [&](const std::function<void(Problem*)>& spoil) {
    Problem p = all;
    spoil(&p);
    return !generate_at_optimum(p, &launches).ok();
  };
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[2] = p->outputs[1].max_dims[2] = 40; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[1] = p->outputs[1].max_dims[1] = 4; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[2].dims[1] = p->inputs[2].max_dims[1] = 64; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<SiblingsParams>().joint = box_params(GemmParams()); }));
}

Problem normed_product_of(int64_t columns, NormKind kind = NormKind::kLayer) {
  Problem norm;
  norm.params = NormParams{.kind = kind, .axis = 2, .has_scale = true};
  const Dims rows{1, 3, 128}, scale{128};
  norm.inputs = {{DType::kF16, Layout::kLinear, rows, rows, false}, {DType::kF16, Layout::kLinear, scale, scale, true}};
  norm.outputs = {{DType::kF16, Layout::kLinear, rows, rows, false}};
  norm.num_main = 2;
  norm.acc_dtype = DType::kF16;
  return make_chain(norm, product_of(columns));
}

// Of one normalization, the products behind it.
TEST(Siblings, AreProductsOfNormalizedRows) {
  const Problem all = make_siblings(std::vector<Problem>{normed_product_of(32), normed_product_of(48)}).value();
  EXPECT_EQ(joint_of(all)->key(), normed_product_of(80).key());
  EXPECT_FALSE(make_siblings(std::vector<Problem>{normed_product_of(32), product_of(48)}).has_value());
  EXPECT_FALSE(make_siblings(std::vector<Problem>{normed_product_of(32), normed_product_of(48, NormKind::kRms)}));
  std::vector<Launch> launches;
  EXPECT_TRUE(generate_at_optimum(all, &launches).ok());
  ASSERT_EQ(launches.size(), 2u);  // of two kernels
  const auto refused = [&](const std::function<void(Problem*)>& spoil) {
    Problem p = all;
    spoil(&p);
    return !generate_at_optimum(p, &launches).ok();
  };
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dims[0] = p->inputs[1].max_dims[0] = 64; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[0].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->num_main = 2; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[2] = p->outputs[1].max_dims[2] = 40; }));
}

TEST(Siblings, AreAlikeButForTheirChannels) {
  const auto together = [](const std::function<void(Problem*)>& change) {
    std::vector<Problem> each(2, convolution_of(32, Layout::kLinear));
    change(&each[1]);
    return make_siblings(each).has_value();
  };
  EXPECT_TRUE(together([](Problem*) {}));
  EXPECT_TRUE(together([](Problem* p) { *p = convolution_of(48, Layout::kLinear); }));
  EXPECT_FALSE(together([](Problem* p) { p->as<ConvParams>().strides = {2, 2}; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[0].dims[2] = 10; }));
  EXPECT_FALSE(together([](Problem* p) { p->inputs[1].constant = false; }));
  EXPECT_FALSE(together([](Problem* p) { p->outputs[0].dtype = DType::kF32; }));
  EXPECT_FALSE(together([](Problem* p) {
    p->epilogue.num_inputs = 1;
    p->epilogue.outputs = {p->epilogue.push(PwOp::kRelu, DType::kF16, p->epilogue.input(0, DType::kF16))};
  }));
  EXPECT_FALSE(make_siblings(std::vector<Problem>(5, convolution_of(32, Layout::kLinear))).has_value());
  const Result<Problem> joint = joint_of(siblings_of({32, 48, 8}));
  ASSERT_TRUE(joint.ok()) << joint.status().to_string();
  EXPECT_EQ(joint->key(), convolution_of(88, Layout::kChannelsLast).key());
}

// A plan may say anything.
TEST(Siblings, RefuseResultsThatDoNotGoTogether) {
  const auto refused = [](const std::function<void(Problem*)>& spoil) {
    Problem p = siblings_of({32, 48});
    std::vector<Launch> launches;
    const bool good = generate_at_optimum(p, &launches).ok();
    spoil(&p);
    return good && !generate_at_optimum(p, &launches).ok();
  };
  EXPECT_TRUE(refused([](Problem* p) { p->outputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs.resize(5, p->outputs[0]); }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dtype = DType::kF32; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].layout = Layout::kLinear; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[3] = p->outputs[1].max_dims[3] = 19; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims[1] = p->outputs[1].max_dims[1] = 40; }));
  EXPECT_TRUE(refused([](Problem* p) { p->outputs[1].dims.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs[1].dims[0] = p->inputs[1].max_dims[0] = 72; }));
  EXPECT_TRUE(refused([](Problem* p) { p->inputs.pop_back(); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<SiblingsParams>().joint = {}; }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<SiblingsParams>().joint = box_params(PoolParams()); }));
  EXPECT_TRUE(refused([](Problem* p) { p->as<SiblingsParams>().joint = box_params(ChainParams()); }));
  EXPECT_TRUE(refused([](Problem* p) { *p = siblings_of({32, 44}); }));
}

// One step with the weights of both where that is no slower, otherwise two, as of images that are for a library.
TEST(Siblings, AreOneStepOrStepsOfTheirOwn) {
  for (const int64_t images : {1, 256}) {
    const std::string text = fmt::format(
        "graph \"g\" {{\n%a: f16[{0},256,40,40] = input;\n%v: f16[256,256,1,1] = const splat(0.5);\n"
        "%w: f16[512,256,1,1] = const splat(0.25);\n"
        "%y, %z = Chain(%a, %v, %w) {{body = graph \"two\" {{ %a: f16[{0},256,40,40] = input; %v: f16[256,256,1,1] = "
        "input; %w: f16[512,256,1,1] = input; %y = Conv(%a, %v); %z = Conv(%a, %w); return %y, %z; }}}};\n"
        "return %y, %z;\n}}\n",
        images);
    const auto graph = parse_graph(text, find_op);
    ASSERT_TRUE(graph.ok()) << graph.status().to_string();
    ASSERT_TRUE(infer_graph(*(*graph)->first()->attr_graph("body")).ok());
    ASSERT_TRUE(infer_graph(**graph).ok());
    LowerOptions options;
    options.backend = "cuda";
    options.providers = {&generated_provider()};
    const Result<Lowered> lowered = lower_graph(**graph, options);
    ASSERT_TRUE(lowered.ok()) << lowered.status().to_string();
    const IndexedVector<StepIndex, Step>& steps = lowered->program.steps;
    ASSERT_EQ(steps.size(), images == 1 ? 1u : 2u) << images;
    if (images > 1) continue;
    const Step& step = *steps.begin();
    EXPECT_TRUE(step.problem.is(Family::kSiblings));
    const PlanConstant& weights = lowered->program.constants[lowered->program.tensors[step.inputs[1]].constant];
    EXPECT_EQ(weights.dims, (Dims{768, 256, 1, 1}));
    const HostTensor all = HostTensor::wrap(weights.dtype, weights.dims, weights.data, weights.owner);
    EXPECT_EQ(all.get_f64(256 * 256 - 1), 0.5);
    EXPECT_EQ(all.get_f64(256 * 256), 0.25);
  }
}

}  // namespace
}  // namespace wootz::cuda
