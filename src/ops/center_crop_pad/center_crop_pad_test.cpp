#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(CenterCropPad, OddDifferences) {
  const HostTensor x = f32({5}, {1, 2, 3, 4, 5});
  expect_tensor(run_op("CenterCropPad", {x, i64({1}, {2})}), f32({2}, {2, 3}));
  expect_tensor(run_op("CenterCropPad", {x, i64({1}, {3})}), f32({3}, {2, 3, 4}));
  expect_tensor(run_op("CenterCropPad", {x, i64({1}, {8})}), f32({8}, {0, 1, 2, 3, 4, 5, 0, 0}));
  expect_tensor(run_op("CenterCropPad", {f32({1, 2}, {1, 2}), i32({1}, {3})}, {{"axes", Ints{0}}}),
                f32({3, 2}, {0, 0, 1, 2, 0, 0}));
  EXPECT_FALSE(try_op("CenterCropPad", {x, i64({2}, {2, 2})}).ok());
  EXPECT_FALSE(try_op("CenterCropPad", {x, i64({1}, {-2})}).ok());
}

}  // namespace
}  // namespace wootz
