// How far right results may lie apart.
#include "tuner/measure/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/chain.h"

namespace wootz {
namespace {

HostTensor filled(const Dims& dims, double value) {
  HostTensor t = HostTensor::allocate(DType::kBF16, dims).value();
  for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, value);
  return t;
}

TensorDesc described(const HostTensor& t, bool constant) {
  return {t.dtype(), Layout::kLinear, t.dims(), t.dims(), constant};
}

// Of two operands, with sums in FP32.
Problem product_of(const CheckCase& expected) {
  Problem p;
  p.params = GemmParams{};
  p.inputs = {described(expected.inputs[0], false), described(expected.inputs[1], true)};
  p.outputs = {described(expected.expected[0], false)};
  p.num_main = 2;
  p.acc_dtype = DType::kF32;
  return p;
}

// Sums of 4, of which the expression leaves little: what rounds them to 16 bits is all that differs.
TEST(Agreement, KnowsWhatASumIsRoundedToBeforeAnExpressionMakesLittleOfIt) {
  CheckCase expected;
  expected.inputs = {filled({20, 64}, 1), filled({64, 16}, 0.0625), filled({16}, -4)};
  expected.expected = {filled({20, 16}, 0.001)};
  Problem p;
  p.params = GemmParams{};
  p.inputs = {described(expected.inputs[0], false), described(expected.inputs[1], true),
              described(expected.inputs[2], true)};
  p.outputs = {described(expected.expected[0], false)};
  p.num_main = 2;
  p.acc_dtype = DType::kBF16;
  PointwiseExpr& e = p.epilogue;
  e.num_inputs = 2;
  const uint16_t sum = e.input(0, DType::kBF16);
  e.outputs = {e.push(PwOp::kAdd, DType::kBF16, sum, e.input(1, DType::kBF16))};
  const auto agrees = [&](double value) {
    double error = 0;
    return disagreement(p, expected, {filled({20, 16}, value)}, &error).empty();
  };
  EXPECT_TRUE(agrees(0.001));
  EXPECT_TRUE(agrees(0.001 + 4 * 0x1p-8));  // the other neighbour of 4
  EXPECT_FALSE(agrees(0.001 + 4 * 0x1p-6));
  EXPECT_FALSE(agrees(NAN));
  p.acc_dtype = DType::kF32;  // nothing is rounded on the way
  EXPECT_FALSE(agrees(0.001 + 4 * 0x1p-8));
}

// The mean is subtracted, so that equal weights leave nothing of a row's products.
TEST(Agreement, KnowsWhatNormalizedRowsAreRoundedTo) {
  CheckCase expected;
  expected.inputs = {filled({20, 64}, 1), filled({64, 16}, 0.5)};
  expected.expected = {filled({20, 16}, 0.001)};
  Problem norm, product;
  norm.params = NormParams{.axis = 1};
  norm.inputs = norm.outputs = {described(expected.inputs[0], false)};
  norm.num_main = 1;
  norm.acc_dtype = DType::kBF16;
  product.params = GemmParams{};
  product.inputs = {norm.outputs[0], described(expected.inputs[1], true)};
  product.outputs = {described(expected.expected[0], false)};
  product.num_main = 2;
  product.acc_dtype = DType::kBF16;
  const Problem p = make_chain(norm, product);
  const auto agrees = [&](double value) {
    double error = 0;
    return disagreement(p, expected, {filled({20, 16}, value)}, &error).empty();
  };
  EXPECT_TRUE(agrees(0.001 + 0x1p-8 * 8 * 4 * 0.9));  // rows are 8 long, columns 4
  EXPECT_FALSE(agrees(0.001 + 0x1p-8 * 8 * 4 * 1.2));
}

// A product whose result is rounded to floats of 8 bits and comes back, next to the border of two of them.
TEST(Agreement, KnowsTheStepsOfFloatsOf8BitsThatComeBack) {
  CheckCase expected;
  expected.inputs = {filled({20, 64}, 1), filled({64, 16}, 0.0625)};
  expected.expected = {filled({20, 16}, 1)};
  Problem p = product_of(expected);
  const auto agrees = [&](double value) {
    double error = 0;
    return disagreement(p, expected, {filled({20, 16}, value)}, &error).empty();
  };
  EXPECT_FALSE(agrees(1.125));
  PointwiseExpr& e = p.epilogue;
  e.num_inputs = 1;
  const uint16_t narrow = e.push(PwOp::kCastSaturate, DType::kF8E4M3, e.input(0, DType::kF32));
  e.outputs = {e.push(PwOp::kCast, DType::kBF16, narrow)};
  EXPECT_TRUE(agrees(1.125));
  EXPECT_FALSE(agrees(1.25));
  EXPECT_FALSE(agrees(NAN));
}

// What cancellation leaves of sums of a grid's values is in the grid's steps.
TEST(Agreement, KnowsTheScaleOfWhatCancels) {
  CheckCase expected;
  expected.inputs = {filled({20, 64}, 256), filled({64, 16}, 256)};
  expected.expected = {filled({20, 16}, 0x1p-20)};
  Problem p = product_of(expected);
  const auto agrees = [&](double value) {
    double error = 0;
    return disagreement(p, expected, {filled({20, 16}, value)}, &error).empty();
  };
  EXPECT_TRUE(agrees(0x1p-3));  // of terms of 65,536
  p.as<GemmParams>().x_scale = {0x1p-8};
  p.as<GemmParams>().w_scale = {0x1p-8};
  EXPECT_FALSE(agrees(0x1p-3));
  EXPECT_TRUE(agrees(0x1p-19));  // of terms of 1
}

// The second convolution may leave little of what is in between.
TEST(Agreement, KnowsWhatIsRoundedBetweenConvolutions) {
  CheckCase expected;
  expected.inputs = {filled({2, 4, 5, 5}, 1), filled({8, 4, 1, 1}, 0.5), filled({16, 8, 1, 1}, 0.25)};
  expected.expected = {filled({2, 16, 5, 5}, 0.001)};
  const HostTensor between = filled({2, 8, 5, 5}, 1);
  const auto convolution = [](const HostTensor& x, const HostTensor& w, const HostTensor& y) {
    Problem p;
    p.params = ConvParams{};
    p.inputs = {described(x, false), described(w, true)};
    p.outputs = {described(y, false)};
    p.num_main = 2;
    p.acc_dtype = DType::kBF16;
    return p;
  };
  const Problem p = make_chain(convolution(expected.inputs[0], expected.inputs[1], between),
                               convolution(between, expected.inputs[2], expected.expected[0]));
  const auto agrees = [&](double value) {
    double error = 0;
    return disagreement(p, expected, {filled({2, 16, 5, 5}, value)}, &error).empty();
  };
  EXPECT_TRUE(agrees(0.001 + 0x1p-8 * 0.7 * 0.9));  // the filters are 1 and 0.7 long
  EXPECT_FALSE(agrees(0.001 + 0x1p-8 * 0.7 * 1.2));
  EXPECT_FALSE(agrees(NAN));
}

}  // namespace
}  // namespace wootz
