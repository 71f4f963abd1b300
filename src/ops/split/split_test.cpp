#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Split, EqualSizesAndUneven) {
  const HostTensor x = iota(DType::kF32, {2, 4});
  auto out = try_op("Split", {x}, {{"axis", int64_t{1}}}, 2);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  expect_tensor((*out)[0], f32({2, 2}, {0, 1, 4, 5}));
  expect_tensor((*out)[1], f32({2, 2}, {2, 3, 6, 7}));
  out = try_op("Split", {x}, {{"axis", int64_t{-1}}, {"split", Ints{1, 3}}}, 2);
  ASSERT_TRUE(out.ok());
  expect_tensor((*out)[1], f32({2, 3}, {1, 2, 3, 5, 6, 7}));
  out = try_op("Split", {iota(DType::kF32, {7})}, {{"uneven", int64_t{1}}}, 3);
  ASSERT_TRUE(out.ok());
  expect_tensor((*out)[2], f32({1}, {6}));
  out = try_op("Split", {iota(DType::kF32, {2})}, {{"uneven", int64_t{1}}}, 3);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  expect_tensor((*out)[2], f32({0}, {}));
  out = try_op("Split", {x, i64({2}, {0, 2})}, {}, 2);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)[0].dims().to_string(), "[0x4]");
  expect_tensor((*out)[1], x);
}

TEST(Split, Refusals) {
  const HostTensor x = iota(DType::kF32, {2, 4});
  EXPECT_FALSE(try_op("Split", {x}, {{"axis", int64_t{1}}}, 3).ok());
  EXPECT_FALSE(try_op("Split", {x}, {{"axis", int64_t{1}}, {"split", Ints{1, 2}}}, 2).ok());
  EXPECT_FALSE(try_op("Split", {x}, {{"axis", int64_t{1}}, {"split", Ints{4}}}, 2).ok());
  EXPECT_FALSE(try_op("Split", {x}, {{"axis", int64_t{1}}, {"split", Ints{5, -1}}}, 2).ok());
}

TEST(Split, SymbolicExtent) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Node* half = g.node("Split", {g.input(DType::kF32, {n * 2})}, {}, 2);
  EXPECT_TRUE(half->output(1)->shape()[0] == n);
  Node* shape = g.node("Split", {g.add("Shape", {g.input(DType::kF32, {n, 3})})}, {}, 2);
  ASSERT_TRUE(shape->output(0)->shape_values().has_value());
  EXPECT_TRUE(shape->output(0)->shape_values()->at(0) == n);
}

}  // namespace
}  // namespace wootz
