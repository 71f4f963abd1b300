#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Expand, BothSidesBroadcast) {
  const HostTensor x = f32({2, 1}, {1, 2});
  expect_tensor(run_op("Expand", {x, i64({2}, {2, 3})}), f32({2, 3}, {1, 1, 1, 2, 2, 2}));
  expect_tensor(run_op("Expand", {x, i64({3}, {2, 1, 1})}), f32({2, 2, 1}, {1, 2, 1, 2}));
  expect_tensor(run_op("Expand", {f32({3}, {1, 2, 3}), i64({1}, {1})}), f32({3}, {1, 2, 3}));
  expect_tensor(run_op("Expand", {f32({1}, {1}), i64({1}, {0})}), f32({0}, {}));
  EXPECT_FALSE(try_op("Expand", {f32({3}, {1, 2, 3}), i64({1}, {2})}).ok());
  EXPECT_FALSE(try_op("Expand", {f32({1}, {1}), i64({1}, {-1})}).ok());
}

TEST(Expand, SymbolicShape) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 7})});
  Value* y = g.add("Expand", {g.input(DType::kF32, {1, 1}), shape});
  EXPECT_EQ(shape_to_string(y->shape()), shape_to_string({n, Dim(7)}));
}

}  // namespace
}  // namespace wootz
