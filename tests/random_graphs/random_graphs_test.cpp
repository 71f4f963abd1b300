// Passes change how, never what; they leave graphs that verify, and have nothing left to do with their own result.
//
// A failure prints the seed and a reduced graph. WOOTZ_SEED=<seed> WOOTZ_RANDOM_GRAPHS=1 makes it again;
// WOOTZ_RANDOM_GRAPHS=<count> runs more, WOOTZ_RANDOM_SECONDS=<seconds> as many as that takes (./dev fuzz).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>

#include "base/testing.h"
#include "ir/op_def.h"
#include "ir/text.h"
#include "random_graphs/check.h"

namespace wootz::random_graphs {
namespace {

uint64_t number(const char* variable, uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

TEST(RandomGraphs, SameSeedSameGraph) {
  const uint64_t seed = test_seed();
  EXPECT_EQ(print_graph(*generate(seed, 20).graph), print_graph(*generate(seed, 20).graph));
}

TEST(RandomGraphs, PassesChangeHowNeverWhat) {
  const uint64_t first = test_seed();
  const uint64_t seconds = number("WOOTZ_RANDOM_SECONDS", 0);
  const uint64_t usual = seconds > 0 ? UINT64_MAX : std::getenv("WOOTZ_TEST_FAST") != nullptr ? 300 : 2000;
  const uint64_t count = number("WOOTZ_RANDOM_GRAPHS", usual);
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [&] {
    return seconds > 0 && std::chrono::steady_clock::now() - start > std::chrono::seconds(seconds);
  };
  std::map<std::string, int> ops;
  uint64_t nodes = 0, graphs = 0;
  int failures = 0;
  for (uint64_t i = 0; i < count && failures < 3 && !spent(); ++i) {
    ++graphs;
    const uint64_t seed = first + i;
    const Sample sample = generate(seed, 4 + static_cast<int>(seed % 32));
    nodes += static_cast<uint64_t>(sample.graph->num_nodes());
    for (const Node* node : sample.graph->nodes()) ++ops[node->op().name];
    // A share also runs on the kernels; and whatever is asked for by its seed.
    CheckOptions options;
    options.kernels = seed % 4 == 0 || count <= 4;
    const std::string trouble = check(sample, options);
    if (trouble.empty()) continue;
    ++failures;
    const Sample small = reduce(sample, options, trouble);
    ADD_FAILURE() << "seed " << seed << ": " << trouble.substr(0, trouble.find('\n')) << "\nreduced ("
                  << check(small, options).substr(0, 2000) << "):\n"
                  << print_graph(*small.graph);
  }
  std::printf("%llu graphs, %llu nodes of %zu ops\n", static_cast<unsigned long long>(graphs),
              static_cast<unsigned long long>(nodes), ops.size());
  if (graphs >= 2000 && failures == 0) EXPECT_GT(ops.size(), 60u) << "the generator has lost ops";
}

}  // namespace
}  // namespace wootz::random_graphs
