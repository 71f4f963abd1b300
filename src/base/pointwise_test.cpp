#include "base/pointwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/limits.h"

namespace wootz {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

PwScalar run(const PointwiseExpr& expr, std::vector<PwScalar> inputs) {
  EXPECT_TRUE(expr.verify().ok()) << expr.verify().message();
  PwScalar out;
  evaluate(expr, inputs, {&out, 1});
  return out;
}
PwScalar f(double value) { return {value, 0}; }
PwScalar i(int64_t value) { return {0, value}; }

// One operation over operands of `type`, giving `result` (the same type unless said).
PointwiseExpr single(PwOp op, DType type, double imm0 = 0, double imm1 = 0, DType result = DType::kInvalid) {
  PointwiseExpr expr;
  uint16_t v[3] = {0, 0, 0};
  for (int k = 0; k < pw_op_arity(op); ++k) v[k] = expr.input(static_cast<uint16_t>(k), type);
  expr.outputs.push_back(expr.push(op, result == DType::kInvalid ? type : result, v[0], v[1], v[2], imm0, imm1));
  return expr;
}
double unary(PwOp op, double x, double imm0 = 0, double imm1 = 0) {
  return run(single(op, DType::kF64, imm0, imm1), {f(x)}).f;
}
double binary(PwOp op, double x, double y) { return run(single(op, DType::kF64), {f(x), f(y)}).f; }
int64_t integer(PwOp op, DType type, int64_t x, int64_t y = 0) { return run(single(op, type), {i(x), i(y)}).i; }
bool compared(PwOp op, DType type, PwScalar x, PwScalar y) {
  return run(single(op, type, 0, 0, DType::kBool), {x, y}).i != 0;
}
PwScalar cast(PwOp op, DType from, DType to, PwScalar x) { return run(single(op, from, 0, 0, to), {x}); }

TEST(Pointwise, EveryOperationHasADistinctName) {
  PwOp back;
  for (int k = 0; pw_op_name(static_cast<PwOp>(k)) != std::string("invalid"); ++k) {
    ASSERT_TRUE(pw_op_from_name(pw_op_name(static_cast<PwOp>(k)), &back));
    EXPECT_EQ(back, static_cast<PwOp>(k));
  }
  EXPECT_FALSE(pw_op_from_name("nope", &back));
  EXPECT_STREQ(pw_op_name(static_cast<PwOp>(255)), "invalid");
}

TEST(Pointwise, VerifyRefuses) {
  const auto refusal = [](const PointwiseExpr& expr) { return expr.verify().message(); };
  EXPECT_THAT(refusal({}), HasSubstr("stores no value"));
  PointwiseExpr expr = single(PwOp::kAdd, DType::kF32);
  EXPECT_EQ(refusal(expr), "");
  PointwiseExpr bad = expr;
  bad.code[2].b = 2;
  EXPECT_THAT(refusal(bad), HasSubstr("v2 (add.f32): operand v2 is not defined before it"));
  bad = expr;
  bad.code[1].type = DType::kF16;
  EXPECT_THAT(refusal(bad), HasSubstr("operand v1 is f16, not f32"));
  bad = expr;
  bad.code[2].type = DType::kF16;
  EXPECT_THAT(refusal(bad), HasSubstr("gives f32"));
  bad = expr;
  bad.code[2].c = 1;
  EXPECT_THAT(refusal(bad), HasSubstr("takes 2 operands"));
  bad = expr;
  bad.code[2].op = static_cast<PwOp>(200);
  EXPECT_THAT(refusal(bad), HasSubstr("no operation has the number 200"));
  bad = expr;
  bad.code[0].type = DType::kString;
  EXPECT_THAT(refusal(bad), HasSubstr("no element type"));
  bad = expr;
  bad.num_inputs = 1;
  EXPECT_THAT(refusal(bad), HasSubstr("reads operand 1 of 1"));
  bad = expr;
  bad.outputs = {3};
  EXPECT_THAT(refusal(bad), HasSubstr("stores v3"));
  EXPECT_THAT(refusal(single(PwOp::kExp, DType::kI32)), HasSubstr("not defined on i32"));
  EXPECT_THAT(refusal(single(PwOp::kAdd, DType::kBool)), HasSubstr("not defined on bool"));
  EXPECT_THAT(refusal(single(PwOp::kEqual, DType::kF32)), HasSubstr("gives bool"));
  EXPECT_THAT(refusal(single(PwOp::kSelect, DType::kF32)), HasSubstr("operand v0 is f32, not bool"));
  EXPECT_THAT(refusal(single(PwOp::kShiftLeft, DType::kF32)), HasSubstr("not defined on f32"));
  PointwiseExpr longest = expr;
  while (longest.code.size() < static_cast<size_t>(limits::kMaxExprInstructions))
    longest.push(PwOp::kConst, DType::kF32);
  EXPECT_EQ(refusal(longest), "");
  longest.push(PwOp::kConst, DType::kF32);
  EXPECT_THAT(refusal(longest), HasSubstr("the limit is 256"));
}

TEST(Pointwise, FloatArithmetic) {
  EXPECT_EQ(binary(PwOp::kSub, 1, 3), -2);
  EXPECT_EQ(binary(PwOp::kDiv, 1, 0), kInf);
  EXPECT_EQ(binary(PwOp::kMin, 2, 1), 1);
  EXPECT_EQ(binary(PwOp::kMax, 2, 1), 2);
  for (const PwOp op : {PwOp::kMin, PwOp::kMax}) {
    EXPECT_TRUE(std::isnan(binary(op, kNan, 1)));
    EXPECT_TRUE(std::isnan(binary(op, 1, kNan)));
  }
  EXPECT_EQ(binary(PwOp::kPow, 2, 10), 1024);
  EXPECT_EQ(binary(PwOp::kMod, -7, 3), 2);
  EXPECT_EQ(binary(PwOp::kMod, 7, -3), -2);
  EXPECT_EQ(binary(PwOp::kFmod, -7, 3), -1);
  EXPECT_EQ(binary(PwOp::kPRelu, -2, 0.25), -0.5);
  EXPECT_EQ(binary(PwOp::kPRelu, 2, 0.25), 2);
  EXPECT_EQ(unary(PwOp::kRound, 2.5), 2);
  EXPECT_EQ(unary(PwOp::kRound, 3.5), 4);
  EXPECT_EQ(unary(PwOp::kRound, -0.5), 0);
  EXPECT_EQ(unary(PwOp::kCeil, 1.1), 2);
  EXPECT_EQ(unary(PwOp::kFloor, -1.1), -2);
  EXPECT_EQ(unary(PwOp::kSign, -3), -1);
  EXPECT_EQ(unary(PwOp::kSign, 0), 0);
  EXPECT_EQ(unary(PwOp::kReciprocal, 4), 0.25);
  EXPECT_EQ(unary(PwOp::kAbs, -4), 4);
  EXPECT_EQ(unary(PwOp::kNeg, 4), -4);
}

TEST(Pointwise, FunctionsAgreeWithTheLibrary) {
  const std::pair<PwOp, double (*)(double)> functions[] = {
      {PwOp::kSqrt, std::sqrt}, {PwOp::kExp, std::exp},     {PwOp::kLog, std::log},   {PwOp::kSin, std::sin},
      {PwOp::kCos, std::cos},   {PwOp::kTan, std::tan},     {PwOp::kAtan, std::atan}, {PwOp::kSinh, std::sinh},
      {PwOp::kCosh, std::cosh}, {PwOp::kAsinh, std::asinh}, {PwOp::kErf, std::erf},   {PwOp::kTanh, std::tanh}};
  for (const auto& [op, function] : functions) EXPECT_EQ(unary(op, 0.7), function(0.7)) << pw_op_name(op);
  EXPECT_EQ(unary(PwOp::kAsin, 0.7), std::asin(0.7));
  EXPECT_EQ(unary(PwOp::kAcos, 0.7), std::acos(0.7));
  EXPECT_EQ(unary(PwOp::kAtanh, 0.7), std::atanh(0.7));
  EXPECT_EQ(unary(PwOp::kAcosh, 1.7), std::acosh(1.7));
}

TEST(Pointwise, Activations) {
  const double x = 0.7;
  EXPECT_EQ(unary(PwOp::kRelu, -x), 0);
  EXPECT_TRUE(std::isnan(unary(PwOp::kRelu, kNan)));
  EXPECT_EQ(unary(PwOp::kLeakyRelu, -2, 0.1), -0.2);
  EXPECT_EQ(unary(PwOp::kClip, 9, 0, 6), 6);
  EXPECT_EQ(unary(PwOp::kClip, -9, -kInf, 6), -9);
  EXPECT_TRUE(std::isnan(unary(PwOp::kClip, kNan, 0, 6)));
  EXPECT_DOUBLE_EQ(unary(PwOp::kSigmoid, x), 1 / (1 + std::exp(-x)));
  EXPECT_EQ(unary(PwOp::kSigmoid, -1000), 0);
  EXPECT_EQ(unary(PwOp::kSigmoid, 1000), 1);
  EXPECT_NEAR(unary(PwOp::kGeluErf, x), 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 1e-15);
  EXPECT_NEAR(unary(PwOp::kGeluErf, -x), -0.5 * x * (1 + std::erf(-x / std::sqrt(2.0))), 1e-15);
  EXPECT_NEAR(unary(PwOp::kGeluTanh, x), 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))),
              1e-15);
  EXPECT_DOUBLE_EQ(unary(PwOp::kSilu, x, 1), x / (1 + std::exp(-x)));
  EXPECT_DOUBLE_EQ(unary(PwOp::kSilu, x, 1.702), x / (1 + std::exp(-1.702 * x)));
  EXPECT_DOUBLE_EQ(unary(PwOp::kHardSigmoid, x, 0.2, 0.5), 0.64);
  EXPECT_EQ(unary(PwOp::kHardSigmoid, 5, 0.2, 0.5), 1);
  EXPECT_DOUBLE_EQ(unary(PwOp::kHardSwish, x), x * (x + 3) / 6);
  EXPECT_DOUBLE_EQ(unary(PwOp::kSoftplus, x), std::log(1 + std::exp(x)));
  EXPECT_EQ(unary(PwOp::kSoftplus, 1000), 1000);
  EXPECT_GT(unary(PwOp::kSoftplus, -700), 0);
  EXPECT_DOUBLE_EQ(unary(PwOp::kMish, x), x * std::tanh(std::log(1 + std::exp(x))));
  EXPECT_DOUBLE_EQ(unary(PwOp::kSoftsign, -x), -x / 1.7);
  EXPECT_DOUBLE_EQ(unary(PwOp::kElu, -x, 2), 2 * (std::exp(-x) - 1));
  EXPECT_DOUBLE_EQ(unary(PwOp::kCelu, -x, 2), 2 * (std::exp(-x / 2) - 1));
  EXPECT_DOUBLE_EQ(unary(PwOp::kSelu, -x, 1.67, 1.05), 1.05 * 1.67 * (std::exp(-x) - 1));
  EXPECT_EQ(unary(PwOp::kThresholdedRelu, 1, 1), 0);
  EXPECT_EQ(unary(PwOp::kThresholdedRelu, 1.5, 1), 1.5);
  EXPECT_EQ(unary(PwOp::kShrink, -2, 1.5, 0.5), -1.5);
  EXPECT_EQ(unary(PwOp::kShrink, 2, 1.5, 0.5), 1.5);
  EXPECT_EQ(unary(PwOp::kShrink, 1, 1.5, 0.5), 0);
  EXPECT_EQ(unary(PwOp::kClip, 3, 0, 2), 2);
}

