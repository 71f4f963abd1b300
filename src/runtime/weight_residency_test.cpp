// Which weights stay under a budget, and that those on their way never share memory.
#include "runtime/weight_residency.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"

namespace wootz {
namespace {

// Steps that read up to three weights each, some of them shared.
Program random_program(std::mt19937& rng) {
  const auto pick = [&](size_t low, size_t high) { return low + rng() % (high - low + 1); };
  Program p;
  for (size_t c = 0, n = pick(1, 30); c < n; ++c) {
    p.constants.push_back({});
    p.constants[ConstantIndex(c)].bytes = pick(0, 4) == 0 ? pick(0, 4095) : pick(4096, 100000);
    p.tensors.push_back({});
    p.tensors[TensorIndex(c)].kind = TensorKind::kConstant;
    p.tensors[TensorIndex(c)].constant = ConstantIndex(c);
  }
  for (size_t s = 0, n = pick(1, 20); s < n; ++s) {
    Step& step = p.steps.emplace_back();
    for (size_t k = 0, most = pick(0, 3); k < most; ++k)
      step.inputs.emplace_back(static_cast<int32_t>(pick(0, p.constants.size() - 1)));
  }
  return p;
}

TEST(WeightResidency, KeepsToTheBudget) {
  const uint64_t first = test_seed();
  for (uint64_t seed = first; seed < first + 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 rng(static_cast<unsigned>(seed));
    const Program p = random_program(rng);
    const size_t all = streamable_bytes(p), budget = all == 0 ? 0 : rng() % (all + 1);
    for (const size_t b : {size_t{0}, budget, all}) {
      const WeightResidency r = plan_residency(p, b);
      EXPECT_LE(r.resident, b);
      size_t streamed = 0;
      for (size_t w = 0; w < r.streamed.size(); ++w) {
        const StreamedWeight& weight = r.streamed[w];
        streamed += p.constants[weight.constant].bytes;
        EXPECT_EQ(r.way[weight.constant], static_cast<int32_t>(w));
        EXPECT_LE(weight.after, weight.step);
        if (w > 0) EXPECT_GE(weight.step, r.streamed[w - 1].step);
        if (w > 0) EXPECT_GE(weight.after, r.streamed[w - 1].after) << "they come in their order";
        EXPECT_LE(weight.offset + p.constants[weight.constant].bytes, r.scratch);
        for (size_t v = 0; v < w; ++v) {
          const StreamedWeight& other = r.streamed[v];
          const bool at_once = other.after <= weight.step && weight.after <= other.step;
          const bool apart = weight.offset + p.constants[weight.constant].bytes <= other.offset ||
                             other.offset + p.constants[other.constant].bytes <= weight.offset;
          EXPECT_TRUE(!at_once || apart);
        }
      }
      EXPECT_EQ(r.resident + streamed, all);
      if (b == all) EXPECT_TRUE(r.streamed.empty());
      if (b == 0) EXPECT_EQ(r.resident, 0u);
    }
  }
}

}  // namespace
}  // namespace wootz
