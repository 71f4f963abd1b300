// The oracle of the expression language: one scalar at a time, every case spelled out.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "base/pointwise_block.h"

namespace wootz {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Floats

double round_to(DType type, double value) { return type == DType::kF64 ? value : static_cast<float>(value); }

// The value as a tensor of `type` would hold it.
double stored(DType type, double value, bool saturate) {
  const auto f = static_cast<float>(value);
  switch (type) {
    case DType::kF64: return value;
    case DType::kF32: return f;
    case DType::kF16: return f16_to_f32(f32_to_f16(f));
    case DType::kBF16: return bf16_to_f32(f32_to_bf16(f));
    default: return small_float_to_f32(type, f32_to_small_float(type, f, saturate));
  }
}

double largest(DType type) {
  switch (type) {
    case DType::kF64: return std::numeric_limits<double>::max();
    case DType::kF32: return std::numeric_limits<float>::max();
    case DType::kF16: return 65504;
    case DType::kBF16: return bf16_to_f32(0x7f7f);
    default: return std::numeric_limits<double>::infinity();  // the narrow formats saturate by themselves
  }
}

double stored_saturated(DType type, double value) {
  if (std::isnan(value)) return stored(type, value, true);
  const double limit = largest(type);
  return stored(type, std::clamp(value, -limit, limit), true);
}

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}
double softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
// NaN stays NaN.
double clip(double x, double low, double high) {
  if (x < low) x = low;
  return x > high ? high : x;
}
double python_mod(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double float_op(const PwInstr& in, double a, double b) {
  switch (in.op) {
    case PwOp::kAdd: return a + b;
    case PwOp::kSub: return a - b;
    case PwOp::kMul: return a * b;
    case PwOp::kDiv: return a / b;
    case PwOp::kMin: return std::isnan(a) || std::isnan(b) ? kNan : b < a ? b : a;
    case PwOp::kMax: return std::isnan(a) || std::isnan(b) ? kNan : a < b ? b : a;
    case PwOp::kPow: return std::pow(a, b);
    case PwOp::kMod: return python_mod(a, b);
    case PwOp::kFmod: return std::fmod(a, b);
    case PwOp::kPRelu: return a < 0 ? a * b : a;
    case PwOp::kNeg: return -a;
    case PwOp::kAbs: return std::fabs(a);
    case PwOp::kSign: return a > 0 ? 1 : a < 0 ? -1 : a;
    case PwOp::kSqrt: return std::sqrt(a);
    case PwOp::kReciprocal: return 1 / a;
    case PwOp::kExp: return std::exp(a);
    case PwOp::kLog: return std::log(a);
    case PwOp::kSin: return std::sin(a);
    case PwOp::kCos: return std::cos(a);
    case PwOp::kTan: return std::tan(a);
    case PwOp::kAsin: return std::asin(a);
    case PwOp::kAcos: return std::acos(a);
    case PwOp::kAtan: return std::atan(a);
    case PwOp::kSinh: return std::sinh(a);
    case PwOp::kCosh: return std::cosh(a);
    case PwOp::kAsinh: return std::asinh(a);
    case PwOp::kAcosh: return std::acosh(a);
    case PwOp::kAtanh: return std::atanh(a);
    case PwOp::kErf: return std::erf(a);
    case PwOp::kCeil: return std::ceil(a);
    case PwOp::kFloor: return std::floor(a);
    case PwOp::kRound: return std::nearbyint(a);
    case PwOp::kRelu: return a < 0 ? 0 : a;
    case PwOp::kLeakyRelu: return a < 0 ? in.imm0 * a : a;
    case PwOp::kClip: return clip(a, in.imm0, in.imm1);
    case PwOp::kSigmoid: return sigmoid(a);
    case PwOp::kTanh: return std::tanh(a);
    // 1 + erf(t) cancels for negative t; erfc(-t) is the same without loss.
    case PwOp::kGeluErf: return 0.5 * a * std::erfc(-a * std::sqrt(0.5));
    case PwOp::kGeluTanh: return 0.5 * a * (1 + std::tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)));
    case PwOp::kSilu: return a * sigmoid(in.imm0 * a);
    case PwOp::kHardSigmoid: return clip(in.imm0 * a + in.imm1, 0, 1);
    case PwOp::kHardSwish: return a * clip(a / 6 + 0.5, 0, 1);
    case PwOp::kMish: return a * std::tanh(softplus(a));
    case PwOp::kSoftplus: return softplus(a);
    case PwOp::kSoftsign: return a / (1 + std::fabs(a));
    case PwOp::kElu: return a < 0 ? in.imm0 * std::expm1(a) : a;
    case PwOp::kCelu: return a < 0 ? in.imm0 * std::expm1(a / in.imm0) : a;
    case PwOp::kSelu: return in.imm1 * (a < 0 ? in.imm0 * std::expm1(a) : a);
    case PwOp::kThresholdedRelu: return a > in.imm0 || std::isnan(a) ? a : 0;
    case PwOp::kShrink: return a < -in.imm0 ? a + in.imm1 : a > in.imm0 ? a - in.imm1 : std::isnan(a) ? a : 0;
    default: return kNan;  // not on floats: verify() refuses it
  }
}

