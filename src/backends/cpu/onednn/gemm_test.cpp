#include "backends/cpu/onednn/env.h"
#include "backends/cpu/onednn/provider.h"
#include "backends/cpu/onednn/testing.h"

namespace wootz::cpu::dnn::testing {
namespace {

struct GemmCase {
  Problem problem;
  std::vector<HostTensor> inputs;
};

GemmCase random_gemm(std::mt19937_64& rng, DType type, bool constant_b) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  GemmCase c;
  Problem& p = c.problem;
  p.set_family(Family::kGemm);
  const int64_t m = pick(1, 40), k = pick(1, 70), n = pick(1, 70);
  const bool ta = pick(0, 2) == 0, tb = pick(0, 1) == 0, bias = pick(0, 1) == 0;
  const int batches = static_cast<int>(pick(0, 3));
  Dims a, b, y;
  const int skip_a = static_cast<int>(pick(0, batches)), skip_b = static_cast<int>(pick(0, batches));
  for (int i = 0; i < batches; ++i) {
    const int64_t extent = pick(1, 3), kind = pick(0, 3);
    const bool in_a = i >= skip_a || skip_b > skip_a || skip_b == skip_a, in_b = i >= skip_b;
    const int64_t ea = kind == 0 ? 1 : extent, eb = kind == 1 ? 1 : extent;
    int64_t out = 1;
    if (in_a) a.push_back(ea), out = std::max(out, ea);
    if (in_b) b.push_back(eb), out = std::max(out, eb);
    if (in_a || in_b) y.push_back(out);
  }
  for (const int64_t d : ta ? Dims{k, m} : Dims{m, k}) a.push_back(d);
  for (const int64_t d : tb ? Dims{n, k} : Dims{k, n}) b.push_back(d);
  y.push_back(m), y.push_back(n);
  p.params = GemmParams{.trans_a = ta, .trans_b = tb, .alpha = pick(0, 2) == 0 ? 0.5 : 1.0, .has_bias = bias};
  c.inputs = {random_tensor(rng, type, a), random_tensor(rng, type, b)};
  p.inputs = {desc_of(c.inputs[0]), desc_of(c.inputs[1], constant_b)};
  if (bias) {
    const Dims shapes[] = {{n}, {1, n}, {m, n}, {m, 1}, {1}, {}};
    c.inputs.push_back(random_tensor(rng, type, shapes[pick(0, 5)]));
    p.inputs.push_back(desc_of(c.inputs[2], constant_b));
  }
  p.num_main = static_cast<int>(c.inputs.size());
  p.outputs = {{type, Layout::kLinear, y, y, false}};
  return c;
}

void check_many(DType type, bool constant_b, int count, int at_least) {
  const uint64_t seed = test_seed() + 31 + static_cast<uint64_t>(type) * 1000 + constant_b;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  int offers = 0;
  for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    const GemmCase c = random_gemm(rng, type, constant_b);
    offers += check_offers(onednn_provider(), c.problem, c.inputs, "case " + std::to_string(i));
  }
  EXPECT_GE(offers, at_least);
}

TEST(OnednnGemm, ConstantB) { check_many(DType::kF32, true, 60, 40); }
TEST(OnednnGemm, DynamicB) { check_many(DType::kF32, false, 60, 35); }
TEST(OnednnGemm, Bfloat16) {
  WOOTZ_NEEDS_ISA(cpu_info().avx512_bf16 && usable_isa() == Isa::kAvx512, "avx512_bf16");
  check_many(DType::kBF16, true, 40, 25);
}
TEST(OnednnGemm, Float16) {
  WOOTZ_NEEDS_ISA(runs_f16(), "avx512_fp16");
  check_many(DType::kF16, true, 25, 12);
}

TEST(OnednnGemm, DynamicRowsShareOnePackedWeight) {
  std::mt19937_64 rng(test_seed());
  SCOPED_TRACE("seed " + std::to_string(test_seed()));
  Problem p;
  p.set_family(Family::kGemm);
  const HostTensor b = random_tensor(rng, DType::kF32, {96, 130});
  p.num_main = 2;
  p.inputs = {{DType::kF32, Layout::kLinear, {1, 64, 96}, {8, 512, 96}, false}, desc_of(b, true)};
  p.outputs = {{DType::kF32, Layout::kLinear, {1, 64, 130}, {8, 512, 130}, false}};
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  onednn_provider().tactics(p, {}, &offers, &refusals);
  ASSERT_EQ(offers.size(), 1u);
  if (effective_isa() == Isa::kAvx512) {
    EXPECT_NE(offers[0].tactic.config, "w=plain");
  }
  for (const Dims& batch : {Dims{1, 1}, Dims{2, 7}, Dims{1, 64}, Dims{8, 512}}) {
    const Dims a{batch[0], batch[1], 96}, y{batch[0], batch[1], 130};
    const std::vector<HostTensor> in{random_tensor(rng, DType::kF32, a), b};
    const RunOutcome run = run_candidate(onednn_provider(), p, offers[0], in, y);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    expect_close(run.output, dense_oracle(p, in, y), 96, y.to_string());
  }
}

}  // namespace
}  // namespace wootz::cpu::dnn::testing
