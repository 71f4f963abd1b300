#include <cmath>

#include "backends/cpu/pointwise/engine.h"
#include "backends/cpu/testing/kernel_runner.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using rig::check;
using rig::random_tensor;
using rig::seed;

// The oracle: base's evaluate(), element by element.
std::vector<HostTensor> oracle(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs, const Dims& dims) {
  std::vector<HostTensor> out;
  for (size_t o = 0; o < expr.outputs.size(); ++o)
    out.push_back(HostTensor::allocate(expr.output_type(o), dims).value());
  std::vector<PwScalar> in(expr.num_inputs), result(expr.outputs.size());
  for (int64_t e = 0; e < dims.volume(); ++e) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].valid()) continue;
      const Dims strides = broadcast_strides(inputs[k].dims(), dims);
      int64_t rest = e, offset = 0;
      for (int d = dims.rank() - 1; d >= 0; --d) {
        offset += rest % dims[static_cast<size_t>(d)] * strides[static_cast<size_t>(d)];
        rest /= dims[static_cast<size_t>(d)];
      }
      if (is_float(inputs[k].dtype()))
        in[k].f = inputs[k].get_f64(offset);
      else
        in[k].i = inputs[k].get_i64(offset);
    }
    evaluate(expr, in, result);
    for (size_t o = 0; o < out.size(); ++o) {
      if (is_float(out[o].dtype()))
        out[o].set_f64(e, result[o].f);
      else
        out[o].set_i64(e, result[o].i);
    }
  }
  return out;
}

Problem problem_of(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs, const Dims& dims) {
  Problem p;
  p.set_family(Family::kPointwise);
  p.epilogue = expr;
  for (const HostTensor& t : inputs) p.inputs.push_back(rig::desc_of(t));
  for (size_t o = 0; o < expr.outputs.size(); ++o) p.outputs.push_back(rig::desc(expr.output_type(o), dims));
  return p;
}

void check_expr(const PointwiseExpr& expr, const std::vector<HostTensor>& inputs, const Dims& dims,
                rig::Options options = {}) {
  ASSERT_TRUE(expr.verify().ok()) << expr.verify().to_string() << " " << expr.to_string();
  SCOPED_TRACE(expr.to_string());
  check(problem_of(expr, inputs, dims), inputs, oracle(expr, inputs, dims), options);
}

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

PointwiseExpr binary_expr(PwOp op, DType type) {
  PointwiseExpr e;
  const uint16_t x = e.input(0, type), y = e.input(1, type);
  const bool compares = op >= PwOp::kEqual && op <= PwOp::kGreaterEqual;
  e.outputs = {e.push(op, compares ? DType::kBool : type, x, y)};
  return e;
}

TEST(Pointwise, BinaryOperationsOfEveryType) {
  std::mt19937_64 rng(seed());
  const DType types[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,  DType::kU8,  DType::kI16,
                         DType::kU16, DType::kI32, DType::kU32,  DType::kI64, DType::kU64, DType::kBool};
  for (int op = static_cast<int>(PwOp::kAdd); op <= static_cast<int>(PwOp::kPRelu); ++op)
    for (DType type : types) {
      const PointwiseExpr e = binary_expr(static_cast<PwOp>(op), type);
      if (!e.verify().ok()) continue;
      const bool power = e.code[2].op == PwOp::kPow;
      const HostTensor x = random_tensor(rng, type, {5, 77}, power && is_float(type) ? 0.1 : -100, power ? 4 : 100);
      const HostTensor y = random_tensor(rng, type, {5, 77}, -9, 9);
      check_expr(e, {x, y}, {5, 77}, {.tolerance = tolerance_for(type, 1)});
    }
}

TEST(Pointwise, Broadcasting) {
  std::mt19937_64 rng(seed());
  PointwiseExpr e;
  const uint16_t a = e.input(0, DType::kF32), b = e.input(1, DType::kF32), c = e.input(2, DType::kF32);
  e.outputs = {e.push(PwOp::kSub, DType::kF32, e.push(PwOp::kMul, DType::kF32, a, b), c)};
  for (int round = 0; round < 60; ++round) {
    const int rank = 1 + static_cast<int>(rng() % 5);
    Dims dims;
    for (int d = 0; d < rank; ++d)
      dims.push_back(std::array<int64_t, 6>{1, 2, 3, 7, 33, 300}[rng() % (d + 1 == rank ? 6 : 4)]);
    std::vector<HostTensor> inputs;
    for (int k = 0; k < 3; ++k) {
      Dims shape;
      for (int d = static_cast<int>(rng() % static_cast<uint64_t>(rank + 1)); d < rank; ++d)
        shape.push_back(rng() % 2 ? 1 : dims[static_cast<size_t>(d)]);
      inputs.push_back(random_tensor(rng, DType::kF32, k == 0 && round % 2 ? dims : shape));
    }
    check_expr(e, inputs, dims, {.misaligned = round % 3 == 0});
  }
}

