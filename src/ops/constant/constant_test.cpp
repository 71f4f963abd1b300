#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(ConstantOfShape, FillsAnyType) {
  expect_tensor(run_op("ConstantOfShape", {i64({2}, {2, 1})}), f32({2, 1}, {0, 0}));
  expect_tensor(run_op("ConstantOfShape", {i64({1}, {3})}, {{"value", make(DType::kI4, {1}, {-3})}}),
                make(DType::kI4, {3}, {-3, -3, -3}));
  expect_tensor(run_op("ConstantOfShape", {i64({0}, {})}, {{"value", i64({1}, {7})}}), i64({}, {7}));
  expect_tensor(run_op("ConstantOfShape", {i64({1}, {0})}), f32({0}, {}));
  EXPECT_FALSE(try_op("ConstantOfShape", {i64({1}, {-1})}).ok());
  EXPECT_FALSE(try_op("ConstantOfShape", {i64({2}, {1LL << 40, 1LL << 40})}).ok());
  EXPECT_FALSE(try_op("ConstantOfShape", {i64({1}, {1})}, {{"value", i64({2}, {7, 7})}}).ok());
}

TEST(ConstantOfShape, SymbolicShape) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 7})});
  EXPECT_EQ(shape_to_string(g.add("ConstantOfShape", {shape})->shape()), shape_to_string({n, Dim(7)}));
}

}  // namespace
}  // namespace wootz
