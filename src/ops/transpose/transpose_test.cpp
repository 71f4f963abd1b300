#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Transpose, MovesAxes) {
  expect_tensor(run_op("Transpose", {iota(DType::kF32, {2, 3})}, {{"perm", Ints{1, 0}}}),
                f32({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect_tensor(run_op("Transpose", {iota(DType::kI32, {2, 1, 3})}, {{"perm", Ints{2, 1, 0}}}),
                i32({3, 1, 2}, {0, 3, 1, 4, 2, 5}));
  expect_tensor(run_op("Transpose", {iota(DType::kU4, {2, 3})}, {{"perm", Ints{1, 0}}}),
                make(DType::kU4, {3, 2}, {0, 3, 1, 4, 2, 5}));
  expect_tensor(run_op("Transpose", {f32({}, {5})}, {{"perm", Ints{}}}), f32({}, {5}));
  expect_tensor(run_op("Transpose", {f32({0, 2}, {})}, {{"perm", Ints{1, 0}}}), f32({2, 0}, {}));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const HostTensor x = iota(DType::kF32, {2, 3});
  EXPECT_FALSE(try_op("Transpose", {x}, {{"perm", Ints{0, 0}}}).ok());
  EXPECT_FALSE(try_op("Transpose", {x}, {{"perm", Ints{0}}}).ok());
  EXPECT_FALSE(try_op("Transpose", {x}, {{"perm", Ints{0, 2}}}).ok());
}

}  // namespace
}  // namespace wootz