TEST(Pointwise, FloatTests) {
  EXPECT_TRUE(compared(PwOp::kLess, DType::kF32, f(1), f(2)));
  for (const PwOp op : {PwOp::kEqual, PwOp::kLess, PwOp::kLessEqual, PwOp::kGreater, PwOp::kGreaterEqual})
    EXPECT_FALSE(compared(op, DType::kF32, f(kNan), f(kNan))) << pw_op_name(op);
  const auto is = [](PwOp op, double x, double neg, double pos) {
    return run(single(op, DType::kF32, neg, pos, DType::kBool), {f(x)}).i;
  };
  EXPECT_EQ(is(PwOp::kIsNan, kNan, 0, 0), 1);
  EXPECT_EQ(is(PwOp::kIsInf, kInf, 1, 1), 1);
  EXPECT_EQ(is(PwOp::kIsInf, kInf, 1, 0), 0);
  EXPECT_EQ(is(PwOp::kIsInf, -kInf, 1, 0), 1);
  EXPECT_EQ(is(PwOp::kIsInf, kNan, 1, 1), 0);
}

TEST(Pointwise, IntegersWrap) {
  EXPECT_EQ(integer(PwOp::kAdd, DType::kI8, 127, 1), -128);
  EXPECT_EQ(integer(PwOp::kSub, DType::kU8, 0, 1), 255);
  EXPECT_EQ(integer(PwOp::kMul, DType::kI32, INT32_MAX, 2), -2);
  EXPECT_EQ(integer(PwOp::kAdd, DType::kI64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(integer(PwOp::kAdd, DType::kI4, 7, 1), -8);
  EXPECT_EQ(integer(PwOp::kNeg, DType::kI64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(integer(PwOp::kAbs, DType::kI8, -128), -128);
  EXPECT_EQ(integer(PwOp::kNot, DType::kU8, 1), 254);
  EXPECT_EQ(integer(PwOp::kNot, DType::kBool, 1), 0);
}

TEST(Pointwise, IntegerDivision) {
  EXPECT_EQ(integer(PwOp::kDiv, DType::kI32, -7, 2), -3);
  EXPECT_EQ(integer(PwOp::kDiv, DType::kI32, 7, 0), 0);
  EXPECT_EQ(integer(PwOp::kDiv, DType::kI32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(integer(PwOp::kDiv, DType::kI64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(integer(PwOp::kMod, DType::kI32, -7, 3), 2);
  EXPECT_EQ(integer(PwOp::kMod, DType::kI32, 7, -3), -2);
  EXPECT_EQ(integer(PwOp::kFmod, DType::kI32, -7, 3), -1);
  EXPECT_EQ(integer(PwOp::kMod, DType::kI64, INT64_MIN, -1), 0);
  EXPECT_EQ(integer(PwOp::kMod, DType::kI64, 5, 0), 0);
  EXPECT_EQ(integer(PwOp::kPow, DType::kI32, 3, 4), 81);
  EXPECT_EQ(integer(PwOp::kPow, DType::kI32, 2, -1), 0);
  EXPECT_EQ(integer(PwOp::kPow, DType::kI32, -1, -3), -1);
}

TEST(Pointwise, Unsigned64) {
  const auto big = static_cast<int64_t>(UINT64_MAX);
  EXPECT_TRUE(compared(PwOp::kGreater, DType::kU64, i(big), i(1)));
  EXPECT_FALSE(compared(PwOp::kGreater, DType::kI64, i(-1), i(1)));
  EXPECT_EQ(integer(PwOp::kDiv, DType::kU64, big, 2), INT64_MAX);
  EXPECT_EQ(static_cast<uint64_t>(integer(PwOp::kMod, DType::kU64, big, 10)), UINT64_MAX % 10);
  EXPECT_EQ(integer(PwOp::kMax, DType::kU64, big, 1), big);
  EXPECT_EQ(integer(PwOp::kMin, DType::kU64, big, 1), 1);
  EXPECT_EQ(integer(PwOp::kSign, DType::kU64, big), 1);
  EXPECT_EQ(integer(PwOp::kRelu, DType::kU64, big), big);
  EXPECT_EQ(integer(PwOp::kShiftRight, DType::kU64, big, 63), 1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kU64, DType::kF64, i(big)).f, 0x1p64);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF64, DType::kU64, f(0x1p63)).i, INT64_MIN);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kU64, DType::kI8, i(big)).i, 127);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF64, DType::kU64, f(-1)).i, 0);
}

TEST(Pointwise, Shifts) {
  EXPECT_EQ(integer(PwOp::kShiftLeft, DType::kU8, 0x81, 1), 2);
  EXPECT_EQ(integer(PwOp::kShiftLeft, DType::kU8, 1, 8), 0);
  EXPECT_EQ(integer(PwOp::kShiftRight, DType::kU32, 0x80000000, 31), 1);
  EXPECT_EQ(integer(PwOp::kShiftRight, DType::kI32, -8, 1), -4);
  EXPECT_EQ(integer(PwOp::kShiftRight, DType::kI32, -8, 40), -1);
  EXPECT_EQ(integer(PwOp::kShiftLeft, DType::kI64, 1, -1), 0);
  EXPECT_EQ(integer(PwOp::kXor, DType::kU8, 0xf0, 0xff), 0x0f);
  EXPECT_EQ(integer(PwOp::kAnd, DType::kBool, 1, 0), 0);
  EXPECT_EQ(integer(PwOp::kOr, DType::kBool, 1, 0), 1);
}

TEST(Pointwise, IntegerClip) {
  const auto clip = [](DType type, int64_t x, double low, double high) {
    return run(single(PwOp::kClip, type, low, high), {i(x)}).i;
  };
  EXPECT_EQ(clip(DType::kI32, 9, 0, 6), 6);
  EXPECT_EQ(clip(DType::kI32, -9, 0, kInf), 0);
  EXPECT_EQ(clip(DType::kI64, INT64_MAX, -kInf, kInf), INT64_MAX);
  EXPECT_EQ(clip(DType::kU8, 200, 0, 100), 100);
}

TEST(Pointwise, Casts) {
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kI32, f(-1.9)).i, -1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kU8, f(257)).i, 1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kI64, f(kNan)).i, 0);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kI64, f(kInf)).i, INT64_MAX);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kBool, f(0.1)).i, 1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kI32, DType::kBool, i(0)).i, 0);
  EXPECT_EQ(cast(PwOp::kCast, DType::kBool, DType::kF32, i(1)).f, 1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kF16, f(1.0002)).f, 1);
  EXPECT_EQ(cast(PwOp::kCast, DType::kF32, DType::kF16, f(70000)).f, kInf);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF32, DType::kF16, f(70000)).f, 65504);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF32, DType::kF16, f(-kInf)).f, -65504);
  EXPECT_TRUE(std::isnan(cast(PwOp::kCastSaturate, DType::kF32, DType::kF16, f(kNan)).f));
  EXPECT_TRUE(std::isnan(cast(PwOp::kCast, DType::kF32, DType::kF8E4M3, f(500)).f));
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF32, DType::kF8E4M3, f(500)).f, 448);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF32, DType::kI8, f(300)).i, 127);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kI32, DType::kU8, i(-5)).i, 0);
  EXPECT_EQ(cast(PwOp::kCastSaturate, DType::kF32, DType::kI4, f(-9)).i, -8);
  // One rounding from an integer to f32: 2^24 + 1 + 2^-30 would round up by way of f64 with more digits.
  EXPECT_EQ(cast(PwOp::kCast, DType::kI64, DType::kF32, i((int64_t{1} << 60) + (int64_t{1} << 36) + 1)).f,
            static_cast<float>((int64_t{1} << 60) + (int64_t{1} << 36) + 1));
}

