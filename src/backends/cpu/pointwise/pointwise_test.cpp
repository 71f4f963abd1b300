#include <algorithm>
#include <cmath>
#include <span>

#include "backends/cpu/pointwise/pointwise_testing.h"
#include "base/tolerance.h"

namespace wootz::cpu {
namespace {

using rig::check;
using rig::random_tensor;
using rig::seed;

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

// By a scale and a zero point that the expression has as numbers: halves, what is beyond the type, and no numbers.
TEST(Pointwise, QuantizeByNumbers) {
  std::mt19937_64 rng(seed());
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  for (DType type : {DType::kI8, DType::kU8})
    for (const double zero : {0.0, 1.0, 2.0, 127.0, type == DType::kI8 ? -128.0 : 255.0})
      for (const double scale : {1.0, 0.37, -0.5, 1e-30, 0.0})
        for (const bool cast : {false, true}) {
          PointwiseExpr e;
          const uint16_t x = e.input(0, DType::kF32), s = e.constant(scale, DType::kF32);
          uint16_t z = e.constant(zero, type);
          if (cast) z = e.push(PwOp::kCast, DType::kF32, z);
          e.outputs = {e.push(PwOp::kQuantize, type, x, s, z)};
          const auto n = static_cast<int64_t>(rng() % 1500 + 12);
          HostTensor t = random_tensor(rng, DType::kF32, {n}, -150, 150);
          const std::span<float> values = t.as_mutable<float>();
          for (size_t i = 0; i < values.size(); i += 2)
            values[i] = static_cast<float>((std::floor(static_cast<double>(values[i])) + 0.5) * scale);
          const float special[] = {kNaN, -kNaN, kInfinity, -kInfinity, 3e38f, -3e38f, -0.0f, 254.5f, 382.5f, -128.5f};
          std::shuffle(values.begin(), values.end(), rng);
          std::copy(std::begin(special), std::end(special),
                    values.begin() + static_cast<ptrdiff_t>(rng() % (values.size() - 10)));
          check_expr(e, {t}, {n}, {.tolerance = 0, .in_place = false});
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
