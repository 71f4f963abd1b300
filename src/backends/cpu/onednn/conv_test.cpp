#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"

namespace wootz::cpu::dnn::testing {
namespace {

struct ConvCase {
  Problem problem;
  std::vector<HostTensor> inputs;
};

ConvCase random_conv(std::mt19937_64& rng, DType type, int rank, bool transposed, bool constant = true) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  ConvCase c;
  Problem& p = c.problem;
  p.set_family(Family::kConv);
  const auto spatial = static_cast<size_t>(rank - 2);
  const int64_t kind = pick(0, 3);  // plain, plain, grouped, depthwise
  const int64_t groups = kind < 2 ? 1 : kind == 2 ? pick(2, 4) : pick(3, 40);
  const int64_t in_group = kind == 3 ? 1 : pick(1, 36), out_group = kind == 3 ? 1 : pick(1, 40);
  const int64_t channels = groups * in_group, outs = groups * out_group;
  std::vector<int64_t> strides, dilations, pads(2 * spatial), output_pads;
  Dims x{pick(1, 2), channels}, w = transposed ? Dims{channels, out_group} : Dims{outs, in_group}, y{x[0], outs};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t k = pick(1, 4), s = pick(1, 3), d = pick(1, 2);
    pads[i] = pick(0, k - 1), pads[spatial + i] = pick(0, k - 1);
    strides.push_back(s), dilations.push_back(d);
    output_pads.push_back(transposed ? pick(0, s - 1) : 0);
    const int64_t extent = pick((k - 1) * d + 1, rank == 5 ? 7 : 13);
    x.push_back(extent), w.push_back(k);
    y.push_back(transposed ? (extent - 1) * s + (k - 1) * d + 1 + output_pads[i] - pads[i] - pads[spatial + i]
                           : (extent + pads[i] + pads[spatial + i] - (k - 1) * d - 1) / s + 1);
  }
  const bool bias = pick(0, 1) != 0;
  p.params = ConvParams{.strides = strides,
                        .dilations = dilations,
                        .pads = pads,
                        .groups = groups,
                        .transposed = transposed,
                        .has_bias = bias};
  if (transposed) p.as<ConvParams>().output_pads = output_pads;
  c.inputs = {random_tensor(rng, type, x), random_tensor(rng, type, w)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], constant)};
  if (bias) {
    c.inputs.push_back(random_tensor(rng, pick(0, 1) ? type : DType::kF32, {outs}));
    p.inputs.push_back(desc_of(c.inputs[2], constant));
  }
  p.num_main = static_cast<int>(c.inputs.size());
  p.outputs = {{type, Layout::kLinear, y, y, false}};
  return c;
}

bool usable(const ConvCase& c) {
  for (const int64_t d : c.problem.outputs[0].dims)
    if (d < 1) return false;
  return true;
}

void check_many(DType type, int rank, bool transposed, int count, bool constant, int at_least) {
  const uint64_t seed =
      test_seed() + static_cast<uint64_t>(rank * 8 + transposed * 4 + constant) + static_cast<uint64_t>(type) * 1000;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  int offers = 0;
  for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    const ConvCase c = random_conv(rng, type, rank, transposed, constant);
    if (usable(c)) offers += check_offers(onednn_provider(), c.problem, c.inputs, "case " + std::to_string(i));
  }
  EXPECT_GE(offers, at_least);
}

TEST(OnednnConv, TwoDimensions) { check_many(DType::kF32, 4, false, 40, true, 60); }
TEST(OnednnConv, OneDimension) { check_many(DType::kF32, 3, false, 25, true, 30); }
TEST(OnednnConv, ThreeDimensions) { check_many(DType::kF32, 5, false, 15, true, 15); }
TEST(OnednnConv, Transposed) { check_many(DType::kF32, 4, true, 30, true, 20); }
TEST(OnednnConv, TransposedOneDimension) { check_many(DType::kF32, 3, true, 15, true, 5); }
TEST(OnednnConv, TransposedThreeDimensions) { check_many(DType::kF32, 5, true, 8, true, 2); }
TEST(OnednnConv, WeightsThatAreNotConstant) { check_many(DType::kF32, 4, false, 25, false, 10); }
TEST(OnednnConv, Bfloat16) {
  WOOTZ_NEEDS_ISA(cpu_info().avx512_bf16 && usable_isa() == Isa::kAvx512, "avx512_bf16");
  check_many(DType::kBF16, 4, false, 60, true, 40);
  check_many(DType::kBF16, 4, true, 30, true, 10);
}
TEST(OnednnConv, Float16) {
  WOOTZ_NEEDS_ISA(runs_f16(), "avx512_fp16");
  check_many(DType::kF16, 4, false, 15, true, 10);
}