TEST(Pointwise, NarrowFloatsRoundWhereStoredOrCast) {
  PointwiseExpr expr;  // (x + y) - x in f16: the sum keeps f32's digits
  const uint16_t x = expr.input(0, DType::kF16), y = expr.input(1, DType::kF16);
  const uint16_t sum = expr.push(PwOp::kAdd, DType::kF16, x, y);
  expr.outputs = {expr.push(PwOp::kSub, DType::kF16, sum, x)};
  EXPECT_EQ(run(expr, {f(2048), f(1)}).f, 1);
  const uint16_t rounded = expr.push(PwOp::kCast, DType::kF16, sum);
  expr.outputs = {expr.push(PwOp::kSub, DType::kF16, rounded, x)};
  EXPECT_EQ(run(expr, {f(2048), f(1)}).f, 0);
  expr.outputs = {sum};
  EXPECT_EQ(run(expr, {f(2048), f(1)}).f, 2048);
}

TEST(Pointwise, F32RoundsAfterEachInstruction) {
  PointwiseExpr expr;
  const uint16_t x = expr.input(0, DType::kF32), y = expr.input(1, DType::kF32);
  expr.outputs = {expr.push(PwOp::kSub, DType::kF32, expr.push(PwOp::kAdd, DType::kF32, x, y), x)};
  EXPECT_EQ(run(expr, {f(16777216), f(1)}).f, 0);
}

