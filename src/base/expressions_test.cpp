#include "base/expressions.h"

#include <gtest/gtest.h>

namespace wootz {
namespace {

PointwiseExpr parsed(const char* text) {
  Result<PointwiseExpr> e = PointwiseExpr::parse(text);
  EXPECT_TRUE(e.ok()) << e.status().to_string();
  return e.ok() ? std::move(e).value() : PointwiseExpr();
}

double value_of(const PointwiseExpr& e, std::vector<double> operands) {
  std::vector<PwScalar> in(operands.size()), out(1);
  for (size_t i = 0; i < in.size(); ++i) in[i].f = operands[i];
  evaluate(e, in, out);
  return out[0].f;
}

// max(a + c, 0) * b, of operands a, b and c.
constexpr const char* kSum =
    "v0=input.f32(2); v1=input.f32(0); v2=add.f32(v0,v1); v3=relu.f32(v2); v4=input.f32(1); v5=mul.f32(v3,v4); out v5";

TEST(Expressions, GoOnWithTheSumOfAnAddend) {
  const PointwiseExpr e = parsed(kSum);
  const std::optional<PointwiseExpr> rest = without_addend(e, 2);
  ASSERT_TRUE(rest.has_value());
  EXPECT_TRUE(rest->verify().ok());
  EXPECT_EQ(rest->num_inputs, 2);
  EXPECT_EQ(value_of(*rest, {5, 3}), 15);
  EXPECT_EQ(value_of(*rest, {-5, 3}), 0);
  const PointwiseExpr again = with_addend(*rest, DType::kF32, 2);
  EXPECT_TRUE(again.verify().ok());
  EXPECT_EQ(again.num_inputs, 3);
  EXPECT_EQ(value_of(again, {4, 3, 1}), value_of(e, {4, 3, 1}));
  EXPECT_EQ(value_of(again, {4, 3, -7}), 0);
  // An operand that nothing reads comes before it all the same; and an expression of nothing else.
  EXPECT_EQ(value_of(with_addend(*rest, DType::kF32, 3), {4, 3, 100, 1}), 15);
  EXPECT_EQ(value_of(with_addend(PointwiseExpr(), DType::kF32, 1), {4, 3}), 7);
}

TEST(Expressions, HaveNoAddendThatIsReadOtherwise) {
  EXPECT_FALSE(without_addend(parsed(kSum), 1));
  for (const char* text : {"v0=input.f32(0); v1=input.f32(1); v2=mul.f32(v0,v1); out v2",
                           "v0=input.f32(0); v1=input.f32(1); v2=relu.f32(v0); v3=add.f32(v2,v1); out v3",
                           "v0=input.f32(0); v1=input.f32(1); v2=add.f32(v0,v1); v3=mul.f32(v2,v0); out v3",
                           "v0=input.f32(0); v1=input.f32(1); v2=add.f32(v0,v1); v3=mul.f32(v2,v1); out v3"})
    EXPECT_FALSE(without_addend(parsed(text), 1)) << text;
}

}  // namespace
}  // namespace wootz
