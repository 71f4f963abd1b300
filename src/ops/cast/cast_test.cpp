#include <limits>

#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

AttrMap to(DType dtype) { return {{"to", std::string(dtype_name(dtype))}}; }

TEST(Cast, FloatToIntegerTruncates) {
  expect_tensor(run_op("Cast", {f32({4}, {-2.7, -0.5, 0.5, 2.7})}, to(DType::kI32)), i32({4}, {-2, 0, 0, 2}));
  expect_tensor(run_op("Cast", {f32({3}, {0, -0.25, kNan})}, to(DType::kBool)), boolean({3}, {0, 1, 1}));
}

TEST(Cast, IntegersWrap) {
  expect_tensor(run_op("Cast", {i32({3}, {200, -1, 257})}, to(DType::kI8)), make(DType::kI8, {3}, {-56, -1, 1}));
  expect_tensor(run_op("Cast", {i32({3}, {-1, 17, 8})}, to(DType::kI4)), make(DType::kI4, {3}, {-1, 1, -8}));
  expect_tensor(run_op("Cast", {i64({2}, {36, 0})}, to(DType::kBool)), boolean({2}, {1, 0}));
}

TEST(Cast, HalfOverflowsToInfinity) {
  expect_tensor(run_op("Cast", {f32({3}, {70000, -70000, 1.0 / 3})}, to(DType::kF16)),
                make(DType::kF16, {3}, {kInf, -kInf, 0.333251953125}), 1e-9);
}

TEST(Cast, Float8Saturates) {
  AttrMap attrs = to(DType::kF8E4M3);
  expect_tensor(run_op("Cast", {f32({4}, {1000, -1000, kInf, 1.1})}, attrs),
                make(DType::kF8E4M3, {4}, {448, -448, 448, 1.125}));
  attrs["saturate"] = int64_t{0};
  expect_tensor(run_op("Cast", {f32({2}, {1000, 1.1})}, attrs), make(DType::kF8E4M3, {2}, {kNan, 1.125}));
  attrs["to"] = std::string("f8e5m2");
  expect_tensor(run_op("Cast", {f32({2}, {1e6, -1e6})}, attrs), make(DType::kF8E5M2, {2}, {kInf, -kInf}));
}

TEST(Cast, E8M0RoundsToPowersOfTwo) {
  const HostTensor x = f32({5}, {1, 3, 2.5, 0.3, kNan});
  const auto mode = [](const char* name) { return AttrMap{{"round_mode", std::string(name)}}; };
  expect_tensor(run_op("CastE8M0", {x}, mode("up")), make(DType::kF8E8M0, {5}, {1, 4, 4, 0.5, kNan}));
  expect_tensor(run_op("CastE8M0", {x}, mode("down")), make(DType::kF8E8M0, {5}, {1, 2, 2, 0.25, kNan}));
  expect_tensor(run_op("CastE8M0", {x}, mode("nearest")), make(DType::kF8E8M0, {5}, {1, 4, 2, 0.25, kNan}));
  EXPECT_FALSE(try_op("CastE8M0", {x}, mode("sideways")).ok());
}

TEST(Cast, BitsStay) {
  expect_tensor(run_op("BitCast", {f32({2}, {1, -2})}, to(DType::kI32)), i32({2}, {0x3f800000, -1073741824.0}));
  EXPECT_FALSE(try_op("BitCast", {f32({2}, {1, -2})}, to(DType::kI64)).ok());
}

TEST(Cast, ShapeValuesStayThroughIntegers) {
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* shape = g.add("Shape", {g.input(DType::kF32, {n, 6})});
  Value* narrow = g.add("Cast", {shape}, to(DType::kI32));
  ASSERT_TRUE(narrow->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*narrow->shape_values()), shape_to_string({n, Dim(6)}));
  EXPECT_FALSE(g.add("Cast", {shape}, to(DType::kF32))->shape_values().has_value());
}

TEST(Cast, RefusesUnknownTypes) {
  EXPECT_FALSE(try_op("Cast", {f32({1}, {1})}, {{"to", std::string("complex")}}).ok());
  EXPECT_FALSE(try_op("Cast", {f32({1}, {1})}, {{"to", std::string("string")}}).ok());
}

}  // namespace
}  // namespace wootz
