#include "base/tolerance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace wootz {
namespace {

const float kNan = std::nanf(""), kInf = std::numeric_limits<float>::infinity();

HostTensor floats(std::vector<float> values) {
  return HostTensor::from<float>(values, Dims{static_cast<int64_t>(values.size())});
}

TEST(Tolerance, GrowsWithTheReduction) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    EXPECT_GT(tolerance_for(dtype, 1), 0) << dtype_name(dtype);
    EXPECT_GT(tolerance_for(dtype, 10000), tolerance_for(dtype, 1)) << dtype_name(dtype);
    EXPECT_EQ(tolerance_for(dtype, 0), tolerance_for(dtype, 1));
  }
  EXPECT_LT(tolerance_for(DType::kF32, 4608), 1e-4);
  EXPECT_GT(tolerance_for(DType::kF32, 1), 1e-6);
  EXPECT_LT(tolerance_for(DType::kF16, 4608), 5e-3);
}

// The mean of what was normalized: nothing but rounding is left, and no scale of the result's can say how much is
// right.
TEST(Tolerance, TermsThatCancelLeaveTheirRounding) {
  const HostTensor want = floats({1.5e-8f, -1.5e-8f}), got = floats({0, -3e-8f}), wrong = floats({1e-5f, 0});
  const double noise = cancellation_noise(DType::kF32, 1, 1);
  EXPECT_FALSE(within(compare(got, want), 1e-4));
  EXPECT_TRUE(within(compare(got, want, noise), 1e-4));
  EXPECT_TRUE(within(compare_by_place(got, want, noise), 1e-4));
  EXPECT_FALSE(within(compare(wrong, want, noise), 1e-4));
  EXPECT_FALSE(within(compare_by_place(wrong, want, noise), 1e-4));
  EXPECT_GT(cancellation_noise(DType::kF32, 1, 100), noise);
  EXPECT_EQ(cancellation_noise(DType::kI32, 1, 100), 0);
  EXPECT_EQ(cancellation_noise(DType::kF32, HUGE_VAL, 100), 0);
}

TEST(Tolerance, IntegersAreExact) {
  for (const DType dtype : {DType::kI8, DType::kU64, DType::kI4, DType::kBool})
    EXPECT_EQ(tolerance_for(dtype, 1000), 0);
}

TEST(Tolerance, RoundingToIntegersLeavesAStep) {
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF32);
  e.outputs = {x};
  EXPECT_EQ(rounding_slack(e), 0);
  uint16_t q = e.push(PwOp::kQuantize, DType::kU8, x, e.constant(0.5, DType::kF32), e.constant(3, DType::kF32));
  e.outputs = {q};
  EXPECT_EQ(rounding_slack(e), 1);
  q = e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kCast, DType::kF32, q), e.constant(3, DType::kF32));
  q = e.push(PwOp::kMul, DType::kF32, q, e.constant(0.5, DType::kF32));
  e.outputs = {q};
  EXPECT_EQ(rounding_slack(e), 0.5);
  q = e.push(PwOp::kQuantize, DType::kU8, q, e.constant(0.25, DType::kF32), e.constant(0, DType::kF32));
  e.outputs = {q};
  EXPECT_EQ(rounding_slack(e), 3);  // a step of 0.5 is two of 0.25, and one of its own
  EXPECT_EQ(rounding_slack(e, 1), 0);
  const auto bytes = [](std::vector<uint8_t> v) { return HostTensor::from<uint8_t>(v, Dims{3}); };
  const Difference d = compare(bytes({1, 2, 3}), bytes({1, 4, 3}));
  EXPECT_FALSE(within(d, 0));
  EXPECT_FALSE(within(d, 0, 1));
  EXPECT_TRUE(within(d, 0, 2));
  EXPECT_FALSE(within(compare(floats({kNan}), floats({0})), 1, 1e9));
}

TEST(Compare, Floats) {
  const Difference d = compare(floats({1, 2, -3.5f}), floats({1, 2, -4}));
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.scale, 4);
  EXPECT_EQ(d.relative, 0.125);
  EXPECT_EQ(d.worst_index, 2);
  EXPECT_GT(d.cosine, 0.99);
  EXPECT_LT(d.cosine, 1);
  EXPECT_TRUE(within(d, 0.125));
  EXPECT_FALSE(within(d, 0.1));
  const Difference same = compare(floats({1, 2}), floats({1, 2}));
  EXPECT_EQ(same.worst_index, -1);
  EXPECT_DOUBLE_EQ(same.cosine, 1);
  EXPECT_TRUE(within(same, 0));
}

TEST(Compare, NonFiniteValuesMustMatch) {
  EXPECT_TRUE(within(compare(floats({kNan, kInf, -kInf, 1}), floats({kNan, kInf, -kInf, 1})), 0));
  for (const auto& [a, b] :
       std::vector<std::pair<float, float>>{{kNan, 1}, {1, kNan}, {kInf, 1}, {1, kInf}, {kInf, -kInf}, {kNan, kInf}}) {
    const Difference d = compare(floats({0, a}), floats({0, b}));
    EXPECT_TRUE(d.non_finite_mismatch) << a << ' ' << b;
    EXPECT_FALSE(within(d, 1e9));
    EXPECT_EQ(d.worst_index, 1);
  }
}

// Every code of the types of 8 and 16 bits, and what is next to infinity of the wider ones.
template <typename Bits>
void expect_first_non_finite(DType type, const std::vector<Bits>& codes) {
  int64_t found = 0;
  for (const Bits code : codes) {
    const std::array<Bits, 3> bits{0, 0, code};
    const HostTensor t = HostTensor::wrap(type, {3}, bits.data(), nullptr);
    const bool finite = std::isfinite(t.get_f64(2));
    ASSERT_EQ(first_non_finite(t), finite ? -1 : 2) << dtype_name(type) << " " << uint64_t{code};
    found += !finite;
  }
  EXPECT_GT(found, 0) << dtype_name(type);
}

