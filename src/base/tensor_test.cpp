#include "base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wootz {
namespace {

HostTensor zeros(DType dtype, Dims dims) {
  Result<HostTensor> made = HostTensor::allocate(dtype, dims);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

TEST(HostTensor, AllocatesAlignedZeros) {
  const HostTensor t = zeros(DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
  EXPECT_EQ(t.bytes(), 60u);
  EXPECT_EQ(t.volume(), 15);
  for (const float v : t.as<float>()) EXPECT_EQ(v, 0);
  EXPECT_NE(zeros(DType::kF32, {0}).data(), nullptr);
  EXPECT_EQ(zeros(DType::kI4, {3}).bytes(), 2u);
}

TEST(HostTensor, RefusesImpossibleShapes) {
  EXPECT_EQ(HostTensor::allocate(DType::kF32, {int64_t{1} << 39, 4}).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(HostTensor::allocate(DType::kF32, {-1}).status().code(), Code::kInvalidArgument);
}

TEST(HostTensor, FromScalarAndReshape) {
  const std::vector<int32_t> values{1, 2, 3, 4, 5, 6};
  const HostTensor t = HostTensor::from<int32_t>(values, Dims{2, 3});
  EXPECT_EQ(t.dims(), (Dims{2, 3}));
  EXPECT_EQ(t.reshaped({3, 2}).as<int32_t>()[5], 6);
  EXPECT_EQ(t.reshaped({4, 2}).dims(), (Dims{2, 3}));  // other volume: unchanged
  EXPECT_EQ(HostTensor::scalar(2.5).rank(), 0);
  EXPECT_EQ(HostTensor::from<int32_t>(values, Dims{}).dims(), (Dims{6}));
  EXPECT_FALSE(HostTensor::from<int32_t>(values, Dims{7}).valid());
  EXPECT_FALSE(HostTensor().valid());
}

TEST(HostTensor, WrapKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5f);
  std::weak_ptr<std::vector<float>> watch = owner;
  {
    const HostTensor t = HostTensor::wrap(DType::kF32, {4}, owner->data(), owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(t.as<float>()[3], 1.5f);
  }
  EXPECT_TRUE(watch.expired());
}

// Every element type: each element keeps its own value, as integer and as float.
TEST(HostTensor, ElementsOfEveryType) {
  for (int d = 1; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype_bits(dtype) == 0) continue;
    SCOPED_TRACE(dtype_name(dtype));
    HostTensor t = zeros(dtype, {7});
    const bool is_bool = dtype == DType::kBool, is_scale = dtype == DType::kF8E8M0;
    const auto expected = [&](int64_t i) -> int64_t {
      return is_bool ? i % 2 : is_scale ? int64_t{1} << i % 3 : i % 2;
    };
    for (int64_t i = 6; i >= 0; --i) t.set_i64(i, expected(i));
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_EQ(t.get_i64(i), expected(i)) << i;
      EXPECT_EQ(t.get_f64(i), static_cast<double>(expected(i))) << i;
    }
    for (int64_t i = 0; i < 7; ++i) t.set_f64(i, static_cast<double>(expected(6 - i)));
    for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(t.get_i64(i), expected(6 - i)) << i;
  }
}

TEST(HostTensor, SubByteOrderAndSign) {
  HostTensor t = zeros(DType::kI4, {3});
  t.set_i64(0, 1);
  t.set_i64(1, -2);
  t.set_i64(2, 7);
  EXPECT_EQ(static_cast<const uint8_t*>(t.data())[0], 0xe1);
  EXPECT_EQ(static_cast<const uint8_t*>(t.data())[1], 0x07);
  EXPECT_EQ(t.get_i64(1), -2);
  HostTensor u = zeros(DType::kU2, {4});
  for (int64_t i = 0; i < 4; ++i) u.set_i64(i, i);
  EXPECT_EQ(static_cast<const uint8_t*>(u.data())[0], 0xe4);
}

TEST(HostTensor, ConversionsAreDefinedEverywhere) {
  HostTensor i8 = zeros(DType::kI8, {1});
  i8.set_i64(0, 300);
  EXPECT_EQ(i8.get_i64(0), 44);
  HostTensor i64 = zeros(DType::kI64, {1});
  for (const auto& [value, expected] : std::vector<std::pair<double, int64_t>>{
           {std::nan(""), 0}, {1e30, INT64_MAX}, {-1e30, INT64_MIN}, {-1.9, -1}, {1.9, 1}}) {
    i64.set_f64(0, value);
    EXPECT_EQ(i64.get_i64(0), expected) << value;
  }
  HostTensor u64 = zeros(DType::kU64, {1});
  u64.set_f64(0, 0x1p63);
  EXPECT_EQ(u64.as<uint64_t>()[0], uint64_t{1} << 63);
  EXPECT_EQ(u64.get_f64(0), 0x1p63);
  HostTensor f16 = zeros(DType::kF16, {1});
  f16.set_f64(0, 1e9);
  EXPECT_EQ(f16.get_f64(0), std::numeric_limits<double>::infinity());
  HostTensor f8 = zeros(DType::kF8E4M3, {1});
  f8.set_f64(0, 1e9);
  EXPECT_EQ(f8.get_f64(0), 448);
  HostTensor flag = zeros(DType::kBool, {1});
  flag.set_f64(0, 0.25);
  EXPECT_EQ(flag.get_i64(0), 1);
}

}  // namespace
}  // namespace wootz