TEST(Pointwise, Quantize) {
  const auto quantize = [](double x, double scale, int64_t zero, DType type) {
    PointwiseExpr expr;
    const uint16_t a = expr.input(0, DType::kF32), b = expr.input(1, DType::kF32);
    const uint16_t c = is_float(type) ? expr.constant(0, DType::kF32) : expr.input(2, type);
    expr.outputs = {expr.push(PwOp::kQuantize, type, a, b, c)};
    return run(expr, {f(x), f(scale), i(zero)});
  };
  EXPECT_EQ(quantize(2.5, 1, 0, DType::kI8).i, 2);
  EXPECT_EQ(quantize(3.5, 1, 0, DType::kI8).i, 4);
  EXPECT_EQ(quantize(2.5, 1, 1, DType::kU8).i, 3);
  EXPECT_EQ(quantize(1e9, 0.1f, 0, DType::kI8).i, 127);
  EXPECT_EQ(quantize(-1e9, 0.1f, 128, DType::kU8).i, 0);
  EXPECT_EQ(quantize(kNan, 1, 0, DType::kI8).i, 0);
  EXPECT_EQ(quantize(100, 10, 3, DType::kI4).i, 7);
  EXPECT_EQ(quantize(0.3, 0.1f, 0, DType::kF8E4M3).f, 3);
  EXPECT_EQ(quantize(1e6, 1, 0, DType::kF8E4M3).f, 448);
}

