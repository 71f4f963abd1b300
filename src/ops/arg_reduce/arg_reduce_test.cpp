#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap by(const char* kind, int64_t axis, int64_t keep = 0, int64_t last = 0) {
  return {{"kind", std::string(kind)}, {"axis", axis}, {"keepdims", keep}, {"select_last", last}};
}

TEST(ArgReduce, FirstAndLast) {
  const HostTensor x = f32({2, 3}, {2, 2, 1, 3, 10, 10});
  expect_tensor(run_op("ArgReduce", {x}, by("argmax", 1)), i64({2}, {0, 1}));
  expect_tensor(run_op("ArgReduce", {x}, by("argmax", -1, 1, 1)), i64({2, 1}, {1, 2}));
  expect_tensor(run_op("ArgReduce", {x}, by("argmin", 0)), i64({3}, {0, 0, 0}));
  expect_tensor(run_op("ArgReduce", {i32({4}, {5, -7, -7, 5})}, by("argmin", 0, 0, 1)), i64({}, {2}));
  expect_tensor(run_op("ArgReduce", {make(DType::kU8, {2}, {100, 200})}, by("argmax", 0)), i64({}, {1}));
}

TEST(ArgReduce, NanIsTheExtreme) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_tensor(run_op("ArgReduce", {f32({3}, {5, nan, 9})}, by("argmax", 0)), i64({}, {1}));
  expect_tensor(run_op("ArgReduce", {f32({3}, {5, nan, 9})}, by("argmin", 0)), i64({}, {1}));
}

TEST(ArgReduce, Refusals) {
  EXPECT_FALSE(try_op("ArgReduce", {f32({0}, {})}, by("argmax", 0)).ok());
  EXPECT_FALSE(try_op("ArgReduce", {f32({1}, {1})}, by("argmax", 1)).ok());
  EXPECT_FALSE(try_op("ArgReduce", {f32({1}, {1})}, by("argsort", 0)).ok());
}

}  // namespace
}  // namespace wootz
