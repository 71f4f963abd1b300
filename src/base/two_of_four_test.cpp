#include "base/two_of_four.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/testing.h"

namespace wootz {
namespace {

HostTensor floats(std::vector<float> values, const Dims& dims) {
  return HostTensor::from<float>(std::span<const float>(values), dims);
}

TEST(TwoOfFour, IsSeenAlongTheAxisAlone) {
  const HostTensor rows = floats({1, 2, 0, 0, 0, 3, 4, -0.0F, 5, 0, 0, 6}, {3, 4});
  EXPECT_TRUE(is_two_of_four(rows, 1));
  EXPECT_FALSE(is_two_of_four(floats({1, 2, 0, 3}, {1, 4}), 1));
  // Along axis 0 each column is one four.
  const HostTensor columns = floats({1, 0, 2, 0, 0, 3, 0, 4}, {4, 2});
  EXPECT_TRUE(is_two_of_four(columns, 0));
  EXPECT_FALSE(is_two_of_four(floats({1, 0, 2, 0, 3, 3, 0, 4}, {4, 2}), 0));
  EXPECT_FALSE(is_two_of_four(columns, 2));
  // Taps of a convolution are apart: [M, C, k, k], of which the channels of one tap are a four.
  HostTensor filter = floats(std::vector<float>(2 * 4 * 9, 1), {2, 4, 3, 3});
  EXPECT_FALSE(is_two_of_four(filter, 1));
  zero_two_of_four(&filter, 1, test_seed());
  EXPECT_TRUE(is_two_of_four(filter, 1));
}

TEST(TwoOfFour, HoldsForEveryType) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kF8E4M3}) {
    HostTensor t = HostTensor::allocate(type, {8, 3}).value();
    for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, static_cast<double>(i % 5) - 6);
    EXPECT_FALSE(is_two_of_four(t, 0)) << dtype_name(type);
    prune_two_of_four(&t, 0);
    EXPECT_TRUE(is_two_of_four(t, 0)) << dtype_name(type);
  }
}

TEST(TwoOfFour, PruningKeepsTheLargestAndOfEqualOnesTheEarlier) {
  HostTensor t = floats({1, -4, 3, -2, 7, 7, -7, 7, 0, 0, 0, 1}, {12});
  prune_two_of_four(&t, 0);
  const std::vector<float> want{0, -4, 3, 0, 7, 7, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(std::vector<float>(t.as<float>().begin(), t.as<float>().end()), want);
}

TEST(TwoOfFour, WhatIsLeftOverIsAFourOfItsOwn) {
  EXPECT_TRUE(is_two_of_four(floats({1, 1, 0, 0, 1, 1}, {6}), 0));
  EXPECT_FALSE(is_two_of_four(floats({1, 1, 0, 0, 1, 1, 1}, {7}), 0));
  HostTensor t = floats({1, 1, 0, 0, 1, 3, 2}, {7});
  prune_two_of_four(&t, 0);
  EXPECT_EQ(t.get_f64(4), 0);
  EXPECT_EQ(t.get_f64(5), 3);
}

TEST(TwoOfFour, RandomZerosStandInAllPlaces) {
  HostTensor t = floats(std::vector<float>(4 * 600, 1), {600, 4});
  zero_two_of_four(&t, 1, test_seed());
  int zeros[4] = {};
  for (int64_t i = 0; i < t.volume(); ++i) zeros[i % 4] += t.get_f64(i) == 0;
  EXPECT_EQ(zeros[0] + zeros[1] + zeros[2] + zeros[3], 1200);
  for (const int count : zeros) EXPECT_GT(count, 200);
  EXPECT_FALSE(all_zero(t));
  EXPECT_TRUE(all_zero(HostTensor::allocate(DType::kF16, {7}).value()));
}

}  // namespace
}  // namespace wootz
