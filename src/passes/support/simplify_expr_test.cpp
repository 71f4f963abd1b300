// Activations as exporters spell them out: each form is one operation, and means what it meant.
#include "passes/support/simplify_expr.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wootz {
namespace {

struct Form {
  const char* what;
  const char* text;    // values v0 = x, v1...; c = x of another operand
  const char* result;  // text of the last instruction, "" when nothing is recognized
};

constexpr Form kForms[] = {
    {"gelu 0.5 * x * (1 + erf)",
     "v1=const.f32[0.70710678]; v2=mul.f32(v0,v1); v3=erf.f32(v2); v4=const.f32[1]; "
     "v5=add.f32(v3,v4); v6=const.f32[0.5]; v7=mul.f32(v6,v0); v8=mul.f32(v7,v5); out v8",
     "gelu_erf"},
    {"gelu x / sqrt 2, product first, half last",
     "v1=const.f32[1.41421356]; v2=div.f32(v0,v1); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); "
     "v6=mul.f32(v0,v5); v7=const.f32[0.5]; v8=mul.f32(v6,v7); out v8",
     "gelu_erf"},
    {"gelu x * (0.5 * (1 + erf))",
     "v1=const.f32[0.70710678]; v2=mul.f32(v1,v0); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); "
     "v6=const.f32[0.5]; v7=mul.f32(v5,v6); v8=mul.f32(v0,v7); out v8",
     "gelu_erf"},
    {"gelu over 2",
     "v1=const.f32[0.70710678]; v2=mul.f32(v1,v0); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); "
     "v6=mul.f32(v5,v0); v7=const.f32[2]; v8=div.f32(v6,v7); out v8",
     "gelu_erf"},
    {"gelu with (x / 2)",
     "v1=const.f32[0.70710678]; v2=mul.f32(v1,v0); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); "
     "v6=const.f32[2]; v7=div.f32(v0,v6); v8=mul.f32(v5,v7); out v8",
     "gelu_erf"},
    {"gelu of another scale stays",
     "v1=const.f32[0.8]; v2=mul.f32(v1,v0); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); v6=const.f32[0.5]; "
     "v7=mul.f32(v0,v6); v8=mul.f32(v5,v7); out v8",
     ""},
    {"gelu of which only a third is taken stays",
     "v1=const.f32[0.70710678]; v2=mul.f32(v1,v0); v3=erf.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); "
     "v6=const.f32[0.333]; v7=mul.f32(v0,v6); v8=mul.f32(v5,v7); out v8",
     ""},
    {"tanh gelu, power of 3",
     "v1=const.f32[3]; v2=pow.f32(v0,v1); v3=const.f32[0.044715]; v4=mul.f32(v3,v2); v5=add.f32(v0,v4); "
     "v6=const.f32[0.79788456]; v7=mul.f32(v6,v5); v8=tanh.f32(v7); v9=const.f32[1]; v10=add.f32(v9,v8); "
     "v11=const.f32[0.5]; v12=mul.f32(v11,v0); v13=mul.f32(v12,v10); out v13",
     "gelu_tanh"},
    {"tanh gelu, 0.044715 * x * x * x, half last",
     "v1=const.f32[0.044715]; v2=mul.f32(v1,v0); v3=mul.f32(v2,v0); v4=mul.f32(v3,v0); v5=add.f32(v4,v0); "
     "v6=const.f32[0.79788456]; v7=mul.f32(v5,v6); v8=tanh.f32(v7); v9=const.f32[1]; v10=add.f32(v8,v9); "
     "v11=mul.f32(v0,v10); v12=const.f32[0.5]; v13=mul.f32(v11,v12); out v13",
     "gelu_tanh"},
    {"tanh gelu, a * x * (1 + b * x * x)",
     "v1=const.f32[0.79788456]; v2=mul.f32(v0,v1); v3=mul.f32(v0,v0); v4=const.f32[0.044715]; v5=mul.f32(v3,v4); "
     "v6=const.f32[1]; v7=add.f32(v5,v6); v8=mul.f32(v2,v7); v9=tanh.f32(v8); v10=add.f32(v9,v6); "
     "v11=const.f32[0.5]; v12=mul.f32(v10,v11); v13=mul.f32(v0,v12); out v13",
     "gelu_tanh"},
    {"tanh gelu, a * x + b * x^3",
     "v1=const.f32[0.79788456]; v2=mul.f32(v0,v1); v3=mul.f32(v0,v0); v4=mul.f32(v3,v0); v5=const.f32[0.035677408]; "
     "v6=mul.f32(v4,v5); v7=add.f32(v6,v2); v8=tanh.f32(v7); v9=const.f32[1]; v10=add.f32(v8,v9); v11=const.f32[0.5]; "
     "v12=mul.f32(v0,v11); v13=mul.f32(v12,v10); out v13",
     "gelu_tanh"},
    {"silu", "v1=sigmoid.f32(v0); v2=mul.f32(v1,v0); out v2", "silu"},
    {"silu of 1.702 x", "v1=const.f32[1.702]; v2=mul.f32(v1,v0); v3=sigmoid.f32(v2); v4=mul.f32(v0,v3); out v4",
     "silu"},
    {"silu, sigmoid spelled out",
     "v1=neg.f32(v0); v2=exp.f32(v1); v3=const.f32[1]; v4=add.f32(v2,v3); v5=div.f32(v3,v4); v6=mul.f32(v0,v5); out v6",
     "silu"},
    {"silu by division",
     "v1=neg.f32(v0); v2=exp.f32(v1); v3=const.f32[1]; v4=add.f32(v2,v3); v5=div.f32(v0,v4); out v5", "silu"},
    {"sigmoid as a reciprocal",
     "v1=const.f32[-1]; v2=mul.f32(v0,v1); v3=exp.f32(v2); v4=const.f32[1]; v5=add.f32(v4,v3); v6=reciprocal.f32(v5); "
     "out v6",
     "sigmoid"},
    {"mish, softplus spelled out",
     "v1=exp.f32(v0); v2=const.f32[1]; v3=add.f32(v1,v2); v4=log.f32(v3); v5=tanh.f32(v4); v6=mul.f32(v0,v5); out v6",
     "mish"},
    {"hard swish over 6",
     "v1=const.f32[3]; v2=add.f32(v0,v1); v3=clip.f32(v2)[0,6]; v4=mul.f32(v0,v3); v5=const.f32[6]; "
     "v6=div.f32(v4,v5); out v6",
     "hard_swish"},
    {"hard swish, relu6 by min and max, a sixth first",
     "v1=const.f32[3]; v2=add.f32(v1,v0); v3=const.f32[6]; v4=min.f32(v2,v3); v5=const.f32[0]; v6=max.f32(v5,v4); "
     "v7=const.f32[0.16666667]; v8=mul.f32(v6,v7); v9=mul.f32(v8,v0); out v9",
     "hard_swish"},
    {"hard swish, relu6 by relu and min, (x / 6) first",
     "v1=const.f32[3]; v2=add.f32(v1,v0); v3=relu.f32(v2); v4=const.f32[6]; v5=min.f32(v4,v3); v6=div.f32(v0,v4); "
     "v7=mul.f32(v6,v5); out v7",
     "hard_swish"},
    {"hard swish by hard sigmoid", "v1=hard_sigmoid.f32(v0)[0.16666667,0.5]; v2=mul.f32(v0,v1); out v2", "hard_swish"},
    {"hard sigmoid over 6",
     "v1=const.f32[3]; v2=add.f32(v0,v1); v3=clip.f32(v2)[0,6]; v4=const.f32[6]; v5=div.f32(v3,v4); out v5",
     "hard_sigmoid"},
    {"hard sigmoid of 0.2 x + 0.5",
     "v1=const.f32[0.2]; v2=mul.f32(v1,v0); v3=const.f32[0.5]; v4=add.f32(v2,v3); v5=clip.f32(v4)[0,1]; out v5",
     "hard_sigmoid"},
    {"relu6 of another width stays",
     "v1=const.f32[3]; v2=add.f32(v0,v1); v3=clip.f32(v2)[0,5]; v4=mul.f32(v0,v3); "
     "v5=const.f32[6]; v6=div.f32(v4,v5); out v6",
     ""},
    {"leaky relu by max", "v1=const.f32[0.1]; v2=mul.f32(v1,v0); v3=max.f32(v2,v0); out v3", "leaky_relu"},
    {"leaky relu by max needs a slope below 1", "v1=const.f32[2]; v2=mul.f32(v1,v0); v3=max.f32(v2,v0); out v3", ""},
    {"leaky relu by selection",
     "v1=const.f32[0]; v2=gt.bool(v0,v1); v3=const.f32[0.2]; v4=mul.f32(v0,v3); v5=select.f32(v2,v0,v4); out v5",
     "leaky_relu"},
    {"leaky relu by selection, other way around",
     "v1=const.f32[0]; v2=lt.bool(v0,v1); v3=const.f32[0.2]; v4=mul.f32(v0,v3); v5=select.f32(v2,v4,v0); out v5",
     "leaky_relu"},
    {"selection at another place stays",
     "v1=const.f32[1]; v2=gt.bool(v0,v1); v3=const.f32[0.2]; v4=mul.f32(v0,v3); v5=select.f32(v2,v0,v4); out v5", ""},
    {"leaky relu by two relus",
     "v1=relu.f32(v0); v2=neg.f32(v0); v3=relu.f32(v2); v4=const.f32[-0.25]; v5=mul.f32(v4,v3); v6=add.f32(v1,v5); out "
     "v6",
     "leaky_relu"},
    {"prelu of one number", "v1=const.f32[0.3]; v2=prelu.f32(v0,v1); out v2", "leaky_relu"},
    {"clip by relu and min", "v1=relu.f32(v0); v2=const.f32[6]; v3=min.f32(v1,v2); out v3", "clip"},
    {"clip of a relu", "v1=relu.f32(v0); v2=clip.f32(v1)[-1,4]; out v2", "clip"},
    {"relu of a clip", "v1=clip.f32(v0)[-1,4]; v2=relu.f32(v1); out v2", "clip"},
    {"clip by min and relu", "v1=const.f32[6]; v2=min.f32(v1,v0); v3=relu.f32(v2); out v3", "clip"},
    {"relu of what is below 0 stays", "v1=const.f32[-1]; v2=min.f32(v0,v1); v3=relu.f32(v2); out v3", ""},
    {"power of 2", "v1=const.f32[2]; v2=pow.f32(v0,v1); out v2", "mul"},
    {"x^1 + 0 times 1",
     "v1=const.f32[1]; v2=pow.f32(v0,v1); v3=const.f32[0]; v4=add.f32(v2,v3); v5=mul.f32(v1,v4); out v5", "input"},
    {"there and back through f64", "v1=cast.f64(v0); v2=cast.f32(v1); out v2", "input"},
    {"there and back through f16 rounds", "v1=cast.f16(v0); v2=cast.f32(v1); out v2", ""},
};

TEST(SimplifyExpression, RecognizesActivations) {
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.what);
    const Result<PointwiseExpr> expr = PointwiseExpr::parse(std::string("v0=input.f32(0); ") + form.text);
    ASSERT_TRUE(expr.ok()) << expr.status().to_string();
    const PointwiseExpr simple = simplify_expression(*expr);
    ASSERT_TRUE(simple.verify().ok()) << simple.to_string();
    const PwInstr& last = simple.code[simple.outputs[0]];
    if (form.result[0] == '\0') {
      EXPECT_EQ(last.op, expr->code[expr->outputs[0]].op) << simple.to_string();
      EXPECT_EQ(simple.code.size(), expr->code.size()) << simple.to_string();
    } else {
      EXPECT_STREQ(pw_op_name(last.op), form.result) << simple.to_string();
      EXPECT_LE(simple.code.size(), 2u) << simple.to_string();
    }
    for (double x = -8; x <= 8; x += 0.0625) {
      PwScalar in{x, 0}, before, after;
      evaluate(*expr, {&in, 1}, {&before, 1});
      evaluate(simple, {&in, 1}, {&after, 1});
      ASSERT_NEAR(after.f, before.f, 2e-5 * std::max(1.0, std::abs(before.f))) << x << ": " << simple.to_string();
    }
    EXPECT_EQ(simplify_expression(simple), simple) << "not idempotent";
  }
}

TEST(SimplifyExpression, IntegersKeepTheirArithmetic) {
  const Result<PointwiseExpr> expr = PointwiseExpr::parse(
      "v0=input.i32(0); v1=const.i32[0]; v2=max.i32(v0,v1); v3=const.i32[1]; v4=mul.i32(v2,v3); out v4");
  ASSERT_TRUE(expr.ok()) << expr.status().to_string();
  EXPECT_EQ(simplify_expression(*expr), *expr);
}

}  // namespace
}  // namespace wootz
