#include "ir/dim_range.h"

#include <algorithm>

namespace wootz {
namespace {

using Range = std::optional<DimRange>;

Range sum(const DimRange& a, const DimRange& b) {
  DimRange r;
  if (__builtin_add_overflow(a.low, b.low, &r.low) || __builtin_add_overflow(a.high, b.high, &r.high))
    return std::nullopt;
  return r;
}

Range product(const DimRange& a, const DimRange& b) {
  int64_t p[4];
  if (__builtin_mul_overflow(a.low, b.low, &p[0]) || __builtin_mul_overflow(a.low, b.high, &p[1]) ||
      __builtin_mul_overflow(a.high, b.low, &p[2]) || __builtin_mul_overflow(a.high, b.high, &p[3]))
    return std::nullopt;
  return DimRange{*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }  // b > 0
int64_t ceil_quotient(int64_t a, int64_t b) { return a / b + (a % b != 0 && a > 0 ? 1 : 0); }

// Quotients grow with `a`, and with `b` as far as `a` is negative: the ends are at ends.
Range quotient(const DimRange& a, const DimRange& b, int64_t (*divide)(int64_t, int64_t)) {
  if (b.low <= 0) return std::nullopt;
  return DimRange{std::min(divide(a.low, b.low), divide(a.low, b.high)),
                  std::max(divide(a.high, b.low), divide(a.high, b.high))};
}

Range remainder(const DimRange& a, const DimRange& b) {
  if (b.low <= 0) return std::nullopt;
  if (a.low >= 0 && a.high < b.low) return a;
  if (b.low == b.high && floor_quotient(a.low, b.low) == floor_quotient(a.high, b.low)) {
    const int64_t from = floor_quotient(a.low, b.low) * b.low;
    return DimRange{a.low - from, a.high - from};
  }
  return DimRange{0, b.high - 1};
}

Range combine(DimOp op, const DimRange& a, const DimRange& b) {
  switch (op) {
    case DimOp::kAdd: return sum(a, b);
    case DimOp::kMul: return product(a, b);
    case DimOp::kFloorDiv: return quotient(a, b, floor_quotient);
    case DimOp::kCeilDiv: return quotient(a, b, ceil_quotient);
    case DimOp::kMod: return remainder(a, b);
    case DimOp::kMin: return DimRange{std::min(a.low, b.low), std::min(a.high, b.high)};
    case DimOp::kMax: return DimRange{std::max(a.low, b.low), std::max(a.high, b.high)};
    case DimOp::kConst:
    case DimOp::kSymbol: break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DimRange> range_of(const Dim& dim, const std::function<std::optional<DimRange>(SymbolId)>& symbols) {
  if (dim.is_const()) return DimRange{dim.value(), dim.value()};
  if (SymbolId id = 0; dim.is_symbol(&id)) {
    const Range range = symbols(id);
    return range && range->low <= range->high ? range : std::nullopt;
  }
  Range result;
  for (const Dim& operand : dim.operands()) {
    const Range next = range_of(operand, symbols);
    if (!next) return std::nullopt;
    result = result ? combine(dim.op(), *result, *next) : next;
    if (!result) return std::nullopt;
  }
  return result;
}

}  // namespace wootz
