#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Compress, SlicesAndElements) {
  const HostTensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_tensor(run_op("Compress", {x, boolean({3}, {0, 1, 1})}, {{"axis", int64_t{0}}}), f32({2, 2}, {3, 4, 5, 6}));
  expect_tensor(run_op("Compress", {x, boolean({2}, {0, 1})}, {{"axis", int64_t{-1}}}), f32({3, 1}, {2, 4, 6}));
  expect_tensor(run_op("Compress", {x, boolean({5}, {0, 1, 0, 0, 1})}), f32({2}, {2, 5}));
  expect_tensor(run_op("Compress", {x, boolean({2}, {0, 0})}, {{"axis", int64_t{0}}}), f32({0, 2}, {}));
}

TEST(Compress, Refusals) {
  const HostTensor x = f32({2}, {1, 2});
  EXPECT_FALSE(try_op("Compress", {x, boolean({3}, {0, 1, 1})}, {{"axis", int64_t{0}}}).ok());
  EXPECT_FALSE(try_op("Compress", {x, i64({2}, {0, 1})}).ok());
  EXPECT_FALSE(try_op("Compress", {x, boolean({1}, {1})}, {{"axis", int64_t{1}}}).ok());
}

}  // namespace
}  // namespace wootz
