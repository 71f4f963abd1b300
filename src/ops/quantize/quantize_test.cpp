#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const HostTensor x = f32({6}, {1, 3, 5, -1, 1000, -1000});
  expect_tensor(run_op("Quantize", {x, f32({}, {2}), make(DType::kU8, {}, {10})}),
                make(DType::kU8, {6}, {10, 12, 12, 10, 255, 0}));
  expect_tensor(run_op("Quantize", {x, f32({}, {2})}, {{"to", std::string("i8")}}),
                make(DType::kI8, {6}, {0, 2, 2, 0, 127, -128}));
  expect_tensor(run_op("Quantize", {x, f32({}, {1})}, {{"to", std::string("i4")}}),
                make(DType::kI4, {6}, {1, 3, 5, -1, 7, -8}));
}

TEST(Quantize, PerAxisScalesBroadcast) {
  const HostTensor x = f32({1, 2, 2}, {2, 4, 2, 4});
  expect_tensor(run_op("Quantize", {x, f32({2, 1}, {1, 2}), make(DType::kI8, {2, 1}, {0, 5})}),
                make(DType::kI8, {1, 2, 2}, {2, 4, 6, 7}));
  EXPECT_FALSE(try_op("Quantize", {f32({1}, {2}), f32({2}, {1, 2})}).ok());  // would widen the input
}

TEST(Quantize, Float8) {
  expect_tensor(run_op("Quantize", {f32({3}, {2, 1000, -3}), f32({}, {2})}, {{"to", std::string("f8e4m3")}}),
                make(DType::kF8E4M3, {3}, {1, 448, -1.5}));
}

TEST(QuantizeRows, EachByItsLargestValue) {
  Result<std::vector<HostTensor>> all =
      try_op("QuantizeRows", {f32({3, 3}, {1, -127, 63.5, 0, 0, 0, 0.5, 0.25, -0.125})}, {{"empty", 1.0}}, 2);
  ASSERT_TRUE(all.ok()) << all.status().message();
  const std::vector<HostTensor>& made = *all;
  EXPECT_FALSE(try_op("QuantizeRows", {i32({1, 1}, {1})}, {}, 2).ok());
  EXPECT_FALSE(try_op("QuantizeRows", {f32({}, {1})}, {}, 2).ok());
  expect_tensor(made[0], make(DType::kI8, {3, 3}, {1, -127, 64, 0, 0, 0, 127, 64, -32}));
  expect_tensor(made[1], f32({3, 1}, {1, 1, 0.5F / 127}));
}

TEST(DynamicQuantize, TheRangeHoldsZero) {
  Result<std::vector<HostTensor>> made = try_op("DynamicQuantize", {f32({4}, {0, 51, 102, 255})}, {}, 3);
  ASSERT_TRUE(made.ok()) << made.status().message();
  expect_tensor((*made)[0], make(DType::kU8, {4}, {0, 51, 102, 255}));
  expect_tensor((*made)[1], f32({}, {1}));
  made = try_op("DynamicQuantize", {f32({2}, {-51, 204})}, {}, 3);
  ASSERT_TRUE(made.ok()) << made.status().message();
  expect_tensor((*made)[0], make(DType::kU8, {2}, {0, 255}));
  expect_tensor((*made)[2], make(DType::kU8, {}, {51}));
}

TEST(Dequantize, SubtractsThenScales) {
  expect_tensor(run_op("Dequantize", {make(DType::kU8, {3}, {0, 10, 255}), f32({}, {0.5}), make(DType::kU8, {}, {10})}),
                f32({3}, {-5, 0, 122.5}));
  expect_tensor(run_op("Dequantize", {make(DType::kI4, {2}, {-8, 7}), make(DType::kF16, {}, {0.5})}),
                make(DType::kF16, {2}, {-4, 3.5}));
  expect_tensor(run_op("Dequantize", {i32({1}, {100}), f32({}, {0.25})}), f32({1}, {25}));
}

}  // namespace
}  // namespace wootz
