#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(ShapeOf, Ranges) {
  const HostTensor x = iota(DType::kF32, {3, 4, 5});
  const auto range = [&](AttrMap attrs) { return run_op("Shape", {x}, std::move(attrs)); };
  expect_tensor(range({}), i64({3}, {3, 4, 5}));
  expect_tensor(range({{"start", int64_t{1}}}), i64({2}, {4, 5}));
  expect_tensor(range({{"end", int64_t{-1}}}), i64({2}, {3, 4}));
  expect_tensor(range({{"start", int64_t{-10}}, {"end", int64_t{10}}}), i64({3}, {3, 4, 5}));
  expect_tensor(range({{"start", int64_t{2}}, {"end", int64_t{1}}}), i64({0}, {}));
  expect_tensor(run_op("Size", {x}), i64({}, {60}));
  expect_tensor(run_op("Shape", {f32({}, {1})}), i64({0}, {}));
}

TEST(ShapeOf, SymbolicSizes) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  Value* x = g.input(DType::kF32, {n, 3, m});
  Value* size = g.add("Size", {x});
  ASSERT_TRUE(size->shape_values().has_value());
  EXPECT_TRUE(size->shape_values()->at(0) == n * m * 3);
  Value* last = g.add("Shape", {x}, {{"start", int64_t{-1}}});
  ASSERT_TRUE(last->shape_values().has_value());
  EXPECT_TRUE(last->shape_values()->at(0) == m);
}

}  // namespace
}  // namespace wootz
