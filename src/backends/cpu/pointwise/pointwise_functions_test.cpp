// Functions of one operand: their accuracy, and what they make of special values.
#include <cmath>

#include "backends/cpu/pointwise/pointwise_testing.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using rig::random_tensor;
using rig::seed;

PointwiseExpr unary_expr(PwOp op, DType type, double imm0 = 0, double imm1 = 0) {
  PointwiseExpr e;
  const uint16_t x = e.input(0, type);
  const bool test = op == PwOp::kIsNan || op == PwOp::kIsInf;
  e.outputs = {e.push(op, test ? DType::kBool : type, x, 0, 0, imm0, imm1)};
  return e;
}

struct UnaryCase {
  PwOp op;
  double imm0 = 0, imm1 = 0, low = -20, high = 20;
};
const UnaryCase kUnary[] = {{PwOp::kNeg},
                            {PwOp::kAbs},
                            {PwOp::kSign},
                            {PwOp::kSqrt, 0, 0, 0, 100},
                            {PwOp::kReciprocal},
                            {PwOp::kExp},
                            {PwOp::kLog, 0, 0, 0, 100},
                            {PwOp::kSin},
                            {PwOp::kCos},
                            {PwOp::kTan, 0, 0, -1.4, 1.4},
                            {PwOp::kAsin, 0, 0, -1, 1},
                            {PwOp::kAcos, 0, 0, -1, 1},
                            {PwOp::kAtan},
                            {PwOp::kSinh, 0, 0, -5, 5},
                            {PwOp::kCosh, 0, 0, -5, 5},
                            {PwOp::kAsinh},
                            {PwOp::kAcosh, 0, 0, 1, 9},
                            {PwOp::kAtanh, 0, 0, -0.99, 0.99},
                            {PwOp::kErf, 0, 0, -5, 5},
                            {PwOp::kCeil},
                            {PwOp::kFloor},
                            {PwOp::kRound},
                            {PwOp::kIsNan},
                            {PwOp::kIsInf, 1, 1},
                            {PwOp::kIsInf, 1, 0},
                            {PwOp::kIsInf, 0, 1},
                            {PwOp::kRelu},
                            {PwOp::kLeakyRelu, 0.1},
                            {PwOp::kClip, -1.5, 4},
                            {PwOp::kSigmoid},
                            {PwOp::kTanh, 0, 0, -4, 4},
                            {PwOp::kGeluErf, 0, 0, -6, 6},
                            {PwOp::kGeluTanh, 0, 0, -6, 6},
                            {PwOp::kSilu, 1.0},
                            {PwOp::kSilu, 1.702},
                            {PwOp::kHardSigmoid, 0.2, 0.5},
                            {PwOp::kHardSwish},
                            {PwOp::kMish},
                            {PwOp::kSoftplus},
                            {PwOp::kSoftsign},
                            {PwOp::kElu, 0.7},
                            {PwOp::kCelu, 1.3},
                            {PwOp::kSelu, 1.67, 1.05},
                            {PwOp::kThresholdedRelu, 1.0},
                            {PwOp::kShrink, 0.5, 0.25}};

TEST(Pointwise, UnaryFunctionsOfFloats) {
  std::mt19937_64 rng(seed());
  for (const UnaryCase& c : kUnary)
    for (DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      const HostTensor x = random_tensor(rng, type, {301}, c.low, c.high);
      check_expr(unary_expr(c.op, type, c.imm0, c.imm1), {x}, {301},
                 {.tolerance = tolerance_for(type == DType::kF32 ? DType::kF32 : type, 1)});
    }
}

