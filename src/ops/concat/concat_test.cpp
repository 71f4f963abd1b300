#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Concat, Axes) {
  const HostTensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 1}, {9, 8});
  expect_tensor(run_op("Concat", {a, b}, {{"axis", int64_t{1}}}), f32({2, 3}, {1, 2, 9, 3, 4, 8}));
  expect_tensor(run_op("Concat", {a, a}, {{"axis", int64_t{-2}}}), f32({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4}));
  expect_tensor(
      run_op("Concat", {make(DType::kU4, {3}, {1, 2, 3}), make(DType::kU4, {2}, {4, 15})}, {{"axis", int64_t{0}}}),
      make(DType::kU4, {5}, {1, 2, 3, 4, 15}));
}

TEST(Concat, Refusals) {
  const HostTensor a = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_FALSE(try_op("Concat", {a, f32({3, 1}, {9, 8, 7})}, {{"axis", int64_t{1}}}).ok());
  EXPECT_FALSE(try_op("Concat", {a, f32({2}, {9, 8})}, {{"axis", int64_t{0}}}).ok());
  EXPECT_FALSE(try_op("Concat", {a, i32({2, 2}, {1, 1, 1, 1})}, {{"axis", int64_t{0}}}).ok());
  EXPECT_FALSE(try_op("Concat", {a}, {{"axis", int64_t{2}}}).ok());
}

TEST(Concat, SymbolicSizesAdd) {
  SymbolicGraph g;
  const Dim n = g.symbol("n"), m = g.symbol("m");
  Value* y =
      g.add("Concat", {g.input(DType::kF32, {2, n}), g.input(DType::kF32, {Dim(2), m + 1})}, {{"axis", int64_t{1}}});
  EXPECT_TRUE(y->shape()[1] == n + m + 1);
}

}  // namespace
}  // namespace wootz
