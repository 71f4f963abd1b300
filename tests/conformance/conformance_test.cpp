// One suite for every backend: each op's cases, lowered, planned and run as a network would be, against the
// interpreter.
#include <gtest/gtest.h>

#include <random>

#include "base/testing.h"
#include "base/tolerance.h"
#include "conformance/fallbacks.h"
#include "conformance/run_graph_on.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"

namespace wootz::conformance {
namespace {

struct Setting {
  const char* name;
  RunOptions options;
  const char* fallbacks = "";  // the backend's name in fallbacks.txt, where all kernels may be used
};

class Conformance : public ::testing::TestWithParam<Setting> {};

TEST_P(Conformance, EveryCaseAgreesWithTheInterpreter) {
  const uint64_t seed = test_seed();
  Fallbacks fallbacks = fallbacks_of(GetParam().fallbacks);
  size_t steps = 0, reference = 0;
  for (const OpCase& c : all_cases(seed)) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(infer_graph(*c.graph).ok());
    const auto expected = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    const auto actual = run_graph_on(*c.graph, c.inputs, GetParam().options);
    if (!actual.ok()) {
      ADD_FAILURE() << actual.status().to_string();
      continue;
    }
    steps += actual->steps;
    reference += actual->reference_steps.size();
    fallbacks.saw(c.name, actual->reference_steps);
    ASSERT_EQ(actual->outputs.size(), expected->size());
    for (size_t o = 0; o < expected->size(); ++o) {
      const HostTensor& want = (*expected)[o];
      const Difference d = compare_by_place(actual->outputs[o], want, noise_of(c));
      const double tolerance = c.tolerance > 0 ? c.tolerance : tolerance_for(want.dtype(), c.reduction);
      EXPECT_TRUE(within(d, tolerance)) << "output " << o << " " << want.dims().to_string() << ": " << to_string(d);
    }
  }
  if (*GetParam().fallbacks != 0) expect_as_listed(fallbacks);
  std::printf("%s: %zu steps, %zu of them by the reference\n", GetParam().name, steps, reference);
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance,
                         ::testing::Values(Setting{"cpu", {}, "cpu"}, Setting{"cpu_no_passes", {"cpu", false, "", 2}},
                                           Setting{"cpu_avx2", {"cpu", true, "avx2", 2}},
                                           Setting{"reference", {"reference", true, "", 2}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wootz::conformance