TEST(Pointwise, SubstituteRenumbers) {
  // outer(x, y, z) = relu(x * y) + z with y = sigmoid(p - q)
  const auto outer = *PointwiseExpr::parse(
      "v0=input.f32(0); v1=input.f32(1); v2=mul.f32(v0,v1); v3=relu.f32(v2); v4=input.f32(2); v5=add.f32(v3,v4); out "
      "v5, v1");
  const auto inner =
      *PointwiseExpr::parse("v0=input.f32(0); v1=input.f32(1); v2=sub.f32(v0,v1); v3=sigmoid.f32(v2); out v3");
  const PointwiseExpr merged = substitute(outer, 1, inner);
  ASSERT_TRUE(merged.verify().ok()) << merged.verify().message();
  EXPECT_EQ(merged.num_inputs, 4);
  const double x = 2, z = 3, p = 0.5, q = -1, y = static_cast<float>(1 / (1 + std::exp(q - p)));
  PwScalar out[2];
  const PwScalar operands[] = {f(x), f(z), f(p), f(q)};
  evaluate(merged, operands, out);
  EXPECT_NEAR(out[0].f, x * y + z, 1e-6);
  EXPECT_EQ(out[1].f, y);
}

TEST(Pointwise, SubstituteCastsBetweenTypes) {
  const auto outer = *PointwiseExpr::parse("v0=input.f32(0); v1=relu.f32(v0); out v1");
  const auto inner = *PointwiseExpr::parse("v0=input.i32(0); v1=neg.i32(v0); out v1");
  const PointwiseExpr merged = substitute(outer, 0, inner);
  EXPECT_EQ(run(merged, {i(-5)}).f, 5);
  EXPECT_FALSE(substitute(outer, 1, inner).verify().ok());
  const auto two = *PointwiseExpr::parse("v0=input.f32(0); out v0, v0");
  EXPECT_FALSE(substitute(outer, 0, two).verify().ok());
}

}  // namespace
}  // namespace wootz
