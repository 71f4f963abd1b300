#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

AttrMap how(int64_t exclusive, int64_t reverse, int64_t axis = 0) {
  return {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}};
}

TEST(Cumulative, SumsAndProducts) {
  const HostTensor x = f32({3}, {1, 2, 3});
  expect_tensor(run_op("CumSum", {x}, how(0, 0)), f32({3}, {1, 3, 6}));
  expect_tensor(run_op("CumSum", {x}, how(1, 0)), f32({3}, {0, 1, 3}));
  expect_tensor(run_op("CumSum", {x}, how(0, 1)), f32({3}, {6, 5, 3}));
  expect_tensor(run_op("CumSum", {x}, how(1, 1)), f32({3}, {5, 3, 0}));
  expect_tensor(run_op("CumProd", {x}, how(0, 0)), f32({3}, {1, 2, 6}));
  expect_tensor(run_op("CumProd", {x}, how(1, 1)), f32({3}, {6, 3, 1}));
  expect_tensor(run_op("CumSum", {i32({2, 2}, {1, 2, 3, 4}), i32({}, {-1})}), i32({2, 2}, {1, 3, 3, 7}));
}

TEST(Cumulative, Refusals) {
  const HostTensor x = f32({3}, {1, 2, 3});
  EXPECT_FALSE(try_op("CumSum", {x}, how(0, 0, 1)).ok());
  EXPECT_FALSE(try_op("CumSum", {x, i32({2}, {0, 0})}).ok());
  EXPECT_FALSE(try_op("CumSum", {x}).ok());
}

}  // namespace
}  // namespace wootz
