#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(NonZero, ColumnsOfIndices) {
  expect_tensor(run_op("NonZero", {boolean({2, 2}, {1, 0, 1, 1})}), i64({2, 3}, {0, 1, 1, 0, 0, 1}));
  expect_tensor(run_op("NonZero", {f32({2}, {0, -0.0})}), i64({1, 0}, {}));
  expect_tensor(run_op("NonZero", {f32({2}, {std::numeric_limits<double>::quiet_NaN(), 0.25})}), i64({1, 2}, {0, 1}));
  EXPECT_EQ(run_op("NonZero", {f32({}, {5})}).dims().to_string(), "[0x1]");
}

TEST(NonZero, SizeIsASymbolWithABound) {
  SymbolicGraph g;
  Value* y = g.add("NonZero", {g.input(DType::kBool, {2, 5})});
  SymbolId id = 0;
  ASSERT_TRUE(y->shape()[1].is_symbol(&id));
  EXPECT_EQ(g.graph.symbols()[static_cast<size_t>(id)].upper_bound, 10);
  EXPECT_TRUE(y->shape()[0] == Dim(2));
}

}  // namespace
}  // namespace wootz
