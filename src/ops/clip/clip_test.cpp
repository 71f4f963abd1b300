#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Clip, AttributesAndInputsAgree) {
  const HostTensor x = f32({5}, {-3, -1, 0, 1, 3}), expected = f32({5}, {-1, -1, 0, 1, 2});
  expect_tensor(run_op("Clip", {x}, {{"min", -1.0}, {"max", 2.0}}), expected);
  expect_tensor(run_op("Clip", {x, f32({}, {-1}), f32({}, {2})}), expected);
  expect_tensor(run_op("Clip", {x, HostTensor(), f32({1}, {0})}), f32({5}, {-3, -1, 0, 0, 0}));
  expect_tensor(run_op("Clip", {x, f32({}, {0})}), f32({5}, {0, 0, 0, 1, 3}));
}

TEST(Clip, CrossedBoundsGiveTheUpper) {
  expect_tensor(run_op("Clip", {f32({3}, {-2, 0, 6}), f32({}, {2}), f32({}, {1})}), f32({3}, {1, 1, 1}));
  expect_tensor(run_op("Clip", {f32({3}, {-2, 0, 6})}, {{"min", 2.0}, {"max", 1.0}}), f32({3}, {1, 1, 1}));
}

TEST(Clip, IntegersAndNan) {
  expect_tensor(run_op("Clip", {make(DType::kI8, {3}, {-100, 5, 100})}, {{"min", -50.0}, {"max", 50.0}}),
                make(DType::kI8, {3}, {-50, 5, 50}));
  expect_tensor(run_op("Clip", {i64({2}, {-7, 7}), HostTensor(), i64({}, {3})}), i64({2}, {-7, 3}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_tensor(run_op("Clip", {f32({2}, {nan, 9})}, {{"min", 0.0}, {"max", 6.0}}), f32({2}, {nan, 6}));
}

TEST(Clip, RefusesBoundsOfOtherTypeOrShape) {
  EXPECT_FALSE(try_op("Clip", {f32({1}, {1}), i32({}, {0})}).ok());
  EXPECT_FALSE(try_op("Clip", {f32({2}, {1, 2}), f32({2}, {0, 0})}).ok());
}

}  // namespace
}  // namespace wootz
