#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Range, Directions) {
  expect_tensor(run_op("Range", {i64({}, {3}), i64({}, {9}), i64({}, {3})}), i64({2}, {3, 6}));
  expect_tensor(run_op("Range", {i32({}, {10}), i32({}, {4}), i32({}, {-2})}), i32({3}, {10, 8, 6}));
  expect_tensor(run_op("Range", {f32({}, {1}), f32({}, {2}), f32({}, {0.3})}), f32({4}, {1, 1.3, 1.6, 1.9}), 1e-6);
  expect_tensor(run_op("Range", {i64({}, {3}), i64({}, {3}), i64({}, {1})}), i64({0}, {}));
  expect_tensor(run_op("Range", {f32({}, {3}), f32({}, {1}), f32({}, {1})}), f32({0}, {}));
}

TEST(Range, Refusals) {
  EXPECT_FALSE(try_op("Range", {i64({}, {0}), i64({}, {9}), i64({}, {0})}).ok());
  EXPECT_FALSE(try_op("Range", {f32({}, {0}), f32({}, {9}), f32({}, {0})}).ok());
  EXPECT_FALSE(try_op("Range", {f32({}, {0}), f32({}, {1e30}), f32({}, {1})}).ok());
  EXPECT_FALSE(try_op("Range", {i64({}, {INT64_MIN}), i64({}, {9e18}), i64({}, {1})}).ok());
  EXPECT_FALSE(try_op("Range", {i64({2}, {0, 0}), i64({}, {9}), i64({}, {1})}).ok());
}

TEST(Range, UpToASize) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* size = g.add("Gather", {g.add("Shape", {g.input(DType::kF32, {n, 7})}), g.constant(i64({}, {0}))});
  Value* y = g.add("Range", {g.constant(i64({}, {0})), size, g.constant(i64({}, {1}))});
  EXPECT_TRUE(y->shape()[0] == n);
  Value* later = g.add("Range", {g.constant(i64({}, {2})), size, g.constant(i64({}, {2}))});
  EXPECT_TRUE(later->shape()[0] == dim_max(0, ceil_div(n - 2, 2)));
}

}  // namespace
}  // namespace wootz
