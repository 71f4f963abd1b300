#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Unary, RoundsHalfToEven) {
  expect_tensor(run_op("Round", {f32({6}, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5})}), f32({6}, {-2, -2, 0, 0, 2, 2}));
  expect_tensor(run_op("Floor", {f32({3}, {-1.5, 1.5, 2})}), f32({3}, {-2, 1, 2}));
  expect_tensor(run_op("Ceil", {f32({3}, {-1.5, 1.5, 2})}), f32({3}, {-1, 2, 2}));
}

TEST(Unary, KnownValues) {
  expect_tensor(run_op("Erf", {f32({3}, {0, 1, -2})}), f32({3}, {0, 0.8427007929, -0.9953222650}), 1e-6);
  expect_tensor(run_op("Exp", {f32({2}, {0, 1})}), f32({2}, {1, 2.718281828}), 1e-6);
  expect_tensor(run_op("Log", {f32({3}, {1, 0, -1})}), f32({3}, {0, -kInf, kNan}), 1e-6);
  expect_tensor(run_op("Sqrt", {f32({2}, {9, -1})}), f32({2}, {3, kNan}), 1e-6);
  expect_tensor(run_op("Reciprocal", {f32({2}, {4, -0.5})}), f32({2}, {0.25, -2}), 1e-6);
  expect_tensor(run_op("Acosh", {f32({1}, {1.5430806348})}), f32({1}, {1}), 1e-5);
  expect_tensor(run_op("Atanh", {f32({1}, {0.7615941559})}), f32({1}, {1}), 1e-5);
}

TEST(Unary, Integers) {
  expect_tensor(run_op("Abs", {i32({3}, {-3, 0, 7})}), i32({3}, {3, 0, 7}));
  expect_tensor(run_op("Sign", {i64({3}, {-3, 0, 7})}), i64({3}, {-1, 0, 1}));
  expect_tensor(run_op("BitwiseNot", {make(DType::kU8, {2}, {0, 5})}), make(DType::kU8, {2}, {255, 250}));
  expect_tensor(run_op("BitwiseNot", {i32({2}, {0, 5})}), i32({2}, {-1, -6}));
  expect_tensor(run_op("Not", {boolean({2}, {0, 1})}), boolean({2}, {1, 0}));
}

TEST(Unary, NonFinite) {
  const HostTensor x = f32({4}, {kInf, -kInf, kNan, 1});
  expect_tensor(run_op("IsNaN", {x}), boolean({4}, {0, 0, 1, 0}));
  expect_tensor(run_op("IsInf", {x}), boolean({4}, {1, 1, 0, 0}));
  expect_tensor(run_op("IsInf", {x}, {{"detect_negative", int64_t{0}}}), boolean({4}, {1, 0, 0, 0}));
  expect_tensor(run_op("IsInf", {x}, {{"detect_positive", int64_t{0}}}), boolean({4}, {0, 1, 0, 0}));
}

TEST(Unary, RefusesWrongTypes) {
  const auto sqrt_of_ints = try_op("Sqrt", {i32({1}, {4})});
  ASSERT_FALSE(sqrt_of_ints.ok());
  EXPECT_NE(sqrt_of_ints.status().message().find("i32"), std::string::npos) << sqrt_of_ints.status().message();
  EXPECT_FALSE(try_op("Not", {f32({1}, {4})}).ok());
}

}  // namespace
}  // namespace wootz
