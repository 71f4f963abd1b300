#include "backends/cuda/generate/lift.h"

#include <gtest/gtest.h>

namespace wootz::cuda {
namespace {

TEST(LiftNumbers, BecomeArgumentsWithTheirTypes) {
  const Lifted l = lift_numbers(
      "int before = 7;\nextern \"C\" __global__ void __launch_bounds__(256) wootz_kernel(float* y, const float* x) {\n"
      "  const s64 i = (s64)blockIdx.x * 256 + threadIdx.x;\n  if (i >= 5000000000) return;\n"
      "  y[i % 40u] = x[i / 3ll] + (float)1.5e+30 + 0x1p+12 + 0x1.8p-3f + 0x10 + 1;\n}\n",
      100);
  EXPECT_EQ(l.numbers, (std::vector<int64_t>{256, 5000000000, 40, 3}));
  EXPECT_EQ(
      l.source,
      "int before = 7;\nextern \"C\" __global__ void __launch_bounds__(256) wootz_kernel(float* y, const float* x, s64 "
      "w_n0, s64 w_n1, s64 w_n2, s64 w_n3) {\n"
      "  const s64 i = (s64)blockIdx.x * (int)w_n0 + threadIdx.x;\n  if (i >= (s64)w_n1) return;\n"
      "  y[i % (u32)w_n2] = x[i / (s64)w_n3] + (float)1.5e+30 + 0x1p+12 + 0x1.8p-3f + 0x10 + 1;\n}\n");
}

TEST(LiftNumbers, WhatTheCompilerMustKnowStays) {
  const Lifted l = lift_numbers(
      "void wootz_kernel() {\n  __shared__ float a[32]; Pack<f16, 8> p; a[4 * 8] = w_group<4, 64, true>(a[t + 5], "
      "Sum());\n"
      "#pragma unroll 16\n  for (int k = 0; k < 12; ++k) a[3] += (u64)1 << 40;\n}\n",
      100);
  EXPECT_EQ(l.numbers, (std::vector<int64_t>{5, 12, 40}));
  EXPECT_NE(l.source.find("wootz_kernel(s64 w_n0, s64 w_n1, s64 w_n2)"), std::string::npos);
  EXPECT_NE(l.source.find("a[4 * 8] = w_group<4, 64, true>(a[t + (int)w_n0]"), std::string::npos) << l.source;
}

TEST(LiftNumbers, TooManyStay) {
  const std::string source = "void wootz_kernel() { f(2, 3, 4); }";
  EXPECT_EQ(lift_numbers(source, 2).source, source);
  EXPECT_EQ(lift_numbers(source, 3).numbers.size(), 3u);
  EXPECT_EQ(lift_numbers("void other() { f(2); }", 9).source, "void other() { f(2); }");
}

}  // namespace
}  // namespace wootz::cuda