// Error in units of the last place, against double precision; where the true value is tiny, against the smallest
// normal.
double worst_ulp(PwOp op, double low, double high, const UnaryCase& c, Isa isa, bool relative_to_one) {
  const PointwiseExpr e = unary_expr(op, DType::kF32, c.imm0, c.imm1);
  const auto code = PointwiseCode::compile(e, isa).value();
  constexpr int n = 40001;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<float>(low + (high - low) * i / (n - 1));
  const auto bound = BoundPointwise::bind(code, std::vector<PwView>{{DType::kF32, Layout::kLinear, {n}}},
                                          {DType::kF32, Layout::kLinear, {n}})
                         .value();
  const void* in = x.data();
  void* out = y.data();
  bound.run(0, n, &in, &out);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    PwScalar a{x[static_cast<size_t>(i)], 0}, r;
    PointwiseExpr wide = unary_expr(op, DType::kF64, c.imm0, c.imm1);
    evaluate(wide, std::span(&a, 1), std::span(&r, 1));
    const double unit = std::max(relative_to_one ? 1.0 : 1.2e-38, std::fabs(r.f)) * 0x1p-23;
    worst = std::max(worst, std::fabs(y[static_cast<size_t>(i)] - r.f) / unit);
  }
  return worst;
}

TEST(Pointwise, VectorFunctionsAreAccurateToAFewUnits) {
  struct Range {
    UnaryCase c;
    double low, high;
    bool to_one;
    double limit;
  };
  const Range ranges[] = {{{PwOp::kExp}, -87, 88, false, 2},      {{PwOp::kLog}, 1e-3, 1e3, false, 3},
                          {{PwOp::kTanh}, -10, 10, false, 3},     {{PwOp::kErf}, -5, 5, false, 3},
                          {{PwOp::kSigmoid}, -80, 80, false, 4},  {{PwOp::kGeluErf}, -10, 10, true, 4},
                          {{PwOp::kGeluErf}, -4, 4, false, 20},   {{PwOp::kGeluTanh}, -5, 5, false, 40},
                          {{PwOp::kSilu, 1}, -50, 50, false, 4},  {{PwOp::kSoftplus}, -60, 60, false, 5},
                          {{PwOp::kMish}, -30, 30, false, 6},     {{PwOp::kElu, 1}, -20, 2, false, 3},
                          {{PwOp::kElu, 1}, -0.01, 0.0, false, 3}};
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa > cpu_info().best()) continue;
    for (const Range& r : ranges)
      EXPECT_LE(worst_ulp(r.c.op, r.low, r.high, r.c, isa, r.to_one), r.limit)
          << pw_op_name(r.c.op) << " " << isa_name(isa);
  }
}

TEST(Pointwise, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {0.f,   -0.f,   1.f,  -1.f,  inf,  -inf, nan,   1e-40f, -1e-40f, 3e38f, -3e38f,
                                     88.8f, -104.f, 0.5f, -0.5f, 2.5f, 3.5f, -2.5f, 1e-20f, 200.f,   -200.f};
  const HostTensor x = HostTensor::from<float>(values, {static_cast<int64_t>(values.size())});
  for (const UnaryCase& c : kUnary) {
    const PointwiseExpr e = unary_expr(c.op, DType::kF32, c.imm0, c.imm1);
    const HostTensor want = oracle(e, {x}, x.dims())[0];
    for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa > cpu_info().best()) continue;
      const auto bound = BoundPointwise::bind(PointwiseCode::compile(e, isa).value(),
                                              std::vector<PwView>{{DType::kF32, Layout::kLinear, x.dims()}},
                                              {e.output_type(), Layout::kLinear, x.dims()})
                             .value();
      HostTensor got = HostTensor::allocate(e.output_type(), x.dims()).value();
      const void* in = x.data();
      void* out = got.mutable_data();
      bound.run(0, x.volume(), &in, &out);
      for (int64_t i = 0; i < x.volume(); ++i) {
        const double a = got.get_f64(i), b = want.get_f64(i);
        const bool same = std::isnan(a) ? std::isnan(b)
                          : std::isinf(b) || std::isinf(a)
                              ? a == b
                              : std::fabs(a - b) <= 2e-5 * std::max(1e-30, std::fabs(b)) + 1e-37;
        // Infinity times an underflowed zero: the limit (0) is as good as the oracle's NaN.
        EXPECT_TRUE(same || (std::isnan(b) && a == 0 && std::isinf(values[static_cast<size_t>(i)])))
            << pw_op_name(c.op) << "(" << values[static_cast<size_t>(i)] << ") = " << a << ", expected " << b << " "
            << isa_name(isa);
      }
    }
  }
}

}  // namespace
}  // namespace wootz::cpu
