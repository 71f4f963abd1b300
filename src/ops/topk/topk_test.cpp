#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(TopK, ValuesIndicesAndTies) {
  const HostTensor x = f32({2, 4}, {1, 5, 5, 2, 9, 8, 9, 9});
  auto out = try_op("TopK", {x}, {{"k", int64_t{3}}}, 2);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  expect_tensor((*out)[0], f32({2, 3}, {5, 5, 2, 9, 9, 9}));
  expect_tensor((*out)[1], i64({2, 3}, {1, 2, 3, 0, 2, 3}));
  out = try_op("TopK", {x, i64({1}, {2})}, {{"largest", int64_t{0}}}, 2);
  ASSERT_TRUE(out.ok());
  expect_tensor((*out)[0], f32({2, 2}, {1, 2, 8, 9}));
  expect_tensor((*out)[1], i64({2, 2}, {0, 3, 1, 0}));
  out = try_op("TopK", {x}, {{"k", int64_t{1}}, {"axis", int64_t{0}}}, 2);
  ASSERT_TRUE(out.ok());
  expect_tensor((*out)[1], i64({1, 4}, {1, 1, 1, 1}));
}

TEST(TopK, UnsignedAndNan) {
  expect_tensor(run_op("TopK", {make(DType::kU8, {3}, {3, 200, 100})}, {{"k", int64_t{2}}}, 0, 2),
                make(DType::kU8, {2}, {200, 100}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_tensor(run_op("TopK", {f32({4}, {1, nan, 3, nan})}, {{"k", int64_t{3}}}, 1, 2), i64({3}, {1, 3, 2}));
  expect_tensor(run_op("TopK", {f32({3}, {nan, 2, 1})}, {{"k", int64_t{2}}, {"largest", int64_t{0}}}, 0, 2),
                f32({2}, {1, 2}));
}

TEST(TopK, BoundsOfK) {
  const HostTensor x = f32({3}, {1, 2, 3});
  expect_tensor(run_op("TopK", {x}, {{"k", int64_t{0}}}, 1, 2), i64({0}, {}));
  EXPECT_FALSE(try_op("TopK", {x}, {{"k", int64_t{4}}}, 2).ok());
  EXPECT_FALSE(try_op("TopK", {x}, {{"k", int64_t{-1}}}, 2).ok());
  EXPECT_FALSE(try_op("TopK", {x}, {}, 2).ok());
}

}  // namespace
}  // namespace wootz
