#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/pointwise.h"
#include "base/testing.h"

namespace wootz {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(PointwiseText, TextIsExact) {
  PointwiseExpr expr;
  const uint16_t x = expr.input(0, DType::kF32);
  const uint16_t c = expr.constant(0.1, DType::kF32);
  const uint16_t clip = expr.push(PwOp::kClip, DType::kF32, expr.push(PwOp::kMul, DType::kF32, x, c), 0, 0, -kInf, 6);
  expr.outputs = {clip, x};
  EXPECT_EQ(expr.to_string(),
            "v0=input.f32(0); v1=const.f32[0x1.999999999999ap-4]; v2=mul.f32(v0,v1); v3=clip.f32(v2)[-inf,0x1.8p+2]; "
            "out v3, v0");
  const auto back = PointwiseExpr::parse(expr.to_string());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, expr);
  EXPECT_EQ(expr.input(0, DType::kF32), x);
  EXPECT_EQ(expr.constant(0.1, DType::kF32), c);
}

TEST(PointwiseText, ParseReadsDecimalsAndSpaces) {
  const auto expr = PointwiseExpr::parse(" in 3;\nv0 = input.f32( 2 ) ; v1 = hard_sigmoid.f32(v0) [0.2, .5]; out v1 ");
  ASSERT_TRUE(expr.ok()) << expr.status().message();
  EXPECT_EQ(expr->num_inputs, 3);
  EXPECT_EQ(expr->code[1].imm0, 0.2);
  EXPECT_EQ(expr->code[1].imm1, 0.5);
  const auto unread = PointwiseExpr::parse("in 5; v0=input.f32(1); out v0");
  EXPECT_THAT(unread->to_string(), HasSubstr("in 5; "));
}

TEST(PointwiseText, ParseRefusesNonsense) {
  for (const char* text : {"", "out", "v0=input.f32(0)", "v0=input.f32(0); out v1", "v1=input.f32(0); out v1",
                           "v0=input.f99(0); out v0", "v0=nope.f32(0); out v0", "v0=relu.f32(v0); out v0",
                           "v0=input.f32(0); v1=relu.f32(v0; out v1", "v0=input.f32(0); v1=add.f32(v0); out v1",
                           "v0=input.f32(65535); out v0", "v0=input.f32(0); out v0 v0", "v0=const.f32[0x]; out v0",
                           "v0=const.f32[--1]; out v0", "v0=const.f32[1; out v0", "in 1; v0=input.f32(1); out v0",
                           "v0=input.f32(99999999999); out v0", "v0=input.f32(0); v1=input.f16(0); out v1"}) {
    EXPECT_FALSE(PointwiseExpr::parse(text).ok()) << text;
  }
  std::string many;
  for (int k = 0; k < 1000; ++k) many += "v" + std::to_string(k) + "=const.f32; ";
  EXPECT_FALSE(PointwiseExpr::parse(many + "out v0").ok());
}

TEST(PointwiseText, ParseSurvivesDamage) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  const std::string good =
      "in 2; v0=input.f32(0); v1=const.f32[0x1.8p-3]; v2=select.f32(v3,v0,v1); v3=leaky_relu.f32(v0)[0.1]; out v1, v0";
  for (int k = 0; k < 20000; ++k) {
    std::string text = good;
    for (uint64_t n = rng() % 4; n > 0; --n) text[rng() % text.size()] = good[rng() % good.size()];
    text.resize(rng() % (text.size() + 1));
    const auto expr = PointwiseExpr::parse(text);
    if (!expr.ok()) continue;
    const auto again = PointwiseExpr::parse(expr->to_string());
    ASSERT_TRUE(again.ok()) << text;
    ASSERT_EQ(again->to_string(), expr->to_string()) << text;
  }
}

}  // namespace
}  // namespace wootz
