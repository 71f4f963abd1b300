#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/testing.h"

namespace wootz {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Halves as arithmetic: sign, 5 bits of exponent, 10 of fraction.
float half_by_arithmetic(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  float value = exponent == 31 ? (fraction ? std::nanf("") : kInf)
                : exponent     ? std::ldexp(1.0f + static_cast<float>(fraction) / 1024, exponent - 15)
                               : std::ldexp(static_cast<float>(fraction) / 1024, -14);
  return bits & 0x8000 ? -value : value;
}

TEST(Half, EveryPatternDecodesAndReturns) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto h = static_cast<uint16_t>(bits);
    const float value = f16_to_f32(h), expected = half_by_arithmetic(h);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value)))) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(f32_to_f16(value), h) << bits;
    }
  }
}

// Between two neighbouring halves the nearer wins, and at the middle the even one.
TEST(Half, RoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const double a = f16_to_f32(low), b = f16_to_f32(high);
    const auto middle = static_cast<float>((a + b) / 2);  // exact in f32
    ASSERT_EQ(f32_to_f16(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, -kInf)), low) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInf)), high) << bits;
    ASSERT_EQ(f32_to_f16(-middle), 0x8000 | (bits % 2 == 0 ? low : high)) << bits;
  }
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(1e30f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-kInf), 0xfc00);
  EXPECT_EQ(f32_to_f16(1e-30f), 0);
}

TEST(BFloat16, RoundsToNearestEven) {
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<uint16_t>(rng() % 0x7f7f);
    const float a = bf16_to_f32(bits), b = bf16_to_f32(static_cast<uint16_t>(bits + 1));
    const auto middle = static_cast<float>((static_cast<double>(a) + b) / 2);
    ASSERT_EQ(f32_to_bf16(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(f32_to_bf16(a), bits);
  }
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
  EXPECT_EQ(f32_to_bf16(kInf), 0x7f80);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

class SmallFloat : public ::testing::TestWithParam<DType> {};

TEST_P(SmallFloat, EveryPatternReturns) {
  const int count = 1 << dtype_bits(GetParam());
  for (int bits = 0; bits < count; ++bits) {
    const float value = small_float_to_f32(GetParam(), static_cast<uint8_t>(bits));
    const uint8_t back = f32_to_small_float(GetParam(), value, false);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(small_float_to_f32(GetParam(), back))) << bits;
    else
      EXPECT_EQ(back, bits) << value;
  }
}

// The nearest pattern, by looking at all of them.
TEST_P(SmallFloat, EncodesTheNearest) {
  if (GetParam() == DType::kF8E8M0) {  // a scale: powers of two only, the nearer exponent
    for (const auto& [x, nearest] : {std::pair{1.4f, 1.0f}, {1.5f, 2.0f}, {3.0f, 4.0f}, {0.7f, 0.5f}, {0.75f, 1.0f}})
      EXPECT_EQ(small_float_to_f32(GetParam(), f32_to_small_float(GetParam(), x, true)), nearest) << x;
    return;
  }
  std::vector<float> grid;
  for (int bits = 0; bits < 1 << dtype_bits(GetParam()); ++bits) {
    const float value = small_float_to_f32(GetParam(), static_cast<uint8_t>(bits));
    if (std::isfinite(value)) grid.push_back(value);
  }
  const float largest = *std::max_element(grid.begin(), grid.end());
  const uint64_t seed = test_seed();
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 5000; ++i) {
    const float x = std::ldexp(std::uniform_real_distribution<float>(-1, 1)(rng), static_cast<int>(rng() % 24) - 14);
    const float found = small_float_to_f32(GetParam(), f32_to_small_float(GetParam(), x, true));
    float best = kInf;
    for (const float g : grid) best = std::min(best, std::fabs(g - x));
    ASSERT_EQ(std::fabs(found - x), best) << x << " became " << found;
  }
  EXPECT_EQ(small_float_to_f32(GetParam(), f32_to_small_float(GetParam(), 1e30f, true)), largest);
  EXPECT_EQ(small_float_to_f32(GetParam(), f32_to_small_float(GetParam(), -kInf, true)), -largest);
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat,
                         ::testing::Values(DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz,
                                           DType::kF8E8M0, DType::kF4E2M1),
                         [](const auto& info) { return dtype_name(info.param); });

TEST(SmallFloat, KnownValues) {
  EXPECT_EQ(small_float_to_f32(DType::kF8E4M3, 0x7e), 448);
  EXPECT_TRUE(std::isnan(small_float_to_f32(DType::kF8E4M3, 0x7f)));
  EXPECT_EQ(small_float_to_f32(DType::kF8E4M3, 0x01), 0x1p-9f);
  EXPECT_EQ(small_float_to_f32(DType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(small_float_to_f32(DType::kF8E5M2, 0x7c), kInf);
  EXPECT_EQ(small_float_to_f32(DType::kF8E4M3Fnuz, 0x7f), 240);
  EXPECT_TRUE(std::isnan(small_float_to_f32(DType::kF8E4M3Fnuz, 0x80)));
  EXPECT_EQ(small_float_to_f32(DType::kF8E5M2Fnuz, 0x7f), 57344);
  EXPECT_EQ(small_float_to_f32(DType::kF8E8M0, 127), 1);
  EXPECT_EQ(small_float_to_f32(DType::kF4E2M1, 7), 6);
  EXPECT_EQ(small_float_to_f32(DType::kF4E2M1, 9), -0.5f);
  // Out of range without saturation: infinity or NaN as the format has it.
  EXPECT_TRUE(std::isnan(small_float_to_f32(DType::kF8E4M3, f32_to_small_float(DType::kF8E4M3, 1e9f, false))));
  EXPECT_EQ(small_float_to_f32(DType::kF8E5M2, f32_to_small_float(DType::kF8E5M2, 1e9f, false)), kInf);
  EXPECT_TRUE(std::isnan(small_float_to_f32(DType::kF8E4M3Fnuz, f32_to_small_float(DType::kF8E4M3Fnuz, 1e9f, false))));
  EXPECT_EQ(small_float_to_f32(DType::kF4E2M1, f32_to_small_float(DType::kF4E2M1, 1e9f, false)), 6);
}

}  // namespace
}  // namespace wootz
