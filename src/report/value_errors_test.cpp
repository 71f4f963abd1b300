#include "report/value_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/compared_values.h"

namespace wootz {
namespace {

HostTensor floats(std::vector<float> values) { return HostTensor::from<float>(values, Dims{}); }

TEST(ValueErrors, FiguresAreThoseOfTheDefinition) {
  ValueErrors errors;
  ASSERT_TRUE(errors.add(floats({3, 0, -4}), floats({3, 0.5F, -4})).ok());
  EXPECT_DOUBLE_EQ(errors.error(), 0.1);
  EXPECT_DOUBLE_EQ(errors.largest_difference(), 0.5);
  EXPECT_DOUBLE_EQ(errors.mean_difference(), 0.5 / 3);
  EXPECT_DOUBLE_EQ(errors.largest_value(), 4);
  EXPECT_DOUBLE_EQ(errors.cosine(), 25 / std::sqrt(25 * 25.25));
  EXPECT_EQ(errors.elements(), 3U);
  // 0.5 is from 0.1 to 1.
  EXPECT_EQ(errors.histogram()[static_cast<size_t>(-ValueErrors::kFirstPower)], 1U);
}

TEST(ValueErrors, BatchesAddUp) {
  ValueErrors both, one;
  ASSERT_TRUE(both.add(floats({1, 2}), floats({1, 3})).ok());
  ASSERT_TRUE(both.add(floats({5}), floats({7})).ok());
  ASSERT_TRUE(one.add(floats({1, 2, 5}), floats({1, 3, 7})).ok());
  EXPECT_DOUBLE_EQ(both.error(), one.error());
  EXPECT_EQ(both.histogram(), one.histogram());
}

TEST(ValueErrors, WhatIsNotFiniteIsCountedApart) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  ValueErrors errors;
  ASSERT_TRUE(errors.add(floats({1, nan, inf, inf, 2}), floats({1, nan, inf, -inf, nan})).ok());
  EXPECT_EQ(errors.not_finite(0), 3U);
  EXPECT_EQ(errors.not_finite(1), 4U);
  EXPECT_EQ(errors.mismatched(), 2U);
  EXPECT_EQ(errors.first_not_finite(0), 1);
  EXPECT_EQ(errors.error(), 0);
}

TEST(ValueErrors, SomethingBesideNothingIsInfinitelyFar) {
  ValueErrors errors;
  ASSERT_TRUE(errors.add(floats({0, 0}), floats({0, 1})).ok());
  EXPECT_EQ(errors.error(), ValueErrors::kLargest);
}

TEST(ValueErrors, IntegersAreEqualOrNot) {
  const int32_t a[] = {1, 2, 3, 1000}, b[] = {1, 2, 3, 1001};
  ValueErrors errors;
  ASSERT_TRUE(errors.add(HostTensor::from<int32_t>(a, Dims{4}), HostTensor::from<int32_t>(b, Dims{4})).ok());
  EXPECT_DOUBLE_EQ(errors.error(), 0.25);
}

TEST(ValueErrors, OtherShapesAndKindsAreRefused) {
  ValueErrors errors;
  EXPECT_FALSE(errors.add(floats({1, 2}), floats({1})).ok());
  const int32_t whole[] = {1, 2};
  EXPECT_FALSE(errors.add(floats({1, 2}), HostTensor::from<int32_t>(whole, Dims{2})).ok());
}

ComparedValue value(const char* name, std::vector<float> a, std::vector<float> b) {
  ComparedValue made;
  made.name = name;
  made.types[0] = made.types[1] = DType::kF32;
  made.dims = Dims{static_cast<int64_t>(a.size())};
  EXPECT_TRUE(made.errors.add(floats(std::move(a)), floats(std::move(b))).ok());
  return made;
}

TEST(ComparedValues, TheFirstThatDiffersIsNamed) {
  Comparison comparison;
  comparison.batches = 1;
  comparison.tolerance = 0.01;
  comparison.values = {value("a", {1, 2}, {1, 2.001F}), value("b<", {1, 2}, {1, 3}), value("c", {1, 2}, {2, 2})};
  const Json json = comparison_json(comparison);
  EXPECT_FALSE(json["same"]);
  EXPECT_EQ(json["first_divergence"], "b<");
  EXPECT_EQ(json["differing"], 2);
  EXPECT_NE(compared_values_text(json).find("2 differ; the first in the order of execution: 'b<'"), std::string::npos);
  Json named = json;
  named["names"] = {"A", "B"};
  EXPECT_EQ(compared_values_page(named).find("b<"), std::string::npos) << "no tag begins in the data";
}

TEST(ComparedValues, AnOutputThatCannotBeComparedIsNoAgreement) {
  Comparison comparison;
  comparison.tolerance = 1;
  comparison.values = {value("y", {1, 2}, {1, 2})};
  EXPECT_TRUE(comparison_json(comparison)["same"]);
  comparison.values[0].not_comparable = "the shapes differ";
  EXPECT_TRUE(comparison_json(comparison)["same"]);
  comparison.values[0].output = true;
  EXPECT_FALSE(comparison_json(comparison)["same"]);
}

}  // namespace
}  // namespace wootz
