#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Col2Im, OverlappingBlocksAdd) {
  // One channel, image of 3, blocks of 2: positions 0 and 1 share the middle pixel.
  expect_tensor(run_op("Col2Im", {f32({1, 2, 2}, {1, 2, 10, 20}), i64({1}, {3}), i64({1}, {2})}),
                f32({1, 1, 3}, {1, 12, 20}));
  // Stride 2 does not overlap.
  expect_tensor(
      run_op("Col2Im", {i32({1, 2, 2}, {1, 2, 10, 20}), i64({1}, {4}), i64({1}, {2})}, {{"strides", Ints{2}}}),
      i32({1, 1, 4}, {1, 10, 2, 20}));
  // Dilation 2: a block covers pixels p and p + 2.
  expect_tensor(
      run_op("Col2Im", {f32({1, 2, 2}, {1, 2, 10, 20}), i64({1}, {4}), i64({1}, {2})}, {{"dilations", Ints{2}}}),
      f32({1, 1, 4}, {1, 2, 10, 20}));
  // What falls into the padding is lost.
  expect_tensor(run_op("Col2Im", {f32({1, 2, 2}, {1, 2, 10, 20}), i64({1}, {2}), i64({1}, {2})},
                       {{"strides", Ints{2}}, {"pads", Ints{1, 1}}}),
                f32({1, 1, 2}, {10, 2}));
}

TEST(Col2Im, Refusals) {
  const HostTensor x = f32({1, 2, 2}, {1, 2, 10, 20});
  EXPECT_FALSE(try_op("Col2Im", {x, i64({1}, {4}), i64({1}, {2})}, {}, 1, true).ok());
  EXPECT_FALSE(try_op("Col2Im", {x, i64({1}, {3}), i64({1}, {3})}, {}, 1, true).ok());
  EXPECT_FALSE(try_op("Col2Im", {x, i64({1}, {3}), i64({1}, {0})}, {}, 1, true).ok());
  EXPECT_FALSE(try_op("Col2Im", {x, i64({1}, {3}), i64({1}, {2})}, {{"strides", Ints{0}}}, 1, true).ok());
}

}  // namespace
}  // namespace wootz
