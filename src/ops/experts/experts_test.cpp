#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(ExpertProduct, TakesTheMatrixOfEachExpert) {
  const HostTensor w = f32({2, 2, 1}, {1, 10, 100, 1000});
  expect_tensor(run_op("ExpertProduct", {f32({2, 2}, {1, 2, 3, 4}), i32({2, 2}, {1, 0, 0, 5}), w}),
                f32({2, 2, 1}, {2100, 21, 43, 0}));
  expect_tensor(
      run_op("ExpertProduct", {f32({1, 2, 2}, {1, 2, 3, 4}), i64({1, 2}, {1, -1}), w, f32({2, 1}, {0.5, 0.25})}),
      f32({1, 2, 1}, {2100.25, 0}));
}

TEST(ExpertProduct, Refusals) {
  const HostTensor x = f32({2, 2}, {1, 2, 3, 4}), e = i32({2, 1}, {0, 0}), w = f32({1, 2, 1}, {1, 1});
  EXPECT_TRUE(try_op("ExpertProduct", {x, e, w}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {x, f32({2, 1}, {0, 0}), w}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {x, i32({3, 1}, {0, 0, 0}), w}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {x, e, f32({1, 3, 1}, {1, 1, 1})}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {x, e, f32({2, 1}, {1, 1})}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {x, e, w, f32({1, 2}, {1, 1})}).ok());
  EXPECT_FALSE(try_op("ExpertProduct", {i32({2, 2}, {1, 2, 3, 4}), e, i32({1, 2, 1}, {1, 1})}).ok());
}

}  // namespace
}  // namespace wootz
