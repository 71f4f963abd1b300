#include "plan/strip.h"

#include <gtest/gtest.h>

#include "backend/refit.h"
#include "base/testing.h"
#include "plan/digest.h"
#include "plan/program_testing.h"
#include "plan/read.h"
#include "plan/use_testing.h"
#include "plan/verify.h"
#include "plan/write.h"

namespace wootz {
namespace {

// With a recipe of which some weights are refittable.
Program refittable_program(uint64_t seed) {
  for (unsigned n = 0;; ++n) {
    RandomProgram random(static_cast<unsigned>(seed) + 1000 * n);
    Program p = random.make();
    if (p.refit != nullptr) return p;
  }
}

TEST(StripWeights, LeavesOutWhatARefitBrings) {
  const uint64_t first = test_seed();
  for (uint64_t seed = first; seed < first + 50; ++seed) {
    SCOPED_TRACE(seed);
    Program p = refittable_program(seed);
    auto recipe = std::make_shared<RefitRecipe>(*p.refit);
    recipe->identical = seed % 2 == 0;
    p.refit = recipe;
    const Result<Program> stripped = strip_weights(p);
    ASSERT_TRUE(stripped.ok()) << stripped.status().to_string();
    const Result<RawBytes> plan = write_plan(*stripped), full = write_plan(p);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    // A digest takes more than a weight of a few bytes, and may move what follows to the next page.
    constexpr size_t kDigest = 64, kPage = 4096;
    EXPECT_LE(plan->size(), full->size() + kDigest * recipe->constants.size() + kPage);
    const auto read = read_plan(*plan);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    const Program& q = **read;
    EXPECT_TRUE(q.stripped);
    EXPECT_EQ(q.refit->identical, recipe->identical);
    use_program(q);
    ASSERT_EQ(q.constants.size(), p.constants.size());
    for (const ConstantIndex c : q.constants.indices()) {
      EXPECT_EQ(q.constants[c].bytes, p.constants[c].bytes);
      const auto* bytes = static_cast<const std::byte*>(q.constants[c].data);
      EXPECT_TRUE(std::all_of(bytes, bytes + q.constants[c].bytes, [](std::byte b) { return b == std::byte{0}; }));
    }
    std::vector<uint8_t> may(p.refit->constants.size(), 0);
    for (const RefitWeight& w : p.refit->weights)
      if (w.refittable) may[static_cast<size_t>(w.constant)] = 1;
    for (size_t c = 0; c < may.size(); ++c) {
      const RefitConstant &was = p.refit->constants[c], &is = q.refit->constants[c];
      EXPECT_EQ(is.stripped, may[c] != 0);
      const std::span bytes(static_cast<const std::byte*>(was.data), was.bytes);
      if (!is.stripped)
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), static_cast<const std::byte*>(is.data)));
      else
        EXPECT_EQ(is.digest == tree_digest(bytes), recipe->identical);
    }
    // As it is: what was stripped stays so.
    const Result<RawBytes> again = write_plan(q), twice = write_plan(*strip_weights(q));
    EXPECT_TRUE(*again == *plan);
    EXPECT_TRUE(*twice == *plan);
  }
}

TEST(StripWeights, WantsARecipe) {
  Program p = refittable_program(1);
  p.refit = nullptr;
  EXPECT_EQ(strip_weights(p).status().code(), Code::kInvalidState);
  p.stripped = true;
  EXPECT_EQ(verify_program(p).code(), Code::kCorrupt);
}

TEST(StripWeights, WhatIsMissingMustBeOneThatARefitBrings) {
  Program p = refittable_program(2);
  while (p.constants.empty()) p = refittable_program(p.steps.size() + 100);
  auto recipe = std::make_shared<RefitRecipe>(*p.refit);
  for (RefitWeight& w : recipe->weights) w.refittable = false;
  recipe->constants[0].stripped = true;
  p.refit = recipe;
  EXPECT_EQ(verify_program(p).code(), Code::kCorrupt) << "a plan with weights lacks one";
  p.stripped = true;
  for (Program& body : p.bodies) body.stripped = true;
  EXPECT_EQ(verify_program(p).code(), Code::kCorrupt) << "no weight brings it";
  for (RefitWeight& w : recipe->weights) w.refittable = true;
  EXPECT_TRUE(verify_program(p).ok()) << verify_program(p).to_string();
  if (p.bodies.empty()) return;
  p.bodies[0].stripped = false;
  EXPECT_EQ(verify_program(p).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace wootz
