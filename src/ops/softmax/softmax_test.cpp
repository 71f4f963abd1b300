#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(Softmax, RowsAndColumns) {
  const HostTensor x = f32({2, 2}, {0, std::log(3.0), 0, 0});
  expect_tensor(run_op("Softmax", {x}, {{"axis", int64_t{1}}}), f32({2, 2}, {0.25, 0.75, 0.5, 0.5}), 1e-6);
  expect_tensor(run_op("Softmax", {x}, {{"axis", int64_t{0}}}), f32({2, 2}, {0.5, 0.75, 0.5, 0.25}), 1e-6);
}

TEST(Softmax, LargeValuesInfinitiesAndNan) {
  expect_tensor(run_op("Softmax", {f32({1, 2}, {1000, 1000})}), f32({1, 2}, {0.5, 0.5}), 1e-6);
  expect_tensor(run_op("Softmax", {f32({1, 2}, {-INFINITY, 3})}), f32({1, 2}, {0, 1}));
  expect_tensor(run_op("Softmax", {f32({1, 2}, {NAN, 3})}), f32({1, 2}, {NAN, NAN}));
  expect_tensor(run_op("LogSoftmax", {f32({1, 2}, {-1000, 0})}), f32({1, 2}, {-1000, 0}), 1e-6);
}

TEST(Hardmax, TheFirstLargestWins) {
  expect_tensor(run_op("Hardmax", {f32({2, 3}, {1, 3, 3, -1, -2, -3})}), f32({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(Softmax, Refusals) {
  EXPECT_FALSE(try_op("Softmax", {f32({2}, {1, 2})}, {{"axis", int64_t{1}}}).ok());
  EXPECT_FALSE(try_op("Softmax", {i32({2}, {1, 2})}).ok());
}

}  // namespace
}  // namespace wootz
