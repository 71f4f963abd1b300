#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(OneHot, AxesAndIndicesOutside) {
  const HostTensor indices = i64({3}, {0, -1, 5}), depth = i64({}, {3}), values = f32({2}, {2, 5});
  expect_tensor(run_op("OneHot", {indices, depth, values}), f32({3, 3}, {5, 2, 2, 2, 2, 5, 2, 2, 2}));
  expect_tensor(run_op("OneHot", {indices, depth, values}, {{"axis", int64_t{0}}}),
                f32({3, 3}, {5, 2, 2, 2, 2, 2, 2, 5, 2}));
  expect_tensor(run_op("OneHot", {f32({1}, {1}), f32({1}, {2}), boolean({2}, {0, 1})}), boolean({1, 2}, {0, 1}));
  expect_tensor(run_op("OneHot", {i64({}, {1}), depth, values}), f32({3}, {2, 5, 2}));
  EXPECT_FALSE(try_op("OneHot", {indices, depth, f32({3}, {1, 2, 3})}).ok());
  EXPECT_FALSE(try_op("OneHot", {indices, i64({}, {-1}), values}).ok());
  EXPECT_FALSE(try_op("OneHot", {indices, depth, values}, {{"axis", int64_t{2}}}).ok());
}

}  // namespace
}  // namespace wootz
