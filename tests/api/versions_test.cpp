// Plans of other versions, and runtimes of other libraries. plans/format2 was built before plans told their version:
// softmax(x w) of x [1 to 16, 8], w[i] = i % 7 - 3 as [8, 6], for processors with AVX2.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "api/dense.h"
#include "base/cpu_info.h"
#include "base/testing.h"
#include "plan/format.h"

namespace wootz_test {
namespace {

std::vector<char> stored_plan() {
  const char* const source = std::getenv("WOOTZ_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/tests/api/plans/format2", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Versions, AnOlderPlanLoadsAndRuns) {
  WOOTZ_NEEDS_ISA(wootz::cpu_info().avx2, "avx2");
  const std::vector<char> plan = stored_plan();
  ASSERT_FALSE(plan.empty());
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  const Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  ASSERT_NE(engine, nullptr) << logger.errors();
  const Owned<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_TRUE(context->setInputShape("x", dims({3, 8})));
  const Floats x = rows(3, 2);
  Floats want;
  for (size_t r = 0; r < 3; ++r) {
    Floats row(6, 0);
    float sum = 0;
    for (size_t c = 0; c < 6; ++c) {
      for (size_t k = 0; k < 8; ++k) row[c] += x[r * 8 + k] * (static_cast<float>((k * 6 + c) % 7) - 3);
      row[c] = std::exp(row[c]);
      sum += row[c];
    }
    for (const float v : row) want.push_back(v / sum);
  }
  expect_near(run(*context, {{"x", x.data()}}, "y"), want);
  EXPECT_EQ(wootz_plan_version(plan.data(), plan.size()), 0);
}

TEST(Versions, APlanOfAnotherFormatIsRefusedByItsNumber) {
  std::vector<char> plan = stored_plan();
  ASSERT_FALSE(plan.empty());
  const uint32_t version = wootz::plan_format::kVersion + 1;
  std::memcpy(plan.data() + offsetof(wootz::plan_format::Header, version), &version, sizeof(version));
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  EXPECT_EQ(runtime->deserializeCudaEngine(plan.data(), plan.size()), nullptr);
  const std::string why = logger.take_errors();
  EXPECT_NE(why.find("plan format 3, this build reads 2"), std::string::npos) << why;
  EXPECT_EQ(wootz_plan_version(plan.data(), plan.size()), -1);
  EXPECT_EQ(wootz_plan_version(nullptr, 0), -1);
}

TEST(Versions, APlanTellsTheVersionThatItWasBuiltAt) {
  Dense b;
  const Owned<IHostMemory> plan(b.builder->buildSerializedNetwork(*b.network, *b.config));
  ASSERT_NE(plan, nullptr) << b.logger.errors();
  EXPECT_EQ(wootz_plan_version(plan->data(), plan->size()), NV_TENSORRT_VERSION);
}

TEST(Versions, WhatIsNoRuntimeIsNotLoaded) {
  Logger logger;
  const Owned<IRuntime> runtime(createInferRuntime(logger));
  EXPECT_EQ(runtime->loadRuntime(nullptr), nullptr);
  EXPECT_NE(logger.take_errors().find("IRuntime::loadRuntime"), std::string::npos);
  EXPECT_EQ(runtime->loadRuntime("/nonexistent/libother.so"), nullptr);
  EXPECT_NE(logger.take_errors().find("/nonexistent/libother.so"), std::string::npos);
  EXPECT_EQ(runtime->loadRuntime("libm.so.6"), nullptr);
  EXPECT_NE(logger.take_errors().find("createInferRuntime_INTERNAL"), std::string::npos);
}

}  // namespace
}  // namespace wootz_test
