// Every operation of the engine by plain loops: the integers, f64, and the rarely used functions of f32. The meaning is
// that of base's evaluate().
// Why so long: a line for each operation and type.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/pointwise/ops.h"
#include "backends/cpu/pointwise/register_types.h"
#include "base/half.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // plain loops: let the compiler make vectors of them
#endif

namespace wootz::cpu {
namespace {

// float_op of one value or two. Why so long: a table with a line for each op, which only `if constexpr` can write.
template <PwOp kOp, class T>
T float_unary(T x, T i0, T i1) {
  (void)i0, (void)i1;
  if constexpr (kOp == PwOp::kNeg)
    return -x;
  else if constexpr (kOp == PwOp::kAbs)
    return std::fabs(x);
  else if constexpr (kOp == PwOp::kSign)
    return x > 0 ? T(1) : x < 0 ? T(-1) : x;
  else if constexpr (kOp == PwOp::kSqrt)
    return std::sqrt(x);
  else if constexpr (kOp == PwOp::kReciprocal)
    return 1 / x;
  else if constexpr (kOp == PwOp::kExp)
    return std::exp(x);
  else if constexpr (kOp == PwOp::kLog)
    return std::log(x);
  else if constexpr (kOp == PwOp::kSin)
    return std::sin(x);
  else if constexpr (kOp == PwOp::kCos)
    return std::cos(x);
  else if constexpr (kOp == PwOp::kTan)
    return std::tan(x);
  else if constexpr (kOp == PwOp::kAsin)
    return std::asin(x);
  else if constexpr (kOp == PwOp::kAcos)
    return std::acos(x);
  else if constexpr (kOp == PwOp::kAtan)
    return std::atan(x);
  else if constexpr (kOp == PwOp::kSinh)
    return std::sinh(x);
  else if constexpr (kOp == PwOp::kCosh)
    return std::cosh(x);
  else if constexpr (kOp == PwOp::kAsinh)
    return std::asinh(x);
  else if constexpr (kOp == PwOp::kAcosh)
    return std::acosh(x);
  else if constexpr (kOp == PwOp::kAtanh)
    return std::atanh(x);
  else if constexpr (kOp == PwOp::kErf)
    return std::erf(x);
  else if constexpr (kOp == PwOp::kCeil)
    return std::ceil(x);
  else if constexpr (kOp == PwOp::kFloor)
    return std::floor(x);
  else if constexpr (kOp == PwOp::kRound)
    return std::nearbyint(x);
  else if constexpr (kOp == PwOp::kRelu)
    return x < 0 ? T(0) : x;
  else if constexpr (kOp == PwOp::kLeakyRelu)
    return x < 0 ? i0 * x : x;
  else if constexpr (kOp == PwOp::kClip)
    return x = x < i0 ? i0 : x, x > i1 ? i1 : x;
  else if constexpr (kOp == PwOp::kSigmoid)
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  else if constexpr (kOp == PwOp::kTanh)
    return std::tanh(x);
  else if constexpr (kOp == PwOp::kGeluErf)
    return T(0.5) * x * std::erfc(-x * std::sqrt(T(0.5)));
  else if constexpr (kOp == PwOp::kGeluTanh)
    return T(0.5) * x * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
  else if constexpr (kOp == PwOp::kSilu)
    return x * float_unary<PwOp::kSigmoid, T>(i0 * x, 0, 0);
  else if constexpr (kOp == PwOp::kHardSigmoid)
    return float_unary<PwOp::kClip, T>(i0 * x + i1, 0, 1);
  else if constexpr (kOp == PwOp::kHardSwish)
    return x * float_unary<PwOp::kClip, T>(x / 6 + T(0.5), 0, 1);
  else if constexpr (kOp == PwOp::kSoftplus)
    return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x))) + (x - x);
  else if constexpr (kOp == PwOp::kMish)
    return x * std::tanh(float_unary<PwOp::kSoftplus, T>(x, 0, 0));
  else if constexpr (kOp == PwOp::kSoftsign)
    return x / (1 + std::fabs(x));
  else if constexpr (kOp == PwOp::kElu)
    return x < 0 ? i0 * std::expm1(x) : x;
  else if constexpr (kOp == PwOp::kCelu)
    return x < 0 ? i0 * std::expm1(x / i0) : x;
  else if constexpr (kOp == PwOp::kSelu)
    return i1 * (x < 0 ? i0 * std::expm1(x) : x);
  else if constexpr (kOp == PwOp::kThresholdedRelu)
    return x <= i0 ? T(0) : x;
  else if constexpr (kOp == PwOp::kShrink)
    return x < -i0 ? x + i1 : x > i0 ? x - i1 : std::isnan(x) ? x : T(0);
}

