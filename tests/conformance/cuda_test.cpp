// The backend cuda on every op's cases: on the GPU where there is one, and otherwise on the emulator, which runs the
// generated kernels on the processor.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/device.h"
#include "backends/cuda/emulator/emulator.h"
#include "base/testing.h"
#include "base/tolerance.h"
#include "conformance/fallbacks.h"
#include "conformance/run_graph_on.h"
#include "ops/cases.h"
#include "ops/infer.h"
#include "ops/interpreter.h"

namespace wootz::conformance {
namespace {

constexpr size_t kAtOnce = 512;  // cases prepared before the first of them runs: their kernels are compiled together

struct Pending {
  std::string name;
  std::vector<HostTensor> expected;
  double tolerance = 0;
  int64_t reduction = 1;
  double noise = 0;
  bool in_8_bits = false;
  PreparedRun run;
};

class Suite {
 public:
  void add(const OpCase& c) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(infer_graph(*c.graph).ok());
    Result<std::vector<HostTensor>> expected = run_graph(*c.graph, c.inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().to_string();
    RunOptions options;
    options.backend = "cuda";
    Result<PreparedRun> prepared = prepare_graph_on(*c.graph, c.inputs, options);
    if (!prepared.ok()) {
      ADD_FAILURE() << c.name << ": " << prepared.status().to_string();
      return;
    }
    pending_.push_back({c.name, std::move(expected).value(), c.tolerance, c.reduction, noise_of(c),
                        c.name.find("matmul/quantized_f8") == 0, std::move(prepared).value()});
    if (pending_.size() >= kAtOnce) flush();
  }

  void flush() {
    for (Pending& p : pending_) {
      SCOPED_TRACE(p.name);
      const Result<RunResult> actual = p.run.run();
      if (!actual.ok()) {
        ADD_FAILURE() << p.name << ": " << actual.status().to_string();
        continue;
      }
      ++cases_;
      steps_ += actual->steps;
      host_ += actual->reference_steps.size();
      fallbacks_.saw(p.name, actual->reference_steps);
      ASSERT_EQ(actual->outputs.size(), p.expected.size());
      for (size_t o = 0; o < p.expected.size(); ++o) {
        const HostTensor& want = p.expected[o];
        const Difference d = compare_by_place(actual->outputs[o], want, p.noise);
        const double asked = p.tolerance > 0 ? p.tolerance : tolerance_for(want.dtype(), p.reduction);
        const double tolerance = p.in_8_bits ? std::max(asked, kOfFloat8) : asked;
        EXPECT_TRUE(within(d, tolerance))
            << p.name << " output " << o << " " << want.dims().to_string() << ": " << to_string(d);
      }
    }
    pending_.clear();
    if (emulator) {
      EXPECT_EQ(cuda::emulator_faults(), "");
    }
  }

  void report(bool all) const {
    std::printf("cuda%s: %zu cases, %zu steps, %zu of them on the host\n", emulator ? " (emulator)" : "", cases_,
                steps_, host_);
    expect_as_listed(fallbacks_, all);
  }
  bool emulator = false;

 private:
  std::vector<Pending> pending_;
  size_t cases_ = 0, steps_ = 0, host_ = 0;
  Fallbacks fallbacks_ = fallbacks_of("cuda");
};

// All of them; those with WOOTZ_TEST_CASE in their name; so many of each module, spread over its list, for tools that
// slow everything down (WOOTZ_TEST_EACH).
std::vector<OpCase> wanted_cases(uint64_t seed) {
  const char *only = std::getenv("WOOTZ_TEST_CASE"), *each = std::getenv("WOOTZ_TEST_EACH");
  std::map<std::string, std::vector<OpCase>> modules;
  for (OpCase& c : all_cases(seed))
    if (only == nullptr || c.name.find(only) != std::string::npos)
      modules[c.name.substr(0, c.name.find('/'))].push_back(c);
  std::vector<OpCase> wanted;
  for (auto& [module, cases] : modules) {
    const size_t count = each == nullptr ? cases.size() : std::min(cases.size(), std::strtoul(each, nullptr, 10));
    for (size_t i = 0; i < count; ++i) wanted.push_back(cases[i * cases.size() / count]);
  }
  return wanted;
}

TEST(CudaConformance, EveryCaseAgreesWithTheInterpreter) {
  Suite suite;
  const Result<bool> emulator = open_cuda();
  ASSERT_TRUE(emulator.ok()) << emulator.status().to_string();
  suite.emulator = *emulator;
  for (const OpCase& c : wanted_cases(test_seed())) suite.add(c);
  suite.flush();
  suite.report(std::getenv("WOOTZ_TEST_CASE") == nullptr && std::getenv("WOOTZ_TEST_EACH") == nullptr);
}

}  // namespace
}  // namespace wootz::conformance
