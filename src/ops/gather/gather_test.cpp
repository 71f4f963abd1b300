#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Gather, AxesAndNegativeIndices) {
  const HostTensor x = iota(DType::kF32, {3, 2});
  expect_tensor(run_op("Gather", {x, i64({2}, {2, -3})}), f32({2, 2}, {4, 5, 0, 1}));
  expect_tensor(run_op("Gather", {x, i32({1, 2}, {1, 1})}, {{"axis", int64_t{1}}}), f32({3, 1, 2}, {1, 1, 3, 3, 5, 5}));
  expect_tensor(run_op("Gather", {x, i64({}, {-1})}, {{"axis", int64_t{0}}}), f32({2}, {4, 5}));
  expect_tensor(run_op("Gather", {x, i64({0}, {})}), f32({0, 2}, {}));
}

TEST(Gather, OutOfRangeIsAnError) {
  const HostTensor x = iota(DType::kF32, {3, 2});
  const auto out = try_op("Gather", {x, i64({1}, {3})});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.status().message().find("index 3"), std::string::npos) << out.status().message();
  EXPECT_FALSE(try_op("Gather", {x, i64({1}, {-4})}).ok());
  EXPECT_FALSE(try_op("GatherElements", {x, i64({1, 1}, {5})}).ok());
  EXPECT_FALSE(try_op("GatherND", {x, i64({1, 1}, {-4})}).ok());
  EXPECT_FALSE(try_op("Gather", {f32({0}, {}), i64({1}, {0})}).ok());
  EXPECT_FALSE(try_op("Gather", {x, f32({1}, {0})}).ok());
}

TEST(Gather, Elements) {
  const HostTensor x = f32({2, 2}, {1, 2, 3, 4});
  expect_tensor(run_op("GatherElements", {x, i64({2, 2}, {0, 0, 1, 0})}, {{"axis", int64_t{1}}}),
                f32({2, 2}, {1, 1, 4, 3}));
  expect_tensor(run_op("GatherElements", {iota(DType::kF32, {3, 3}), i64({2, 3}, {-1, -2, 0, -2, 0, 0})}),
                f32({2, 3}, {6, 4, 2, 3, 1, 2}));
}

TEST(Gather, Nd) {
  const HostTensor x = iota(DType::kF32, {2, 2, 2});
  expect_tensor(run_op("GatherND", {x, i64({2, 3}, {0, 0, 1, 1, 0, 1})}), f32({2}, {1, 5}));
  expect_tensor(run_op("GatherND", {x, i64({2, 1, 2}, {0, 1, 1, 0})}), f32({2, 1, 2}, {2, 3, 4, 5}));
  expect_tensor(run_op("GatherND", {x, i64({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}}), f32({2, 2}, {2, 3, 4, 5}));
  EXPECT_FALSE(try_op("GatherND", {x, i64({1, 4}, {0, 0, 0, 0})}).ok());
  EXPECT_FALSE(try_op("GatherND", {x, i64({1, 1}, {0})}, {{"batch_dims", int64_t{2}}}).ok());
}

TEST(Gather, EntriesOfAShapeStayKnown) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 3, m})});
  Value* one = g.add("Gather", {shape, g.constant(i64({}, {-1}))});
  ASSERT_TRUE(one->shape_values().has_value());
  EXPECT_TRUE(one->shape_values()->at(0) == m);
  Value* two = g.add("Gather", {shape, g.ints({2, 0})});
  ASSERT_TRUE(two->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*two->shape_values()), shape_to_string({m, n}));
}

}  // namespace
}  // namespace wootz