// Integers: int64 holds every type; u64 as its bits.

struct Range {
  int64_t low, high;  // of the type; for u64 the part that int64 holds
};
Range range_of(DType type) {
  const int bits = dtype_bits(type);
  if (type == DType::kBool) return {0, 1};
  if (bits >= 64) return {dtype_info(type).is_signed ? INT64_MIN : 0, INT64_MAX};
  if (dtype_info(type).is_signed) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

int64_t wrap(DType type, uint64_t value) {
  if (type == DType::kBool) return value != 0;
  const int unused = 64 - dtype_bits(type);
  const auto moved = value << unused;
  return dtype_info(type).is_signed ? static_cast<int64_t>(moved) >> unused : static_cast<int64_t>(moved >> unused);
}

bool less(DType type, int64_t a, int64_t b) {
  return type == DType::kU64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

// Toward zero; the nearest int64 (u64: uint64) where it is out of range, 0 for NaN.
uint64_t truncate(DType type, double value) {
  if (std::isnan(value)) return 0;
  if (type == DType::kU64 && value >= 0x1p63) return value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value);
  if (value >= 0x1p63) return INT64_MAX;
  return static_cast<uint64_t>(value <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(value));
}

int64_t saturate(DType type, double value) {
  const Range range = range_of(type);
  const auto whole = static_cast<int64_t>(truncate(type, value));
  if (type == DType::kU64) return value > 0 ? whole : 0;
  return std::clamp(whole, range.low, range.high);
}

int64_t saturate(DType type, DType from, int64_t value) {
  if (from == DType::kU64 && value < 0) return type == DType::kU64 ? value : range_of(type).high;
  return std::clamp(value, range_of(type).low, range_of(type).high);
}

double to_double(DType from, int64_t value) {
  return from == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

int64_t divide(DType type, int64_t a, int64_t b, bool remainder) {
  if (b == 0) return 0;
  if (type == DType::kU64) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(remainder ? x % y : x / y);
  }
  if (b == -1) return remainder ? 0 : static_cast<int64_t>(0 - static_cast<uint64_t>(a));  // INT64_MIN / -1 wraps
  return remainder ? a % b : a / b;
}

// Wraps; a negative exponent gives the truncated quotient 1 / a^-b.
uint64_t power(DType type, int64_t a, int64_t b) {
  if (type != DType::kU64 && b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? UINT64_MAX : 1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(a);
  for (auto e = static_cast<uint64_t>(b); e != 0; e >>= 1, base *= base)
    if (e & 1) result *= base;
  return result;
}

uint64_t shift(const PwInstr& in, int64_t a, int64_t b) {
  const bool too_far = static_cast<uint64_t>(b) >= static_cast<uint64_t>(dtype_bits(in.type));
  if (in.op == PwOp::kShiftLeft) return too_far ? 0 : static_cast<uint64_t>(a) << b;
  if (in.type == DType::kU64) return too_far ? 0 : static_cast<uint64_t>(a) >> b;
  return static_cast<uint64_t>(a >> (too_far ? 63 : b));  // of a signed type: its sign fills
}

uint64_t integer_op(const PwInstr& in, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (in.op) {
    case PwOp::kAdd: return x + y;
    case PwOp::kSub: return x - y;
    case PwOp::kMul: return x * y;
    case PwOp::kDiv: return static_cast<uint64_t>(divide(in.type, a, b, false));
    case PwOp::kMin: return less(in.type, b, a) ? y : x;
    case PwOp::kMax: return less(in.type, a, b) ? y : x;
    case PwOp::kPow: return power(in.type, a, b);
    case PwOp::kFmod: return static_cast<uint64_t>(divide(in.type, a, b, true));
    case PwOp::kMod: {
      const int64_t r = divide(in.type, a, b, true);
      return static_cast<uint64_t>(r != 0 && in.type != DType::kU64 && (r < 0) != (b < 0) ? r + b : r);
    }
    case PwOp::kAnd: return x & y;
    case PwOp::kOr: return x | y;
    case PwOp::kXor: return x ^ y;
    case PwOp::kNot: return in.type == DType::kBool ? x == 0 : ~x;
    case PwOp::kShiftLeft:
    case PwOp::kShiftRight: return shift(in, a, b);
    case PwOp::kPRelu: return less(in.type, a, 0) ? x * y : x;
    case PwOp::kNeg: return 0 - x;
    case PwOp::kAbs: return less(in.type, a, 0) ? 0 - x : x;
    case PwOp::kSign: return a == 0 ? 0 : less(in.type, a, 0) ? UINT64_MAX : 1;
    case PwOp::kRelu: return less(in.type, a, 0) ? 0 : x;
    case PwOp::kClip: {
      const int64_t low = saturate(in.type, in.imm0), high = saturate(in.type, in.imm1);
      const int64_t raised = less(in.type, a, low) ? low : a;
      return static_cast<uint64_t>(less(in.type, high, raised) ? high : raised);
    }
    default: return 0;  // not on integers: verify() refuses it
  }
}

template <typename T>
bool compare(PwOp op, T a, T b) {
  switch (op) {
    case PwOp::kEqual: return a == b;
    case PwOp::kLess: return a < b;
    case PwOp::kLessEqual: return a <= b;
    case PwOp::kGreater: return a > b;
    default: return a >= b;
  }
}

PwScalar cast(const PwInstr& in, DType from, const PwScalar& x) {
  const bool saturating = in.op == PwOp::kCastSaturate;
  PwScalar r;
  if (is_float(in.type)) {
    // An integer goes to f32 and below by one rounding, not by way of double.
    double value = x.f;
    if (!is_float(from)) {
      const auto u = static_cast<uint64_t>(x.i);
      value = in.type == DType::kF64 ? to_double(from, x.i)
              : from == DType::kU64  ? static_cast<double>(static_cast<float>(u))
                                     : static_cast<double>(static_cast<float>(x.i));
    }
    r.f = saturating ? stored_saturated(in.type, value) : stored(in.type, value, false);
  } else if (in.type == DType::kBool) {
    r.i = is_float(from) ? x.f != 0 : x.i != 0;
  } else if (saturating) {
    r.i = is_float(from) ? saturate(in.type, x.f) : saturate(in.type, from, x.i);
  } else {
    r.i = wrap(in.type, is_float(from) ? truncate(in.type, x.f) : static_cast<uint64_t>(x.i));
  }
  return r;
}

PwScalar quantize(const PwInstr& in, DType from, const PwScalar& x, const PwScalar& scale, DType zero_type,
                  const PwScalar& zero) {
  const double offset = is_float(zero_type) ? zero.f : to_double(zero_type, zero.i);
  const double q = round_to(from, x.f / scale.f);
  PwScalar r;
  if (is_float(in.type)) {
    r.f = stored_saturated(in.type, q + offset);  // the format's own grid rounds
  } else {
    r.i = saturate(in.type, std::nearbyint(q) + offset);
  }
  return r;
}

}  // namespace

namespace {

PwScalar leaf(const PwInstr& in) {
  PwScalar r;
  if (is_float(in.type))
    r.f = round_to(in.type, in.imm0);
  else
    r.i = wrap(in.type, truncate(in.type, in.imm0));
  return r;
}

PwScalar compared(const PwInstr& in, DType from, const PwScalar& a, const PwScalar& b) {
  PwScalar r;
  r.i = is_float(from)        ? compare(in.op, a.f, b.f)
        : from == DType::kU64 ? compare(in.op, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i))
                              : compare(in.op, a.i, b.i);
  return r;
}

PwScalar computed(const PwInstr& in, DType from, DType third, const PwScalar& a, const PwScalar& b, const PwScalar& c) {
  PwScalar r;
  switch (in.op) {
    case PwOp::kCast:
    case PwOp::kCastSaturate: return cast(in, from, a);
    case PwOp::kQuantize: return quantize(in, from, a, b, third, c);
    case PwOp::kSelect: return a.i != 0 ? b : c;
    case PwOp::kEqual:
    case PwOp::kLess:
    case PwOp::kLessEqual:
    case PwOp::kGreater:
    case PwOp::kGreaterEqual: return compared(in, from, a, b);
    case PwOp::kIsNan: r.i = std::isnan(a.f); break;
    case PwOp::kIsInf: r.i = std::isinf(a.f) && (a.f < 0 ? in.imm0 != 0 : in.imm1 != 0); break;
    default:
      if (is_float(in.type))
        r.f = round_to(in.type, float_op(in, a.f, b.f));
      else
        r.i = wrap(in.type, integer_op(in, a.i, b.i));
  }
  return r;
}

}  // namespace

