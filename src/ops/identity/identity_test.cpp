#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Identity, PassesEverythingOn) {
  const HostTensor x = f32({2, 2}, {1, 2, 3, 4});
  expect_tensor(run_op("Identity", {x}), x);
  SymbolicGraph g;
  const Dim n = g.symbol("n");
  Value* same = g.add("Identity", {g.add("Shape", {g.input(DType::kF32, {n, 3})})});
  ASSERT_TRUE(same->shape_values().has_value());
  EXPECT_EQ(shape_to_string(*same->shape_values()), shape_to_string({n, Dim(3)}));
}

}  // namespace
}  // namespace wootz
