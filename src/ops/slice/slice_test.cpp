#include "ops/slice/slice_range.h"

#include <random>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap range(Ints starts, Ints ends, Ints axes, Ints steps) {
  return {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
}

TEST(Slice, RangesStepsAndDirections) {
  const HostTensor x = iota(DType::kF32, {6});
  const auto cut = [&](int64_t s, int64_t e, int64_t step) {
    return run_op("Slice", {x}, range({s}, {e}, {0}, {step}));
  };
  expect_tensor(cut(1, 4, 1), f32({3}, {1, 2, 3}));
  expect_tensor(cut(-2, INT64_MAX, 1), f32({2}, {4, 5}));
  expect_tensor(cut(0, 6, 4), f32({2}, {0, 4}));
  expect_tensor(cut(-1, INT64_MIN, -2), f32({3}, {5, 3, 1}));
  expect_tensor(cut(100, -100, -3), f32({2}, {5, 2}));
  expect_tensor(cut(4, 1, 1), f32({0}, {}));
  expect_tensor(cut(0, 6, INT64_MAX), f32({1}, {0}));
  expect_tensor(cut(5, INT64_MIN, INT64_MIN), f32({1}, {5}));
  expect_tensor(run_op("Slice", {iota(DType::kI32, {2, 3})}, range({1}, {3}, {-1}, {1})), i32({2, 2}, {1, 2, 4, 5}));
}

TEST(Slice, InputsInsteadOfAttributes) {
  const HostTensor x = iota(DType::kF32, {3, 3});
  expect_tensor(run_op("Slice", {x, i64({2}, {0, 1}), i64({2}, {2, 3})}), f32({2, 2}, {1, 2, 4, 5}));
  expect_tensor(run_op("Slice", {x, i32({1}, {2}), i32({1}, {-10}), i32({1}, {1}), i32({1}, {-2})}),
                f32({3, 2}, {2, 0, 5, 3, 8, 6}));
}

TEST(Slice, Refusals) {
  const HostTensor x = iota(DType::kF32, {6});
  EXPECT_FALSE(try_op("Slice", {x}, range({0}, {1}, {0}, {0})).ok());
  EXPECT_FALSE(try_op("Slice", {x}, range({0}, {1}, {1}, {1})).ok());
  EXPECT_FALSE(try_op("Slice", {x}, range({0, 0}, {1, 1}, {0, -1}, {1, 1})).ok());
  EXPECT_FALSE(try_op("Slice", {x}, range({0, 0}, {1}, {0}, {1})).ok());
  EXPECT_FALSE(try_op("Slice", {x}).ok());
}

// The expression must give what the numbers give, for every extent.
TEST(Slice, SymbolicCountsAgreeWithNumbers) {
  Graph graph("g");
  const Dim n = Dim::symbol(graph.add_symbol({.name = "n"})), m = Dim::symbol(graph.add_symbol({.name = "m"}));
  const int64_t bounds[] = {INT64_MIN, -100, -4, -3, -1, 0, 1, 2, 5, 100, INT32_MAX, INT64_MAX};
  for (int64_t start : bounds)
    for (int64_t end : bounds)
      for (int64_t step : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{-1}, int64_t{-2}}) {
        const std::optional<Dim> count = ops::slice_count(n, start, end, step, &graph);
        ASSERT_TRUE(count.has_value());
        for (int64_t extent = 0; extent < 9; ++extent) {
          const auto value = count->evaluate([&](SymbolId) { return extent; });
          ASSERT_TRUE(value.has_value());
          EXPECT_EQ(*value, ops::slice_range(extent, start, end, step).count)
              << start << ":" << end << ":" << step << " of " << extent << " as " << count->to_string();
        }
      }
  for (int64_t step : {int64_t{1}, int64_t{2}, int64_t{-1}}) {
    const std::optional<Dim> count = ops::slice_count(n, m, n, step, &graph);
    ASSERT_TRUE(count.has_value());
    for (int64_t extent = 0; extent < 6; ++extent)
      for (int64_t start = 0; start < 8; ++start) {
        const auto value = count->evaluate([&](SymbolId id) { return id == 0 ? extent : start; });
        EXPECT_EQ(value.value_or(-1), ops::slice_range(extent, start, extent, step).count) << count->to_string();
      }
  }
  EXPECT_FALSE(ops::slice_count(n, n - m, n, 1, &graph).has_value()) << "the start may count from the end";
}

TEST(Slice, SymbolicShapes) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  Value* x = g.input(DType::kF32, {n, 8});
  EXPECT_TRUE(g.add("Slice", {x}, range({0}, {INT64_MAX}, {0}, {1}))->shape()[0] == n);
  Value* shape = g.add("Shape", {g.input(DType::kF32, {m, n})});
  Value* ends = g.add("Slice", {shape}, range({0}, {1}, {0}, {1}));
  ASSERT_TRUE(ends->shape_values().has_value());
  Value* y = g.add("Slice", {x, g.ints({0}), ends});
  EXPECT_TRUE(y->shape()[0] == dim_min(m, n));
  Value* reversed = g.add("Slice", {shape}, range({-1}, {-10}, {0}, {-1}));
  ASSERT_TRUE(reversed->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*reversed->shape_values()), shape_to_string({n, m}));
}

}  // namespace
}  // namespace wootz
