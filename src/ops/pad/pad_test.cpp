#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap with(Ints pads, const char* mode) { return {{"pads", pads}, {"mode", std::string(mode)}}; }

TEST(Pad, Modes) {
  const HostTensor x = f32({4}, {1, 2, 3, 4});
  expect_tensor(run_op("Pad", {x}, with({2, 1}, "constant")), f32({7}, {0, 0, 1, 2, 3, 4, 0}));
  expect_tensor(run_op("Pad", {x}, with({2, 1}, "edge")), f32({7}, {1, 1, 1, 2, 3, 4, 4}));
  expect_tensor(run_op("Pad", {x}, with({2, 1}, "reflect")), f32({7}, {3, 2, 1, 2, 3, 4, 3}));
  expect_tensor(run_op("Pad", {x}, with({2, 1}, "wrap")), f32({7}, {3, 4, 1, 2, 3, 4, 1}));
  expect_tensor(run_op("Pad", {f32({2}, {1, 2})}, with({3, 3}, "reflect")), f32({8}, {2, 1, 2, 1, 2, 1, 2, 1}));
  expect_tensor(run_op("Pad", {f32({1}, {7})}, with({1, 2}, "reflect")), f32({4}, {7, 7, 7, 7}));
  AttrMap filled = with({0, 1, 1, 0}, "constant");
  filled["value"] = 9.0;
  expect_tensor(run_op("Pad", {f32({1, 2}, {1, 2})}, filled), f32({2, 3}, {9, 1, 2, 9, 9, 9}));
}

TEST(Pad, NegativePadsCrop) {
  const HostTensor x = iota(DType::kF32, {2, 3});
  expect_tensor(run_op("Pad", {x}, with({0, -1, 0, 1}, "constant")), f32({2, 3}, {1, 2, 0, 4, 5, 0}));
  expect_tensor(run_op("Pad", {x}, with({-1, 0, 0, -2}, "edge")), f32({1, 1}, {3}));
  expect_tensor(run_op("Pad", {x}, with({-5, 0, 5, 0}, "constant")), f32({2, 3}, {0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(try_op("Pad", {x}, with({-2, 0, -1, 0}, "constant")).ok());
}

TEST(Pad, InputsAndAxes) {
  const HostTensor x = i64({1, 2}, {1, 2});
  expect_tensor(run_op("Pad", {x, i64({2}, {1, 0}), i64({}, {1LL << 40}), i64({1}, {-1})}),
                i64({1, 3}, {1LL << 40, 1, 2}));
  expect_tensor(run_op("Pad", {x, i64({4}, {0, 0, 1, 0})}), i64({2, 2}, {1, 2, 0, 0}));
}

TEST(Pad, Refusals) {
  const HostTensor x = iota(DType::kF32, {2, 3});
  EXPECT_FALSE(try_op("Pad", {x}, with({1, 1}, "constant")).ok());
  EXPECT_FALSE(try_op("Pad", {x}, with({1, 1, 1, 1}, "mirror")).ok());
  EXPECT_FALSE(try_op("Pad", {f32({0}, {})}, with({1, 1}, "edge")).ok());
  EXPECT_FALSE(try_op("Pad", {x, i64({4}, {0, 0, 0, 0}), i64({}, {0})}).ok());
}

TEST(Pad, SymbolicSizes) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* y = g.add("Pad", {g.input(DType::kF32, {n, 3})}, with({1, 0, 2, -1}, "constant"));
  EXPECT_EQ(shape_to_string(y->shape()), shape_to_string({n + 3, Dim(2)}));
}

}  // namespace
}  // namespace wootz
