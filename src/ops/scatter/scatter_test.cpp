#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap by(const char* reduction, int64_t axis = 0) { return {{"reduction", std::string(reduction)}, {"axis", axis}}; }

TEST(Scatter, Elements) {
  const HostTensor zero = f32({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_tensor(
      run_op("ScatterElements", {zero, i64({2, 3}, {1, 0, 2, 0, 2, 1}), f32({2, 3}, {1, 1.5, 2, 2.5, 3, 3.5})}),
      f32({3, 3}, {2.5, 1.5, 0, 1, 0, 3.5, 0, 3, 2}));
  const HostTensor row = f32({1, 5}, {1, 2, 3, 4, 5});
  expect_tensor(run_op("ScatterElements", {row, i32({1, 2}, {1, -2}), f32({1, 2}, {7, 8})}, by("none", 1)),
                f32({1, 5}, {1, 7, 3, 8, 5}));
  const HostTensor twice = i64({1, 2}, {1, 1}), values = f32({1, 2}, {3, 4});
  expect_tensor(run_op("ScatterElements", {row, twice, values}, by("add", 1)), f32({1, 5}, {1, 9, 3, 4, 5}));
  expect_tensor(run_op("ScatterElements", {row, twice, values}, by("mul", 1)), f32({1, 5}, {1, 24, 3, 4, 5}));
  expect_tensor(run_op("ScatterElements", {row, twice, values}, by("max", 1)), f32({1, 5}, {1, 4, 3, 4, 5}));
  expect_tensor(run_op("ScatterElements", {row, twice, values}, by("min", 1)), f32({1, 5}, {1, 2, 3, 4, 5}));
}

TEST(Scatter, Nd) {
  const HostTensor x = f32({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_tensor(run_op("ScatterND", {x, i64({4, 1}, {4, 3, 1, -1}), f32({4}, {9, 10, 11, 12})}),
                f32({8}, {1, 11, 3, 10, 9, 6, 7, 12}));
  const HostTensor m = i32({2, 2}, {1, 2, 3, 4});
  expect_tensor(run_op("ScatterND", {m, i64({1, 1}, {1}), i32({1, 2}, {10, 20})}, {{"reduction", std::string("add")}}),
                i32({2, 2}, {1, 2, 13, 24}));
  expect_tensor(run_op("ScatterND", {m, i64({2, 2}, {0, 1, 1, 0}), i32({2}, {8, 9})}), i32({2, 2}, {1, 8, 9, 4}));
}

TEST(Scatter, TensorScatter) {
  const HostTensor cache = iota(DType::kF32, {2, 3, 1}), fresh = f32({2, 2, 1}, {10, 11, 12, 13});
  expect_tensor(run_op("TensorScatter", {cache, fresh}), f32({2, 3, 1}, {10, 11, 2, 12, 13, 5}));
  expect_tensor(run_op("TensorScatter", {cache, fresh, i64({2}, {1, 0})}), f32({2, 3, 1}, {0, 10, 11, 12, 13, 5}));
  expect_tensor(run_op("TensorScatter", {cache, fresh, i64({2}, {2, 1})}, {{"mode", std::string("circular")}}),
                f32({2, 3, 1}, {11, 1, 10, 3, 12, 13}));
  EXPECT_FALSE(try_op("TensorScatter", {cache, fresh, i64({2}, {2, 0})}).ok());
  EXPECT_FALSE(try_op("TensorScatter", {cache, fresh, i64({3}, {0, 0, 0})}).ok());
}

TEST(Scatter, Refusals) {
  const HostTensor x = f32({3}, {1, 2, 3});
  EXPECT_FALSE(try_op("ScatterElements", {x, i64({1}, {3}), f32({1}, {9})}).ok());
  EXPECT_FALSE(try_op("ScatterElements", {x, i64({1}, {0}), f32({2}, {9, 8})}).ok());
  EXPECT_FALSE(try_op("ScatterElements", {x, i64({1}, {0}), i64({1}, {9})}).ok());
  EXPECT_FALSE(try_op("ScatterElements", {x, i64({1}, {0}), f32({1}, {9})}, by("mean")).ok());
  EXPECT_FALSE(try_op("ScatterND", {x, i64({1, 1}, {-4}), f32({1}, {9})}).ok());
  EXPECT_FALSE(try_op("ScatterND", {x, i64({1, 2}, {0, 0}), f32({1}, {9})}).ok());
}

}  // namespace
}  // namespace wootz
