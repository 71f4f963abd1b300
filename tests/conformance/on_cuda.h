// What tests of graphs on the device share: the GPU where there is one, otherwise the emulator, and a seed.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/testing.h"
#include "conformance/parsed_graph.h"
#include "conformance/run_graph_on.h"

namespace wootz::conformance {

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<bool> emulator = open_cuda();
    ASSERT_TRUE(emulator.ok()) << emulator.status().to_string();
    emulator_ = *emulator;
  }

  // Fails the test, and gives nothing, where that does not run. `without`: passes.
  static RunResult run_on(const std::string& backend, Graph& graph, const std::vector<HostTensor>& inputs,
                          bool passes = true, std::set<std::string> without = {}) {
    RunOptions options;
    options.backend = backend;
    options.passes = passes;
    options.without = std::move(without);
    Result<RunResult> result = run_graph_on(graph, inputs, options);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::move(result).value() : RunResult();
  }

  const uint64_t seed_ = test_seed();
  bool emulator_ = false;
};

}  // namespace wootz::conformance
