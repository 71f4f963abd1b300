#include "ops/support/truth.h"

#include <algorithm>

namespace wootz::ops {
namespace {

constexpr int kMostOperations = 64;  // a longer condition is left to the run, which has the numbers

std::optional<Dim> within_reason(Dim d) {
  if (d.is_const()) return d;
  std::vector<SymbolId> symbols;
  d.collect_symbols(&symbols);
  if (symbols.empty() || d.size() > kMostOperations) return std::nullopt;  // no symbols: undefined
  return d;
}

// Without a divisor that may be 0.
bool always_has_a_value(const Dim& d) {
  if (d.is_const() || d.is_symbol()) return true;
  const auto operands = d.operands();
  const bool divides = d.op() == DimOp::kFloorDiv || d.op() == DimOp::kCeilDiv || d.op() == DimOp::kMod;
  if (divides && !(operands.size() == 2 && operands[1].is_const() && operands[1].value() != 0)) return false;
  return std::all_of(operands.begin(), operands.end(), always_has_a_value);
}

}  // namespace

std::optional<Dim> truth_less(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return Dim(a.value() < b.value() ? 1 : 0);
  return within_reason(dim_min(Dim(1), dim_max(Dim(0), b - a)));
}

std::optional<Dim> truth_of(const Dim& number) {
  if (number.is_const()) return Dim(number.value() != 0 ? 1 : 0);
  return within_reason(dim_min(Dim(1), dim_max(number, Dim(0) - number)));
}

std::optional<Dim> truth_equal(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  const std::optional<Dim> differs = truth_of(a - b);
  return differs ? truth_not(*differs) : std::nullopt;
}

std::optional<Dim> truth_not(const Dim& truth) { return within_reason(Dim(1) - truth); }
std::optional<Dim> truth_and(const Dim& a, const Dim& b) { return within_reason(a * b); }
std::optional<Dim> truth_or(const Dim& a, const Dim& b) { return within_reason(a + b - a * b); }
std::optional<Dim> truth_xor(const Dim& a, const Dim& b) { return within_reason(a + b - Dim(2) * (a * b)); }

std::optional<Dim> truth_select(const Dim& truth, const Dim& a, const Dim& b) {
  if (truth.is_const()) return truth.value() != 0 ? a : b;
  if (a == b) return a;
  if (!always_has_a_value(a) || !always_has_a_value(b)) return std::nullopt;
  return within_reason(truth * (a - b) + b);
}

}  // namespace wootz::ops