template <typename Bits>
std::vector<Bits> all_codes() {
  std::vector<Bits> codes(size_t{1} << (8 * sizeof(Bits)));
  std::iota(codes.begin(), codes.end(), Bits{0});
  return codes;
}

TEST(FirstNonFinite, IsTheOneWhoseValueIs) {
  for (const DType type : {DType::kF8E4M3, DType::kF8E4M3Fnuz, DType::kF8E5M2, DType::kF8E5M2Fnuz, DType::kF8E8M0})
    expect_first_non_finite(type, all_codes<uint8_t>());
  for (const DType type : {DType::kF16, DType::kBF16}) expect_first_non_finite(type, all_codes<uint16_t>());
  expect_first_non_finite<uint32_t>(DType::kF32, {0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x7f800001u, 0x80000001u});
  constexpr uint64_t kInfinity = uint64_t{0x7ff} << 52;
  expect_first_non_finite<uint64_t>(DType::kF64, {kInfinity - 1, kInfinity, kInfinity + 1, ~uint64_t{0}, 1});
  EXPECT_EQ(first_non_finite(HostTensor::from<int32_t>(std::vector<int32_t>{-1, 0x7f800000}, {2})), -1);
}

TEST(Compare, ZerosAndOverflow) {
  EXPECT_EQ(compare(floats({0, 0}), floats({0, 0})).cosine, 1);
  EXPECT_EQ(compare(floats({1, 0}), floats({0, 0})).cosine, 0);
  EXPECT_EQ(compare(floats({0.5f}), floats({0})).relative, 0.5);
  EXPECT_TRUE(within(compare(floats({}), floats({})), 0));
  const double most = std::numeric_limits<double>::max();
  EXPECT_FALSE(within(compare(HostTensor::scalar(most), HostTensor::scalar(-most)), 1));
}

TEST(Compare, LargeIntegersAreToldApart) {
  EXPECT_FALSE(within(compare(HostTensor::scalar(INT64_MAX), HostTensor::scalar(INT64_MAX - 1)), 0));
  EXPECT_FALSE(within(compare(HostTensor::scalar(UINT64_MAX), HostTensor::scalar(UINT64_MAX - 1)), 0));
  EXPECT_EQ(compare(HostTensor::scalar(UINT64_MAX), HostTensor::scalar(uint64_t{0})).max_abs, 0x1p64);
  EXPECT_EQ(compare(HostTensor::scalar(INT64_MIN), HostTensor::scalar(INT64_MAX)).max_abs, 0x1p64);
  EXPECT_TRUE(within(compare(HostTensor::scalar(INT64_MIN), HostTensor::scalar(INT64_MIN)), 0));
}

TEST(Compare, ShapesAndTypesMustMatch) {
  EXPECT_TRUE(compare(floats({1, 2}), floats({1})).shape_mismatch);
  EXPECT_TRUE(compare(floats({1}), HostTensor::scalar(1.0f)).shape_mismatch);
  EXPECT_TRUE(compare(HostTensor::scalar(1.0), HostTensor::scalar(1.0f)).shape_mismatch);
  EXPECT_TRUE(compare(HostTensor(), HostTensor()).shape_mismatch);
  EXPECT_FALSE(within(compare(HostTensor(), HostTensor()), 1));
}

// One row of thousands, and an error of a tenth in a row of ones; the same with columns and with channels.
TEST(Compare, SmallPlacesDoNotHideBehindLargeOnes) {
  for (const size_t axis : {0, 1, 2}) {
    const Dims dims{20, 24, 28};
    HostTensor want = HostTensor::allocate(DType::kF32, dims).value(),
               got = HostTensor::allocate(DType::kF32, dims).value();
    const int64_t strides[] = {24 * 28, 28, 1};
    for (int64_t i = 0; i < want.volume(); ++i) {
      want.set_f64(i, (i / strides[axis] % dims[axis] == 3 ? 1000 : 1) * (i % 2 == 0 ? 1.0 : -0.7));
      got.set_f64(i, want.get_f64(i) * (1 + 1e-6));
    }
    EXPECT_TRUE(within(compare_by_place(got, want), 1e-5)) << axis;
    got.set_f64(5 * strides[axis], want.get_f64(5 * strides[axis]) + 0.1);
    EXPECT_TRUE(within(compare(got, want), 1e-3)) << axis;
    const Difference d = compare_by_place(got, want);
    EXPECT_FALSE(within(d, 1e-3)) << axis;
    EXPECT_EQ(d.worst_index, 5 * strides[axis]) << axis;
  }
}

// Few numbers say nothing about their scale, and what came out of a cancellation is no scale at all.
TEST(Compare, PlacesAreNotTakenForSmallerThanTheyAre) {
  HostTensor want = HostTensor::allocate(DType::kF32, {2, 4}).value();
  for (int64_t i = 0; i < 8; ++i) want.set_f64(i, i < 4 ? 1 : 1e-3);
  for (const double scale : place_scales(want)) EXPECT_EQ(scale, 1);
  want = HostTensor::allocate(DType::kF32, {2, 40}).value();
  for (int64_t i = 0; i < 80; ++i) want.set_f64(i, i < 40 ? 1 : 1e-9);
  EXPECT_EQ(place_scales(want)[0], 1);
  EXPECT_EQ(place_scales(want)[79], 1.0 / 1024);
  EXPECT_EQ(place_scales(floats({0, 0, kNan, kInf}))[2], 0);
}

}  // namespace
}  // namespace wootz
