#include "ops/op_testing.h"

namespace wootz {
namespace {

using namespace optest;

TEST(Lrn, DividesByTheSquaresAround) {
  const HostTensor x = f32({1, 3, 1}, {1, 2, 3});
  // size 3, alpha 3: sums of squares 5, 14, 13.
  expect_tensor(run_op("LRN", {x}, {{"size", int64_t{3}}, {"alpha", 3.0}, {"beta", 1.0}, {"bias", 1.0}}),
                f32({1, 3, 1}, {1 / 6.0, 2 / 15.0, 3 / 14.0}), 1e-6);
}

}  // namespace
}  // namespace wootz
