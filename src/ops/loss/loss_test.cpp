#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(NllLoss, WeightsAndIgnoredTargets) {
  const HostTensor x = f32({2, 2}, {-1, -2, -3, -4}), weights = f32({2}, {1, 3});
  expect_tensor(run_op("NllLoss", {x, i64({2}, {1, 0}), weights}), f32({}, {(6 + 3) / 4.0}), 1e-6);
  expect_tensor(
      run_op("NllLoss", {x, i64({2}, {1, -7})}, {{"ignore_index", int64_t{-7}}, {"reduction", std::string("none")}}),
      f32({2}, {2, 0}));
  EXPECT_FALSE(try_op("NllLoss", {x, i64({2}, {1, 2})}).ok());
}

}  // namespace
}  // namespace wootz
