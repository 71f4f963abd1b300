#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(EyeLike, Diagonals) {
  const HostTensor x = iota(DType::kI32, {2, 3});
  expect_tensor(run_op("EyeLike", {x}), i32({2, 3}, {1, 0, 0, 0, 1, 0}));
  expect_tensor(run_op("EyeLike", {x}, {{"k", int64_t{1}}, {"dtype", std::string("f32")}}),
                f32({2, 3}, {0, 1, 0, 0, 0, 1}));
  expect_tensor(run_op("EyeLike", {x}, {{"k", int64_t{-1}}}), i32({2, 3}, {0, 0, 0, 1, 0, 0}));
  expect_tensor(run_op("EyeLike", {x}, {{"k", INT64_MAX}}), i32({2, 3}, {0, 0, 0, 0, 0, 0}));
  expect_tensor(run_op("EyeLike", {x}, {{"k", INT64_MIN}}), i32({2, 3}, {0, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(try_op("EyeLike", {f32({2}, {1, 2})}).ok());
  EXPECT_FALSE(try_op("EyeLike", {x}, {{"dtype", std::string("string")}}).ok());
}

}  // namespace
}  // namespace wootz