void evaluate_block(const PointwiseExpr& expr, size_t count, std::span<const PwScalar> inputs,
                    std::span<PwScalar> outputs, std::vector<PwScalar>* scratch) {
  scratch->resize(std::max(scratch->size(), expr.code.size() * count));
  const auto row = [&](size_t instruction) { return scratch->data() + instruction * count; };
  for (size_t n = 0; n < expr.code.size(); ++n) {
    const PwInstr& in = expr.code[n];
    PwScalar* r = row(n);
    if (in.op == PwOp::kConst) {
      std::fill_n(r, count, leaf(in));
    } else if (in.op == PwOp::kInput) {
      const bool given = (in.a + size_t{1}) * count <= inputs.size();
      for (size_t e = 0; e < count; ++e) r[e] = given ? inputs[in.a * count + e] : PwScalar();
    } else {
      const PwScalar *a = row(in.a), *b = row(in.b), *c = row(in.c);
      const DType from = expr.code[in.a].type, third = expr.code[in.c].type;
      for (size_t e = 0; e < count; ++e) r[e] = computed(in, from, third, a[e], b[e], c[e]);
    }
  }
  for (size_t i = 0; i < expr.outputs.size() && (i + 1) * count <= outputs.size(); ++i) {
    const PwScalar* values = row(expr.outputs[i]);
    const DType type = expr.code[expr.outputs[i]].type;
    for (size_t e = 0; e < count; ++e) {
      PwScalar& out = outputs[i * count + e];
      out = values[e];
      const bool infinity = type == DType::kF8E5M2 && std::isinf(out.f);  // stays what it is
      if (is_float(type)) out.f = stored(type, out.f, !infinity);
    }
  }
}

void evaluate(const PointwiseExpr& expr, std::span<const PwScalar> inputs, std::span<PwScalar> outputs) {
  std::vector<PwScalar> scratch;
  evaluate_block(expr, 1, inputs, outputs, &scratch);
}

}  // namespace wootz
