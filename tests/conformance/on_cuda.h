// What tests of graphs on the device share: the GPU where there is one, otherwise the stand-in, and a seed that is
// told.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "conformance/run_graph_on.h"
#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::conformance {

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<bool> stand_in = open_cuda();
    ASSERT_TRUE(stand_in.ok()) << stand_in.status().to_string();
    stand_in_ = *stand_in;
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed_));
  }

  // Inferred; null, and a failure, where the text is no graph.
  static std::unique_ptr<Graph> parsed(const std::string& text) {
    Result<std::unique_ptr<Graph>> graph = parse_graph(text, find_op);
    EXPECT_TRUE(graph.ok()) << graph.status().to_string() << text;
    if (!graph.ok()) return nullptr;
    const Status inferred = infer_graph(**graph);
    EXPECT_TRUE(inferred.ok()) << inferred.to_string();
    return std::move(graph).value();
  }

  const uint64_t seed_ = std::random_device{}();
  bool stand_in_ = false;
};

}  // namespace wootz::conformance
