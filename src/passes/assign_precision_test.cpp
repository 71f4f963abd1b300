#include "passes/assign_precision.h"

#include <gtest/gtest.h>

#include <random>

#include "base/tolerance.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"
#include "passes/pass.h"

namespace wootz {
namespace {

TEST(AssignPrecision, EveryCaseStaysCloseAndKeepsItsInterface) {
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  int changed = 0;
  for (const OpCase& c : all_cases(seed)) {
    if (c.name.rfind("random/", 0) == 0) continue;
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(infer_graph(*c.graph).ok());
    const auto expected = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(expected.ok());
    const auto passes = run_pipeline(*c.graph, {});
    ASSERT_TRUE(passes.ok()) << passes.status().to_string();
    const Result<int> count = assign_precision(*c.graph, DType::kBF16);
    ASSERT_TRUE(count.ok()) << count.status().to_string();
    changed += *count;
    const Status sound = verify_graph(*c.graph);
    ASSERT_TRUE(sound.ok()) << sound.to_string();
    const auto actual = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(actual.ok()) << actual.status().to_string();
    for (size_t o = 0; o < expected->size(); ++o) {
      ASSERT_EQ((*actual)[o].dtype(), (*expected)[o].dtype());
      ASSERT_EQ((*actual)[o].dims(), (*expected)[o].dims());
    }
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace wootz