TEST(Pointwise, ChannelOperandsInImageLayouts) {
  std::mt19937_64 rng(seed());
  PointwiseExpr e;
  const uint16_t a = e.input(0, DType::kF32), b = e.input(1, DType::kF32), c = e.input(2, DType::kF32);
  // sigmoid(0) is not 0: padding must be cleared.
  e.outputs = {
      e.push(PwOp::kSigmoid, DType::kF32, e.push(PwOp::kAdd, DType::kF32, e.push(PwOp::kMul, DType::kF32, a, b), c))};
  for (int64_t channels : {16, 32, 24, 5, 1}) {
    const Dims dims{2, channels, 5, 7};
    std::vector<HostTensor> inputs = {random_tensor(rng, DType::kF32, dims),
                                      random_tensor(rng, DType::kF32, {1, channels, 1, 1}),
                                      random_tensor(rng, DType::kF32, dims)};
    Problem p = problem_of(e, inputs, dims);
    check(p, inputs, oracle(e, inputs, dims));
    p.inputs[1].constant = true;
    check(p, inputs, oracle(e, inputs, dims));
  }
}

TEST(Pointwise, QuantizeAndDequantize) {
  std::mt19937_64 rng(seed());
  for (DType type : {DType::kI8, DType::kU8, DType::kI32, DType::kF8E4M3, DType::kF8E5M2}) {
    PointwiseExpr e;
    const uint16_t x = e.input(0, DType::kF32), s = e.input(1, DType::kF32);
    const uint16_t zero = is_float(type) ? e.constant(0, DType::kF32) : e.input(2, type);
    const uint16_t q = e.push(PwOp::kQuantize, type, x, s, zero);
    const uint16_t back = e.push(PwOp::kCast, DType::kF32, q);
    e.outputs = {q, e.push(PwOp::kMul, DType::kF32, back, s)};
    std::vector<HostTensor> inputs = {random_tensor(rng, DType::kF32, {3, 100}, -30, 30),
                                      random_tensor(rng, DType::kF32, {100}, 0.05, 0.2)};
    if (!is_float(type)) inputs.push_back(random_tensor(rng, type, {100}, -3, 3));
    inputs[0].as_mutable<float>()[7] = std::numeric_limits<float>::infinity();
    inputs[0].as_mutable<float>()[8] = -std::numeric_limits<float>::infinity();
    if (!is_float(type)) inputs[0].as_mutable<float>()[9] = std::numeric_limits<float>::quiet_NaN();
    check_expr(e, inputs, {3, 100}, {.tolerance = 1e-6});
  }
}

TEST(Pointwise, CastsBetweenAllTypes) {
  std::mt19937_64 rng(seed());
  const DType types[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,    DType::kI8,
                         DType::kU8,  DType::kI16, DType::kU16,  DType::kI32,    DType::kU32,
                         DType::kI64, DType::kU64, DType::kBool, DType::kF8E4M3, DType::kF8E5M2Fnuz};
  for (DType from : types)
    for (DType to : types)
      for (PwOp op : {PwOp::kCast, PwOp::kCastSaturate}) {
        PointwiseExpr e;
        const uint16_t x = e.input(0, from);
        e.outputs = {e.push(op, to, x)};
        if (!e.verify().ok()) continue;
        HostTensor t = random_tensor(rng, from, {130}, -300, 300);
        if (is_float(from)) {
          t.set_f64(3, 1e30);
          t.set_f64(4, -1e30);
        }
        check_expr(e, {t}, {130}, {.tolerance = 0, .in_place = false});
      }
}

