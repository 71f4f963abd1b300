#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

const HostTensor kA = f32({2, 3}, {1, 2, 3, 4, 5, 6}), kB = f32({3, 2}, {1, 0, 0, 1, 1, 1});

TEST(MatMul, ProductsTransposesAlphaAndTerm) {
  const HostTensor y = f32({2, 2}, {4, 5, 10, 11});
  expect_tensor(run_op("MatMul", {kA, kB}), y);
  const HostTensor at = f32({3, 2}, {1, 4, 2, 5, 3, 6}), bt = f32({2, 3}, {1, 0, 1, 0, 1, 1});
  expect_tensor(run_op("MatMul", {at, bt}, {{"trans_a", int64_t{1}}, {"trans_b", int64_t{1}}}), y);
  expect_tensor(run_op("MatMul", {kA, kB, f32({2, 1}, {1, 2})}, {{"alpha", 0.5}}), f32({2, 2}, {3, 3.5, 7, 7.5}));
}

TEST(MatMul, VectorsAndBatches) {
  expect_tensor(run_op("MatMul", {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})}), f32({}, {32}));
  expect_tensor(run_op("MatMul", {f32({2}, {1, 1}), kA}), f32({3}, {5, 7, 9}));
  expect_tensor(run_op("MatMul", {kA, f32({3}, {1, 1, 1})}), f32({2}, {6, 15}));
  // [2,1,1,2] times [3,2,1]: batches broadcast to [2,3].
  const HostTensor a = f32({2, 1, 1, 2}, {1, 2, 3, 4}), b = f32({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  expect_tensor(run_op("MatMul", {a, b}), f32({2, 3, 1, 1}, {1, 2, 3, 3, 4, 7}));
  expect_tensor(run_op("MatMul", {f32({2, 0}, {}), f32({0, 2}, {}), f32({2}, {7, 8})}), f32({2, 2}, {7, 8, 7, 8}));
}

TEST(MatMul, IntegersWrapAndQuantizedFormScales) {
  const HostTensor big = make(DType::kI32, {1, 1}, {65536});
  expect_tensor(run_op("MatMul", {big, big}), i32({1, 1}, {0}));
  const HostTensor x = make(DType::kU8, {1, 2}, {12, 10}), w = make(DType::kI8, {2, 2}, {1, 2, 3, -4});
  const AttrMap attrs{{"x_scale", std::vector<double>{0.5}},
                      {"x_zero", std::vector<double>{10}},
                      {"w_scale", std::vector<double>{1, 2}},
                      {"w_zero", std::vector<double>{0, 1}}};
  expect_tensor(run_op("MatMul", {x, w, f32({2}, {0, 1})}, attrs), f32({1, 2}, {1, 3}));
}

TEST(MatMul, RowsWithScalesOfTheirOwn) {
  const HostTensor x = make(DType::kI8, {2, 2}, {1, 2, 3, 4}), w = make(DType::kI8, {2, 2}, {1, 2, 3, -4});
  const AttrMap attrs{{"x_scale", std::vector<double>{1}}, {"w_scale", std::vector<double>{1, 2}}};
  const HostTensor rows = f32({2, 1}, {0.5, 2}), bias = f32({2}, {10, 20});
  expect_tensor(run_op("MatMul", {x, w, HostTensor(), rows}, attrs), f32({2, 2}, {3.5, -6, 30, -40}));
  expect_tensor(run_op("MatMul", {x, w, bias, rows}, attrs), f32({2, 2}, {13.5, 14, 40, -20}));
  EXPECT_FALSE(try_op("MatMul", {x, w, bias, f32({2}, {1, 2})}, attrs).ok());
  EXPECT_FALSE(try_op("MatMul", {kA, kB, HostTensor(), rows}).ok());  // of floats
}

TEST(MatMul, Refusals) {
  EXPECT_FALSE(try_op("MatMul", {kA, kA}).ok());
  EXPECT_FALSE(try_op("MatMul", {f32({}, {1}), kA}).ok());
  EXPECT_FALSE(try_op("MatMul", {kA, iota(DType::kF64, {3, 2})}).ok());
  EXPECT_FALSE(try_op("MatMul", {kA, kB, f32({3}, {1, 2, 3})}).ok());
  EXPECT_FALSE(
      try_op("MatMul", {f32({1, 1}, {1}), f32({1, 1}, {1}), f32({2, 1}, {1, 2})}).ok());  // would widen the result
}

TEST(MatMulInteger, RowAndColumnZeroPoints) {
  const HostTensor a = make(DType::kU8, {2, 2}, {1, 2, 3, 4}), b = make(DType::kI8, {2, 2}, {1, 1, 1, -1});
  // (a - rows) = 0 1 / 1 2; (b - columns) = 1 0 / 1 -2.
  expect_tensor(run_op("MatMulInteger", {a, b, make(DType::kU8, {2}, {1, 2}), make(DType::kI8, {2}, {0, 1})}),
                i32({2, 2}, {1, -2, 3, -4}));
}

}  // namespace
}  // namespace wootz
