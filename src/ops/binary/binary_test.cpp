#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Binary, Broadcasts) {
  const HostTensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor(run_op("Add", {a, f32({3}, {10, 20, 30})}), f32({2, 3}, {11, 22, 33, 14, 25, 36}));
  expect_tensor(run_op("Sub", {a, f32({2, 1}, {1, 2})}), f32({2, 3}, {0, 1, 2, 2, 3, 4}));
  expect_tensor(run_op("Mul", {f32({2, 1}, {2, 3}), f32({1, 2}, {5, 7})}), f32({2, 2}, {10, 14, 15, 21}));
  const auto bad = try_op("Add", {a, f32({2}, {1, 2})});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("'n' (Add)"), std::string::npos) << bad.status().message();
  EXPECT_FALSE(try_op("Add", {a, i32({3}, {1, 2, 3})}).ok());
}

TEST(Binary, IntegerDivisionTruncates) {
  expect_tensor(run_op("Div", {i32({4}, {7, -7, 7, -7}), i32({4}, {2, 2, -2, -2})}), i32({4}, {3, -3, -3, 3}));
  expect_tensor(run_op("Div", {make(DType::kU8, {2}, {255, 3}), make(DType::kU8, {2}, {2, 4})}),
                make(DType::kU8, {2}, {127, 0}));
}

TEST(Binary, ModFollowsDivisorFmodFollowsDividend) {
  const HostTensor a = i64({4}, {-4, 7, 5, -5}), b = i64({4}, {3, -3, 3, -3});
  expect_tensor(run_op("Mod", {a, b}), i64({4}, {2, -2, 2, -2}));
  expect_tensor(run_op("Mod", {a, b}, {{"fmod", int64_t{1}}}), i64({4}, {-1, 1, 2, -2}));
  const HostTensor x = f32({3}, {-4.5, 7.5, 5}), y = f32({3}, {3, -3, 0});
  expect_tensor(run_op("Mod", {x, y}, {{"fmod", int64_t{1}}}), f32({3}, {-1.5, 1.5, kNan}), 1e-6);
  expect_tensor(run_op("Mod", {x, y}), f32({3}, {1.5, -1.5, kNan}), 1e-6);
}

TEST(Binary, PowMixesTypes) {
  expect_tensor(run_op("Pow", {f32({3}, {1, 2, 3}), i64({3}, {4, 5, 6})}), f32({3}, {1, 32, 729}), 1e-6);
  expect_tensor(run_op("Pow", {i32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})}), i32({3}, {1, 32, 729}));
  expect_tensor(run_op("Pow", {i64({3}, {-2, 3, 10}), i32({3}, {3, 0, 18})}), i64({3}, {-8, 1, 1e18}));
  expect_tensor(run_op("Pow", {f32({2}, {2, 4}), f32({}, {0.5})}), f32({2}, {1.41421356, 2}), 1e-6);
}

TEST(Binary, MinMaxCarryNaN) {
  expect_tensor(run_op("Max", {f32({3}, {1, kNan, 5}), f32({3}, {2, 1, kNan})}), f32({3}, {2, kNan, kNan}));
  expect_tensor(run_op("Min", {f32({3}, {1, kNan, -kInf}), f32({3}, {2, 1, 0})}), f32({3}, {1, kNan, -kInf}));
}

TEST(Binary, ShiftsOutsideTheWidth) {
  const AttrMap left{{"direction", std::string("LEFT")}}, right{{"direction", std::string("RIGHT")}};
  const HostTensor u = make(DType::kU8, {4}, {16, 4, 1, 255}), by = make(DType::kU8, {4}, {1, 2, 3, 8});
  expect_tensor(run_op("BitShift", {u, by}, right), make(DType::kU8, {4}, {8, 1, 0, 0}));
  expect_tensor(run_op("BitShift", {u, by}, left), make(DType::kU8, {4}, {32, 16, 8, 0}));
  const HostTensor s = i32({4}, {-8, -8, 8, 1}), amount = i32({4}, {1, 40, 40, 31});
  expect_tensor(run_op("BitShift", {s, amount}, right), i32({4}, {-4, -1, 0, 0}));
  expect_tensor(run_op("BitShift", {s, amount}, left), i32({4}, {-16, 0, 0, -2147483648.0}));
  expect_tensor(run_op("BitShift", {s, i32({4}, {-1, -1, -1, -1})}, right), i32({4}, {-1, -1, 0, 0}));
  EXPECT_FALSE(try_op("BitShift", {u, by}, {{"direction", std::string("UP")}}).ok());
}

TEST(Binary, Comparisons) {
  const HostTensor a = f32({3}, {1, 2, kNan}), b = f32({3}, {2, 2, kNan});
  expect_tensor(run_op("Less", {a, b}), boolean({3}, {1, 0, 0}));
  expect_tensor(run_op("LessOrEqual", {a, b}), boolean({3}, {1, 1, 0}));
  expect_tensor(run_op("Equal", {a, b}), boolean({3}, {0, 1, 0}));
  expect_tensor(run_op("Greater", {make(DType::kU8, {2}, {200, 1}), make(DType::kU8, {2}, {100, 2})}),
                boolean({2}, {1, 0}));
  expect_tensor(run_op("Xor", {boolean({4}, {0, 0, 1, 1}), boolean({4}, {0, 1, 0, 1})}), boolean({4}, {0, 1, 1, 0}));
}

TEST(Binary, PReluAndBits) {
  expect_tensor(run_op("PRelu", {f32({2, 2}, {-1, 2, -3, -4}), f32({2}, {0.5, 0.25})}),
                f32({2, 2}, {-0.5, 2, -1.5, -1}));
  expect_tensor(run_op("BitwiseXor", {i32({2}, {12, -1}), i32({2}, {10, 5})}), i32({2}, {6, -6}));
}

TEST(Binary, ShapeValuesPassThrough) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 6})});
  Value* doubled = g.add("Mul", {shape, g.ints({2, 3})});
  ASSERT_TRUE(doubled->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*doubled->shape_values()), shape_to_string({n * 2, Dim(18)}));
}

}  // namespace
}  // namespace wootz
