// What is chosen for the backend cuda without being measured is run against the reference while building: on every op's
// cases no right kernel is refused, whatever its operands are. On the emulator a few of each module (WOOTZ_TEST_EACH).
#if defined(WOOTZ_HAVE_CUDA)
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/testing.h"
#include "build/build.h"
#include "conformance/on_cuda.h"
#include "ops/cases.h"

namespace wootz::conformance {
namespace {

class ProvedSlow : public OnCuda {};

TEST_F(ProvedSlow, NoRightKernelIsRefused) {
  std::map<std::string, std::vector<OpCase>> modules;
  for (OpCase& c : all_cases(seed_)) modules[c.name.substr(0, c.name.find('/'))].push_back(std::move(c));
  const char* const each = std::getenv("WOOTZ_TEST_EACH");
  const size_t most = each != nullptr ? std::strtoul(each, nullptr, 10) : emulator_ ? 2 : 1000;
  size_t built = 0, proved = 0, compared = 0;
  for (auto& [module, cases] : modules) {
    const size_t count = std::min(cases.size(), most);
    for (size_t i = 0; i < count; ++i) {
      const OpCase& c = cases[(i * cases.size() + cases.size() / 2) / count % cases.size()];
      SCOPED_TRACE(c.name);
      ASSERT_TRUE(infer_graph(*c.graph).ok());
      BuildSettings options;
      options.backend = "cuda";
      options.measure = false;
      options.host_steps = true;
      const KeptLog log;
      BuildServices services;
      services.log = &log;
      const Result<BuildOutput> output = build_program(*c.graph, options, services);
      for (const std::string& line : log.lines(LogLevel::kWarning))
        EXPECT_EQ(line.find("fails a benchmark run"), std::string::npos) << line;
      EXPECT_TRUE(output.ok()) << output.status().to_string();
      if (!output.ok()) continue;
      ++built;
      proved += output->report.choice.proved;
      compared += output->report.measured.proved;
    }
  }
  std::printf("%zu networks, %zu choices run, %zu of them compared\n", built, proved, compared);
  EXPECT_GT(compared, built / 4);
}

}  // namespace
}  // namespace wootz::conformance
#endif