// Random programs of f32, bool and i32 values.
TEST(Pointwise, RandomExpressions) {
  std::mt19937_64 rng(seed());
  for (int round = 0; round < 60; ++round) {
    PointwiseExpr e;
    std::vector<uint16_t> floats, bools, ints;
    const int operands = 1 + static_cast<int>(rng() % 4);
    std::vector<HostTensor> inputs;
    const Dims dims{static_cast<int64_t>(rng() % 4 + 1), static_cast<int64_t>(rng() % 6 + 1),
                    static_cast<int64_t>(rng() % 400 + 1)};
    for (int k = 0; k < operands; ++k) {
      const DType type = std::array<DType, 4>{DType::kF32, DType::kF16, DType::kI32, DType::kF32}[rng() % 4];
      Dims shape = dims;
      for (size_t d = 0; d < 3; ++d)
        if (rng() % 3 == 0) shape[d] = 1;
      inputs.push_back(random_tensor(rng, type, shape));
      const uint16_t v = e.input(static_cast<uint16_t>(k), type);
      if (type == DType::kI32)
        ints.push_back(v), floats.push_back(e.push(PwOp::kCast, DType::kF32, v));
      else if (type == DType::kF16)
        floats.push_back(e.push(PwOp::kCast, DType::kF32, v));
      else
        floats.push_back(v);
    }
    floats.push_back(e.constant(0.75, DType::kF32));
    const int length = 1 + static_cast<int>(rng() % 40);
    const auto any = [&](const std::vector<uint16_t>& from) { return from[rng() % from.size()]; };
    for (int i = 0; i < length; ++i) {
      switch (rng() % 7) {
        case 0: floats.push_back(e.push(PwOp::kAdd, DType::kF32, any(floats), any(floats))); break;
        case 1: floats.push_back(e.push(PwOp::kTanh, DType::kF32, any(floats))); break;
        case 2: floats.push_back(e.push(PwOp::kMax, DType::kF32, any(floats), any(floats))); break;
        case 3: bools.push_back(e.push(PwOp::kLess, DType::kBool, any(floats), any(floats))); break;
        case 4:
          if (!bools.empty())
            floats.push_back(e.push(PwOp::kSelect, DType::kF32, any(bools), any(floats), any(floats)));
          break;
        case 5: floats.push_back(e.push(PwOp::kSigmoid, DType::kF32, any(floats))); break;
        default: floats.push_back(e.push(PwOp::kClip, DType::kF32, any(floats), 0, 0, -2, 2)); break;
      }
    }
    e.outputs = {floats.back()};
    if (rng() % 2) e.outputs.push_back(any(floats));
    if (rng() % 2 && !bools.empty()) e.outputs.push_back(bools.back());
    // Comparisons of values that differ by rounding may go either way: compare without them.
    if (!bools.empty() && e.outputs.size() >= 1) {
      bool transcendental = false;
      for (const PwInstr& in : e.code) transcendental |= in.op == PwOp::kTanh || in.op == PwOp::kSigmoid;
      if (transcendental) continue;
    }
    check_expr(e, inputs, dims, {.tolerance = 1e-5});
  }
}

TEST(Pointwise, LongExpressionsKeepManyValuesAlive) {
  std::mt19937_64 rng(seed());
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF64);
  std::vector<uint16_t> alive;
  for (int i = 0; i < 100; ++i) alive.push_back(e.push(PwOp::kMul, DType::kF64, x, e.constant(1.0 + i, DType::kF64)));
  uint16_t sum = alive[0];
  for (size_t i = 1; i < alive.size() && e.code.size() < 250; ++i) sum = e.push(PwOp::kAdd, DType::kF64, sum, alive[i]);
  e.outputs = {sum};
  const HostTensor t = random_tensor(rng, DType::kF64, {517});
  ASSERT_TRUE(e.verify().ok()) << e.verify().to_string();
  check_expr(e, {t}, {517}, {.tolerance = 1e-12});
}

TEST(Pointwise, OutputsThatAreInputsOrConstantsOrTwice) {
  std::mt19937_64 rng(seed());
  PointwiseExpr e;
  const uint16_t x = e.input(0, DType::kF16), y = e.input(1, DType::kF32);
  const uint16_t c = e.constant(3, DType::kI64), r = e.push(PwOp::kRelu, DType::kF32, y);
  e.outputs = {x, y, c, r, r, e.push(PwOp::kCast, DType::kF32, x), e.push(PwOp::kCast, DType::kF16, r)};
  check_expr(e, {random_tensor(rng, DType::kF16, {9, 50}), random_tensor(rng, DType::kF32, {9, 1})}, {9, 50},
             {.tolerance = 0});
}

TEST(Pointwise, EmptyTensorsAndScalars) {
  std::mt19937_64 rng(seed());
  for (const Dims& dims : {Dims{0}, Dims{3, 0, 5}, Dims{}, Dims{1, 1}, Dims{2, 0, 3, 4}})
    check_expr(binary_expr(PwOp::kAdd, DType::kF32),
               {random_tensor(rng, DType::kF32, dims), random_tensor(rng, DType::kF32, {})}, dims);
}

TEST(Pointwise, RefusesWhatItCannot) {
  PointwiseExpr e;
  e.outputs = {e.push(PwOp::kCast, DType::kF32, e.input(0, DType::kI4))};
  Problem p = problem_of(e, {HostTensor::allocate(DType::kI4, {4}).value()}, {4});
  EXPECT_TRUE(rig::offers_for(p, "avx512").empty());
  PointwiseExpr add = binary_expr(PwOp::kAdd, DType::kF32);
  p = problem_of(add, {HostTensor::allocate(DType::kF32, {4}).value(), HostTensor::allocate(DType::kF32, {3}).value()},
                 {4});
  EXPECT_TRUE(rig::offers_for(p, "avx512").empty());
}

}  // namespace
}  // namespace wootz::cpu