template <PwOp kOp, class T>
T float_binary(T x, T y) {
  if constexpr (kOp == PwOp::kAdd)
    return x + y;
  else if constexpr (kOp == PwOp::kSub)
    return x - y;
  else if constexpr (kOp == PwOp::kMul)
    return x * y;
  else if constexpr (kOp == PwOp::kDiv)
    return x / y;
  else if constexpr (kOp == PwOp::kMin)
    return std::isnan(x) ? x : std::isnan(y) ? y : y < x ? y : x;
  else if constexpr (kOp == PwOp::kMax)
    return std::isnan(x) ? x : std::isnan(y) ? y : x < y ? y : x;
  else if constexpr (kOp == PwOp::kPow)
    return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
  else if constexpr (kOp == PwOp::kFmod)
    return std::fmod(x, y);
  else if constexpr (kOp == PwOp::kMod) {
    const T r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  } else if constexpr (kOp == PwOp::kPRelu)
    return x < 0 ? x * y : x;
}

template <PwOp kOp, class T>
T int_unary(T x, double i0, double i1) {
  using U = std::make_unsigned_t<T>;
  if constexpr (kOp == PwOp::kNeg)
    return static_cast<T>(0 - static_cast<U>(x));
  else if constexpr (kOp == PwOp::kAbs)
    return x < 0 ? static_cast<T>(0 - static_cast<U>(x)) : x;
  else if constexpr (kOp == PwOp::kNot)
    return static_cast<T>(~x);
  else if constexpr (kOp == PwOp::kSign)
    return static_cast<T>(x > 0 ? 1 : x < 0 ? -1 : 0);
  else if constexpr (kOp == PwOp::kRelu)
    return x < 0 ? T(0) : x;
  else if constexpr (kOp == PwOp::kClip) {
    const auto bound = [](double v) {
      if (std::isnan(v)) return T(0);
      if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
      return v <= static_cast<double>(std::numeric_limits<T>::min()) ? std::numeric_limits<T>::min()
                                                                     : static_cast<T>(v);
    };
    const T low = bound(i0), high = bound(i1);
    x = x < low ? low : x;
    return high < x ? high : x;
  }
}

template <PwOp kOp, class T>
T int_binary(T x, T y) {
  using U = std::make_unsigned_t<T>;
  using W = std::conditional_t<sizeof(T) < 4, uint32_t, U>;  // no signed overflow by promotion
  constexpr bool kSigned = std::is_signed_v<T>;
  if constexpr (kOp == PwOp::kAdd)
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  else if constexpr (kOp == PwOp::kSub)
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  else if constexpr (kOp == PwOp::kMul)
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  else if constexpr (kOp == PwOp::kMin)
    return y < x ? y : x;
  else if constexpr (kOp == PwOp::kMax)
    return x < y ? y : x;
  else if constexpr (kOp == PwOp::kAnd)
    return static_cast<T>(x & y);
  else if constexpr (kOp == PwOp::kOr)
    return static_cast<T>(x | y);
  else if constexpr (kOp == PwOp::kXor)
    return static_cast<T>(x ^ y);
  else if constexpr (kOp == PwOp::kPRelu)
    return x < 0 ? static_cast<T>(static_cast<W>(x) * static_cast<W>(y)) : x;
  else if constexpr (kOp == PwOp::kDiv) {
    if (y == 0) return 0;
    if (kSigned && y == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<U>(x));
    return static_cast<T>(x / y);
  } else if constexpr (kOp == PwOp::kFmod || kOp == PwOp::kMod) {
    if (y == 0 || (kSigned && y == static_cast<T>(-1))) return 0;
    const T r = static_cast<T>(x % y);
    return kOp == PwOp::kMod && r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  } else if constexpr (kOp == PwOp::kPow) {
    if (kSigned && y < 0) return static_cast<T>(x == 1 ? 1 : x == static_cast<T>(-1) ? (y % 2 != 0 ? -1 : 1) : 0);
    W result = 1, base = static_cast<W>(x);
    for (U e = static_cast<U>(y); e != 0; e = static_cast<U>(e >> 1), base *= base)
      if (e & 1) result *= base;
    return static_cast<T>(result);
  } else if constexpr (kOp == PwOp::kShiftLeft || kOp == PwOp::kShiftRight) {
    constexpr int kBits = sizeof(T) * 8;
    const bool far = y < 0 || y >= kBits;
    if (kOp == PwOp::kShiftLeft) return far ? T(0) : static_cast<T>(static_cast<W>(x) << y);
    return far ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> y);
  }
}

