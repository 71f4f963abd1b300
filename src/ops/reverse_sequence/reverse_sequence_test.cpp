#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(ReverseSequence, TimeAndBatch) {
  const HostTensor x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  expect_tensor(run_op("ReverseSequence", {x, i64({3}, {2, 1, 0})}), f32({2, 3}, {3, 1, 2, 0, 4, 5}));
  expect_tensor(
      run_op("ReverseSequence", {x, i64({2}, {3, 2})}, {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}}),
      f32({2, 3}, {2, 1, 0, 4, 3, 5}));
  EXPECT_FALSE(try_op("ReverseSequence", {x, i64({3}, {3, 1, 0})}).ok());
  EXPECT_FALSE(try_op("ReverseSequence", {x, i64({2}, {1, 1})}).ok());
  EXPECT_FALSE(try_op("ReverseSequence", {x, i64({3}, {1, 1, 1})}, {{"time_axis", int64_t{1}}}).ok());
}

}  // namespace
}  // namespace wootz
