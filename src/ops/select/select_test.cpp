#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Where, ChoosesAndBroadcasts) {
  expect_tensor(run_op("Where", {boolean({2, 2}, {1, 0, 1, 1}), f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {9, 8, 7, 6})}),
                f32({2, 2}, {1, 8, 3, 4}));
  expect_tensor(run_op("Where", {boolean({2, 1}, {1, 0}), i64({3}, {1, 2, 3}), i64({}, {-1})}),
                i64({2, 3}, {1, 2, 3, -1, -1, -1}));
}

TEST(Where, NanInTheOtherBranchDoesNotLeak) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_tensor(run_op("Where", {boolean({2}, {1, 0}), f32({2}, {1, nan}), f32({2}, {nan, 2})}), f32({2}, {1, 2}));
}

TEST(Where, RefusesWrongTypes) {
  EXPECT_FALSE(try_op("Where", {f32({1}, {1}), f32({1}, {1}), f32({1}, {1})}).ok());
  EXPECT_FALSE(try_op("Where", {boolean({1}, {1}), f32({1}, {1}), i32({1}, {1})}).ok());
}

// The way exporters write "expand to this shape, -1 keeps": the sizes stay known.
TEST(Where, ShapeValuesChosenByKnownConditions) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 6})});
  Value* unequal = g.add("Equal", {g.ints({-1, 4}), g.ints({-1, -1})});
  Value* chosen = g.add("Where", {unequal, shape, g.ints({7, 8})});
  ASSERT_TRUE(chosen->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*chosen->shape_values()), shape_to_string({n, Dim(8)}));
  Value* kept = g.add("Where", {g.add("Equal", {shape, g.ints({-1, -1})}), g.ints({1, 1}), shape});
  ASSERT_TRUE(kept->shape_values().has_value()) << "a size is never -1";
  EXPECT_EQ(shape_to_string(*kept->shape_values()), shape_to_string({n, Dim(6)}));
}

}  // namespace
}  // namespace wootz