template <PwOp kOp>
uint8_t bool_binary(uint8_t x, uint8_t y) {
  if constexpr (kOp == PwOp::kAnd || kOp == PwOp::kMul || kOp == PwOp::kMin)
    return x & y;
  else if constexpr (kOp == PwOp::kOr || kOp == PwOp::kAdd || kOp == PwOp::kMax)
    return x | y;
  else
    return x ^ y;  // kXor, kSub (0 - 1 wraps to true)
}

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

template <PwOp kOp, class T>
void unary(const OpArgs& p) {
  const auto* a = static_cast<const T*>(p.a);
  auto* dst = static_cast<T*>(p.dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < p.n; ++i) {
    if constexpr (kIsFloat<T>)
      dst[i] = float_unary<kOp, T>(a[i], static_cast<T>(p.imm0), static_cast<T>(p.imm1));
    else
      dst[i] = int_unary<kOp, T>(a[i], p.imm0, p.imm1);
  }
}
template <PwOp kOp, class T>
void binary(const OpArgs& p) {
  const auto *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
  auto* dst = static_cast<T*>(p.dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < p.n; ++i) {
    if constexpr (kIsFloat<T>)
      dst[i] = float_binary<kOp, T>(a[i], b[i]);
    else
      dst[i] = int_binary<kOp, T>(a[i], b[i]);
  }
}
template <PwOp kOp>
void binary_bool(const OpArgs& p) {
  const auto *a = static_cast<const uint8_t*>(p.a), *b = static_cast<const uint8_t*>(p.b);
  auto* dst = static_cast<uint8_t*>(p.dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < p.n; ++i) dst[i] = bool_binary<kOp>(a[i] != 0, b[i] != 0);
}
void not_bool(const OpArgs& p) {
  for (int64_t i = 0; i < p.n; ++i) static_cast<uint8_t*>(p.dst)[i] = static_cast<const uint8_t*>(p.a)[i] == 0;
}
template <PwOp kOp, class T>
void compare(const OpArgs& p) {
  const auto *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
  auto* dst = static_cast<uint8_t*>(p.dst);
  for (int64_t i = 0; i < p.n; ++i) {
    if constexpr (kOp == PwOp::kEqual)
      dst[i] = a[i] == b[i];
    else if constexpr (kOp == PwOp::kLess)
      dst[i] = a[i] < b[i];
    else if constexpr (kOp == PwOp::kLessEqual)
      dst[i] = a[i] <= b[i];
    else if constexpr (kOp == PwOp::kGreater)
      dst[i] = a[i] > b[i];
    else
      dst[i] = a[i] >= b[i];
  }
}
template <class T>
void is_nan(const OpArgs& p) {
  for (int64_t i = 0; i < p.n; ++i) static_cast<uint8_t*>(p.dst)[i] = std::isnan(static_cast<const T*>(p.a)[i]);
}
template <class T>
void is_inf(const OpArgs& p) {
  const bool negative = p.imm0 != 0, positive = p.imm1 != 0;
  for (int64_t i = 0; i < p.n; ++i) {
    const T x = static_cast<const T*>(p.a)[i];
    static_cast<uint8_t*>(p.dst)[i] = std::isinf(x) && (x < 0 ? negative : positive);
  }
}
template <class T>
void select(const OpArgs& p) {
  const auto* m = static_cast<const uint8_t*>(p.a);
  const auto *b = static_cast<const T*>(p.b), *c = static_cast<const T*>(p.c);
  for (int64_t i = 0; i < p.n; ++i) static_cast<T*>(p.dst)[i] = m[i] != 0 ? b[i] : c[i];
}

#define CASE(op, fn) \
  case PwOp::op: return fn<PwOp::op, T>;