Problem resnet_conv(Dims x, int64_t out, int64_t k) {
  Problem p;
  p.set_family(Family::kConv);
  const int64_t pad = k / 2;
  p.params = ConvParams{.strides = {1, 1},
                        .dilations = {1, 1},
                        .pads = {pad, pad, pad, pad},
                        .groups = 1,
                        .transposed = false,
                        .has_bias = false};
  p.num_main = 2;
  const Dims w{out, x[1], k, k}, y{x[0], out, x[2], x[3]};
  p.inputs = {{DType::kF32, Layout::kLinear, x, x, false}, {DType::kF32, Layout::kLinear, w, w, true}};
  p.outputs = {{DType::kF32, Layout::kLinear, y, y, false}};
  return p;
}

TEST(OnednnConv, ChannelsLastIsExpectedToBeTheFastest) {
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(resnet_conv({1, 64, 56, 56}, 64, 3), {}, &offers, &refusals);
  ASSERT_GE(offers.size(), 3u);
  for (const Candidate& c : offers) {
    if (c.output_layouts[0] == Layout::kChannelsLast) continue;
    EXPECT_GT(c.estimate_us, offers[0].estimate_us) << c.tactic.to_string();
  }
  EXPECT_EQ(offers[0].output_layouts[0], Layout::kChannelsLast);
}

// One packed weight serves every extent of the range.
TEST(OnednnConv, DynamicExtentsShareOnePackedWeight) {
  std::mt19937_64 rng(test_seed());
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  Problem p = resnet_conv({2, 40, 17, 17}, 24, 3);
  p.inputs[0].max_dims = {8, 40, 33, 33};
  p.outputs[0].max_dims = {8, 24, 33, 33};
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(p, {}, &offers, &refusals);
  ASSERT_FALSE(offers.empty());
  const HostTensor w = random_tensor(rng, DType::kF32, {24, 40, 3, 3});
  for (const Candidate& offer : offers) {
    const Problem filled = with_layouts(p, offer);
    auto kernel = onednn_provider().create(offer.tactic, filled, {});
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    auto packed = (*kernel)->pack(1, w);
    ASSERT_TRUE(packed.ok());
    RawBytes bytes;
    if (packed->has_value()) bytes = make_bytes(**packed).value();
    for (const Dims& x_dims : {Dims{1, 40, 3, 5}, Dims{2, 40, 17, 17}, Dims{8, 40, 33, 33}, Dims{3, 40, 1, 1}}) {
      const HostTensor x = random_tensor(rng, DType::kF32, x_dims);
      const Dims y_dims{x_dims[0], 24, x_dims[2], x_dims[3]};
      const std::vector<Dims> in{x_dims, w.dims()}, out{y_dims};
      const void* weights = packed->has_value() ? static_cast<const void*>(bytes.data()) : w.data();
      const std::vector<const void*> constants{nullptr, weights};
      auto call = (*kernel)->bind({in, out, constants});
      ASSERT_TRUE(call.ok()) << call.status().message();
      const GuardedBuffer xb = to_layout(x, filled.inputs[0].layout);
      GuardedBuffer yb(layout_bytes(filled.outputs[0].layout, DType::kF32, y_dims)), work((*call)->workspace());
      const std::vector<const void*> addresses{xb.data(), weights};
      void* result = yb.data();
      ASSERT_TRUE((*call)->run({addresses.data(), &result, work.data(), nullptr, nullptr}).ok());
      expect_close(from_layout(yb.data(), DType::kF32, y_dims, filled.outputs[0].layout),
                   dense_oracle(p, {x, w}, y_dims), 360, offer.tactic.to_string() + x_dims.to_string());
    }
  }
}

TEST(OnednnConv, EmptyBatchRunsNothing) {
  std::mt19937_64 rng(7);
  const Problem p = resnet_conv({1, 16, 5, 5}, 16, 3);
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(p, {}, &offers, &refusals);
  ASSERT_FALSE(offers.empty());
  const RunOutcome run = run_candidate(
      onednn_provider(), p, offers[0],
      {HostTensor::allocate(DType::kF32, {0, 16, 5, 5}).value(), random_tensor(rng, DType::kF32, {16, 16, 3, 3})},
      {0, 16, 5, 5});
  EXPECT_TRUE(run.status.ok()) << run.status.message();
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
