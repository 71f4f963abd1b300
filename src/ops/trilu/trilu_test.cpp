#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Trilu, Diagonals) {
  const HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto part = [&](int64_t upper, int64_t k) { return run_op("Trilu", {x}, {{"upper", upper}, {"k", k}}); };
  expect_tensor(part(1, 0), f32({2, 3}, {1, 2, 3, 0, 5, 6}));
  expect_tensor(part(1, 1), f32({2, 3}, {0, 2, 3, 0, 0, 6}));
  expect_tensor(part(1, -1), x);
  expect_tensor(part(0, 0), f32({2, 3}, {1, 0, 0, 4, 5, 0}));
  expect_tensor(part(0, -1), f32({2, 3}, {0, 0, 0, 4, 0, 0}));
  expect_tensor(part(0, INT64_MAX), x);
  expect_tensor(part(1, INT64_MAX), f32({2, 3}, {0, 0, 0, 0, 0, 0}));
  expect_tensor(part(0, INT64_MIN), f32({2, 3}, {0, 0, 0, 0, 0, 0}));
  expect_tensor(run_op("Trilu", {x, i64({}, {1})}), f32({2, 3}, {0, 2, 3, 0, 0, 6}));
  EXPECT_FALSE(try_op("Trilu", {f32({2}, {1, 2})}).ok());
}

}  // namespace
}  // namespace wootz
