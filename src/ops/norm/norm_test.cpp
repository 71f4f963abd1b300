#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(LayerNorm, MeanZeroVarianceOne) {
  const HostTensor x = f32({2, 2}, {1, 3, -5, 5});
  expect_tensor(run_op("LayerNorm", {x}, {{"epsilon", 0.0}}), f32({2, 2}, {-1, 1, -1, 1}), 1e-6);
  expect_tensor(run_op("LayerNorm", {x, f32({2}, {2, 3}), f32({2}, {10, 20})}, {{"epsilon", 0.0}}),
                f32({2, 2}, {8, 23, 8, 23}), 1e-6);
  // Over both axes: mean 1, variance 14; epsilon brings it to 16.
  expect_tensor(run_op("LayerNorm", {x}, {{"axis", int64_t{0}}, {"epsilon", 2.0}}), f32({2, 2}, {0, 0.5, -1.5, 1}),
                1e-6);
}

TEST(LayerNorm, ManyEqualValuesStayFinite) {
  expect_tensor(run_op("LayerNorm", {f32({1, 3}, {1e6, 1e6, 1e6})}, {{"epsilon", 1e-5}}), f32({1, 3}, {0, 0, 0}));
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  expect_tensor(run_op("RMSNorm", {f32({1, 2}, {1, 7}), f32({2}, {1, 10})}, {{"epsilon", 0.0}}), f32({1, 2}, {0.2, 14}),
                1e-6);
}

TEST(ChannelNorms, InstanceAndGroup) {
  const HostTensor x = f32({1, 2, 2}, {1, 3, 10, 30});
  expect_tensor(run_op("InstanceNorm", {x, f32({2}, {1, 2}), f32({2}, {0, 1})}, {{"epsilon", 0.0}}),
                f32({1, 2, 2}, {-1, 1, -1, 3}), 1e-6);
  const HostTensor y = f32({1, 2, 1}, {1, 3});
  expect_tensor(
      run_op("GroupNorm", {y, f32({2}, {1, 2}), f32({2}, {0, 1})}, {{"groups", int64_t{1}}, {"epsilon", 0.0}}),
      f32({1, 2, 1}, {-1, 3}), 1e-6);
  EXPECT_FALSE(try_op("GroupNorm", {y, f32({2}, {1, 2}), f32({2}, {0, 1})}, {{"groups", int64_t{3}}}).ok());
  EXPECT_FALSE(try_op("InstanceNorm", {x, f32({3}, {1, 2, 3}), f32({2}, {0, 1})}).ok());
}

TEST(BatchNorm, IsPointwiseOverBroadcastParameters) {
  const HostTensor x = f32({1, 2, 1, 1}, {5, 6});
  const auto p = [](double a, double b) { return f32({2, 1, 1}, {a, b}); };
  expect_tensor(run_op("BatchNorm", {x, p(2, 1), p(1, 0), p(3, 4), p(4, 16)}, {{"epsilon", 0.0}}),
                f32({1, 2, 1, 1}, {3, 0.5}), 1e-6);
}

}  // namespace
}  // namespace wootz
