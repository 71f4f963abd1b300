#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Det, SmallMatrices) {
  expect_tensor(run_op("Det", {f32({2, 2}, {0, 1, 2, 3})}), f32({}, {-2}), 1e-6);
  expect_tensor(run_op("Det", {f32({2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4})}), f32({2}, {-2, 0}), 1e-6);
  expect_tensor(run_op("Det", {f32({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4})}), f32({}, {18}), 1e-5);
  expect_tensor(run_op("Det", {f32({1, 1}, {-5})}), f32({}, {-5}));
  EXPECT_FALSE(try_op("Det", {f32({2, 1}, {1, 2})}).ok());
  EXPECT_FALSE(try_op("Det", {f32({2}, {1, 2})}).ok());
}

}  // namespace
}  // namespace wootz
