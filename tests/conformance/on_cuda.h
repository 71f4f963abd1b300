// What tests of graphs on the device share: the GPU where there is one, otherwise the stand-in, and a seed.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "base/testing.h"
#include "conformance/parsed_graph.h"
#include "conformance/run_graph_on.h"

namespace wootz::conformance {

class OnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<bool> stand_in = open_cuda();
    ASSERT_TRUE(stand_in.ok()) << stand_in.status().to_string();
    stand_in_ = *stand_in;
  }

  const uint64_t seed_ = test_seed();
  bool stand_in_ = false;
};

}  // namespace wootz::conformance
