#include "tuner/cache/cache_only_selector.h"

#include <gtest/gtest.h>

#include "tuner/cache/tactic_text.h"

namespace wootz {
namespace {

// Takes whatever begins with "k", offers nothing.
class Silent final : public Provider {
 public:
  const char* name() const override { return "silent"; }
  std::string version() const override { return "2"; }
  void tactics(const Problem&, const Limits&, std::vector<Candidate>*, std::vector<Refusal>*) const override {}
  Result<std::unique_ptr<Kernel>> create(const Tactic& tactic, const Problem&, const Limits&) const override {
    class None final : public Kernel {
      Result<std::unique_ptr<Call>> bind(const BindArgs&) const override { return unsupported("not in this test"); }
    };
    if (tactic.kernel[0] != 'k') return invalid_argument("no kernel '{}'", tactic.kernel);
    return std::unique_ptr<Kernel>(std::make_unique<None>());
  }
};

Problem problem() {
  Problem p;
  p.set_family(Family::kConv);
  for (int i = 0; i < 2; ++i) p.inputs.push_back({DType::kF32, Layout::kLinear, {1, 8, 4, 4}, {1, 8, 4, 4}});
  p.outputs.push_back({DType::kF32, Layout::kLinear, {1, 8, 4, 4}, {1, 8, 4, 4}});
  return p;
}

TEST(TacticText, ComesBack) {
  Problem p = problem();
  p.inputs[0].layout = Layout::kChannelsLast;
  p.outputs[0].layout = Layout::kBlocked16;
  const Tactic tactic{"native", "kernel_f32", "a@b>c?d"};
  const std::string text = tactic_text(p, tactic);
  const std::optional<Candidate> back = tactic_from_text(problem(), "native", text);
  ASSERT_TRUE(back.has_value()) << text;
  EXPECT_EQ(back->tactic, tactic);
  EXPECT_EQ(back->input_layouts, (std::vector<Layout>{Layout::kChannelsLast, Layout::kLinear}));
  EXPECT_EQ(back->output_layouts, std::vector<Layout>{Layout::kBlocked16});
  for (const char* bad : {"", "kernel", "kernel@NCHW,NCHW", "kernel>NCHW", "kernel@NCHW>NCHW", "kernel@x,y>z"})
    EXPECT_FALSE(tactic_from_text(problem(), "native", bad).has_value()) << bad;
}

TEST(CacheOnlySelector, OffersWhatTheCacheKnowsAndRefusesTheRest) {
  DeviceDescription device;
  device.backend = "cuda";
  device.isa = "sm_90";
  TimingCache cache(device);
  const Silent provider;
  Limits limits;
  const Problem p = problem();
  Problem filled = p;
  const auto put = [&](const char* kernel, const char* version, double us, const char* refusal = "") {
    Timing timing;
    timing.median_us = us;
    timing.runs = 1;
    timing.refusal = refusal;
    const TimingKey key{
        problem_key(without_layouts(p)), "silent", version, tactic_text(filled, {"silent", kernel, ""}), "sm_90", 1};
    ASSERT_TRUE(cache.update(key, timing).ok());
  };
  put("k_fast", "1", 3);
  put("k_fast", "2", 2);  // this machine's version counts
  put("k_slow", "1", 9);
  put("k_wrong", "1", 1, "wrong results");
  put("gone", "1", 1);  // its provider does not take it

  CacheOnlySelector remembered(cache, {&provider}, limits, "sm_90");
  Candidate unknown{{"silent", "k_guess", ""}, {Layout::kLinear, Layout::kLinear}, {Layout::kLinear}, 0, 0.1};
  std::vector<Candidate> offers{unknown};
  remembered.add_offers(p, &offers);
  std::map<std::string, EvaluatedCandidate> by_kernel;
  for (const Candidate& offer : offers) {
    EvaluatedCandidate c;
    c.candidate = offer;
    ASSERT_TRUE(remembered.cost(p, &c).ok());
    by_kernel[offer.tactic.kernel] = c;
  }
  ASSERT_EQ(by_kernel.size(), 4u);
  EXPECT_EQ(by_kernel["k_fast"].us, 2);
  EXPECT_TRUE(by_kernel["k_fast"].measured);
  EXPECT_EQ(by_kernel["k_slow"].us, 9);
  EXPECT_EQ(by_kernel["k_wrong"].refusal, "wrong results");
  EXPECT_NE(by_kernel["k_guess"].refusal, "");
  EXPECT_EQ(remembered.found(), 2u);

  Problem other = p;  // nothing is known of it: estimates decide
  other.inputs[0].dims = {1, 8, 5, 5};
  EvaluatedCandidate c;
  c.candidate = unknown;
  ASSERT_TRUE(remembered.cost(other, &c).ok());
  EXPECT_EQ(c.refusal, "");
  EXPECT_EQ(c.us, 0.1);
}

}  // namespace
}  // namespace wootz