template <class T>
OpFn find_float(PwOp op) {
  switch (op) {
    CASE(kAdd, binary)
    CASE(kSub, binary)
    CASE(kMul, binary)
    CASE(kDiv, binary)
    CASE(kMin, binary)
    CASE(kMax, binary)
    CASE(kPow, binary)
    CASE(kMod, binary)
    CASE(kFmod, binary)
    CASE(kPRelu, binary)
    CASE(kNeg, unary)
    CASE(kAbs, unary)
    CASE(kSign, unary)
    CASE(kSqrt, unary)
    CASE(kReciprocal, unary)
    CASE(kExp, unary)
    CASE(kLog, unary)
    CASE(kSin, unary)
    CASE(kCos, unary)
    CASE(kTan, unary)
    CASE(kAsin, unary)
    CASE(kAcos, unary)
    CASE(kAtan, unary)
    CASE(kSinh, unary)
    CASE(kCosh, unary)
    CASE(kAsinh, unary)
    CASE(kAcosh, unary)
    CASE(kAtanh, unary)
    CASE(kErf, unary)
    CASE(kCeil, unary)
    CASE(kFloor, unary)
    CASE(kRound, unary)
    CASE(kRelu, unary)
    CASE(kLeakyRelu, unary)
    CASE(kClip, unary)
    CASE(kSigmoid, unary)
    CASE(kTanh, unary)
    CASE(kGeluErf, unary)
    CASE(kGeluTanh, unary)
    CASE(kSilu, unary)
    CASE(kHardSigmoid, unary)
    CASE(kHardSwish, unary)
    CASE(kMish, unary)
    CASE(kSoftplus, unary)
    CASE(kSoftsign, unary)
    CASE(kElu, unary)
    CASE(kCelu, unary)
    CASE(kSelu, unary)
    CASE(kThresholdedRelu, unary)
    CASE(kShrink, unary)
    default: return nullptr;
  }
}
template <class T>
OpFn find_int(PwOp op) {
  switch (op) {
    CASE(kAdd, binary)
    CASE(kSub, binary)
    CASE(kMul, binary)
    CASE(kDiv, binary)
    CASE(kMin, binary)
    CASE(kMax, binary)
    CASE(kPow, binary)
    CASE(kMod, binary)
    CASE(kFmod, binary)
    CASE(kPRelu, binary)
    CASE(kAnd, binary)
    CASE(kOr, binary)
    CASE(kXor, binary)
    CASE(kShiftLeft, binary)
    CASE(kShiftRight, binary)
    CASE(kNeg, unary)
    CASE(kAbs, unary)
    CASE(kNot, unary)
    CASE(kSign, unary)
    CASE(kRelu, unary)
    CASE(kClip, unary)
    default: return nullptr;
  }
}
OpFn find_bool(PwOp op) {
  switch (op) {
    case PwOp::kAnd:
    case PwOp::kMul:
    case PwOp::kMin: return binary_bool<PwOp::kAnd>;
    case PwOp::kOr:
    case PwOp::kAdd:
    case PwOp::kMax: return binary_bool<PwOp::kOr>;
    case PwOp::kXor:
    case PwOp::kSub: return binary_bool<PwOp::kXor>;
    case PwOp::kNot: return not_bool;
    default: return nullptr;
  }
}
template <class T>
OpFn find_compare(PwOp op) {
  switch (op) {
    CASE(kEqual, compare)
    CASE(kLess, compare)
    CASE(kLessEqual, compare)
    CASE(kGreater, compare)
    CASE(kGreaterEqual, compare)
    case PwOp::kIsNan:
      if constexpr (kIsFloat<T>)
        return is_nan<T>;
      else
        return nullptr;
    case PwOp::kIsInf:
      if constexpr (kIsFloat<T>)
        return is_inf<T>;
      else
        return nullptr;
    default: return nullptr;
  }
}
#undef CASE

}  // namespace

DType register_type(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0: return DType::kF32;
    case DType::kF4E2M1:
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
    case DType::kString: return DType::kInvalid;
    default: return type;
  }
}

OpFn find_op(Isa isa, PwOp op, DType type, DType from) {
  if (op == PwOp::kSelect) {
    switch (dtype_bits(type)) {
      case 8: return select<uint8_t>;
      case 16: return select<uint16_t>;
      case 32: return find_vector_select(isa);
      default: return select<uint64_t>;
    }
  }
  const bool compares =
      type == DType::kBool && (pw_op_arity(op) == 1 ? op == PwOp::kIsNan || op == PwOp::kIsInf
                                                    : op >= PwOp::kEqual && op <= PwOp::kGreaterEqual);
  if (from == DType::kF32 && (compares || type == DType::kF32))
    if (const OpFn fn = find_vector_op(isa, op)) return fn;
  if (compares) return with_type(from, [op](auto t) { return find_compare<decltype(t)>(op); });
  if (type == DType::kBool) return find_bool(op);
  return with_type(type, [op](auto t) -> OpFn {
    using T = decltype(t);
    if constexpr (kIsFloat<T>)
      return find_float<T>(op);
    else
      return find_int<T>(op);
  });
}

}  // namespace wootz::cpu
