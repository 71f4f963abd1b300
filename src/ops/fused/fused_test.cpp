#include "ops/op_testing.h"

namespace wootz {
namespace {
using namespace optest;

TEST(Pointwise, RunsItsExpression) {
  PointwiseExpr expr;
  expr.num_inputs = 2;
  const uint16_t x = expr.input(0, DType::kF32), y = expr.input(1, DType::kF32);
  const uint16_t product = expr.push(PwOp::kMul, DType::kF32, x, y);
  const uint16_t above = expr.push(PwOp::kGreater, DType::kBool, product, expr.constant(4, DType::kF32));
  expr.outputs = {product, above};
  const auto out = try_op("Pointwise", {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {2, 1})}, {{"expr", expr}}, 2);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  expect_tensor((*out)[0], f32({2, 2}, {2, 2, 6, 4}));
  expect_tensor((*out)[1], boolean({2, 2}, {0, 0, 1, 0}));
}

TEST(Pointwise, NeedsAnExpression) { EXPECT_FALSE(try_op("Pointwise", {f32({1}, {1})}).ok()); }

}  // namespace
}  // namespace wootz
