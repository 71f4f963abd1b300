// What tests of graphs on the device share: the GPU where there is one, otherwise the emulator, and a seed.
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
    const Result<bool> emulator = open_cuda();
    ASSERT_TRUE(emulator.ok()) << emulator.status().to_string();
    emulator_ = *emulator;
  }

  const uint64_t seed_ = test_seed();
  bool emulator_ = false;
};

}  // namespace wootz::conformance
