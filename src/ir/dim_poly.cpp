#include <algorithm>
#include <numeric>

#include "ir/dim_node.h"

namespace wootz {

using namespace dim_limits;

// Polynomials

DimTerm Dim::Node::term_of(const Dim& d) {
  if (d.is_const()) return {d.value_, {}};
  if (!is_op(d, DimOp::kMul)) return {1, {d}};
  DimTerm t{1, {}};
  for (const Dim& f : d.node_->operands) {
    if (f.is_const())
      t.coefficient = f.value_;
    else
      t.factors.push_back(f);
  }
  return t;
}

DimPoly Dim::Node::poly_of(const Dim& d) {
  DimPoly p;
  if (is_op(d, DimOp::kAdd)) {
    for (const Dim& term : d.node_->operands) p.push_back(term_of(term));
  } else if (!d.is_const() || d.value_ != 0) {
    p.push_back(term_of(d));
  }
  return p;
}

// Sorts and merges equal terms; false on overflow.
bool Dim::Node::normalize(DimPoly* p) {
  std::stable_sort(p->begin(), p->end(),
                   [](const DimTerm& a, const DimTerm& b) { return compare_monomials(a.factors, b.factors) < 0; });
  DimPoly merged;
  for (DimTerm& t : *p) {
    if (!merged.empty() && compare_monomials(merged.back().factors, t.factors) == 0) {
      if (__builtin_add_overflow(merged.back().coefficient, t.coefficient, &merged.back().coefficient)) return false;
    } else {
      if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
      merged.push_back(std::move(t));
    }
  }
  if (!merged.empty() && merged.back().coefficient == 0) merged.pop_back();
  *p = std::move(merged);
  return true;
}

Dim Dim::Node::from_term(const DimTerm& t) {
  if (t.factors.empty()) return Dim(t.coefficient);
  if (t.coefficient == 1 && t.factors.size() == 1) return t.factors[0];
  std::vector<Dim> operands;
  if (t.coefficient != 1) operands.push_back(Dim(t.coefficient));
  operands.insert(operands.end(), t.factors.begin(), t.factors.end());
  return make(DimOp::kMul, std::move(operands));
}

Dim Dim::Node::from_poly(DimPoly p) {
  // A term with one unexpanded sum among its factors expands without multiplying terms.
  DimPoly expanded;
  for (DimTerm& t : p) {
    const auto is_sum = [](const Dim& f) { return is_op(f, DimOp::kAdd); };
    if (std::count_if(t.factors.begin(), t.factors.end(), is_sum) != 1) {
      expanded.push_back(std::move(t));
      continue;
    }
    const auto sum = std::find_if(t.factors.begin(), t.factors.end(), is_sum);
    const DimPoly inner = poly_of(*sum);
    t.factors.erase(sum);
    for (const DimTerm& u : inner) {
      DimTerm product;
      if (!multiply(t, u, &product)) return undefined();
      expanded.push_back(std::move(product));
    }
    if (expanded.size() > kMaxSize) return undefined();
  }
  if (!normalize(&expanded)) return undefined();
  if (expanded.empty()) return Dim(0);
  if (expanded.size() == 1) return from_term(expanded[0]);
  std::vector<Dim> operands;
  for (const DimTerm& t : expanded) operands.push_back(from_term(t));
  return make(DimOp::kAdd, std::move(operands));
}

bool Dim::Node::multiply(const DimTerm& a, const DimTerm& b, DimTerm* out) {
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &out->coefficient)) return false;
  if (a.factors.size() + b.factors.size() > kMaxSize) return false;
  out->factors.resize(a.factors.size() + b.factors.size());
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), out->factors.begin(),
             [](const Dim& x, const Dim& y) { return compare(x, y) < 0; });
  return true;
}

// The expanded product; nullopt on overflow.
std::optional<DimPoly> Dim::Node::multiply(const DimPoly& a, const DimPoly& b) {
  DimPoly product;
  for (const DimTerm& x : a)
    for (const DimTerm& y : b)
      if (!multiply(x, y, &product.emplace_back())) return std::nullopt;
  if (!normalize(&product)) return std::nullopt;
  return product;
}

// a / b when b's coefficient and factors divide a's.
std::optional<DimTerm> Dim::Node::divide(const DimTerm& a, const DimTerm& b) {
  if (!divides_safely(a.coefficient, b.coefficient) || a.coefficient % b.coefficient != 0) return std::nullopt;
  DimTerm q{a.coefficient / b.coefficient, {}};
  size_t used = 0;
  for (const Dim& f : a.factors) {
    if (used < b.factors.size() && compare(f, b.factors[used]) == 0)
      ++used;
    else
      q.factors.push_back(f);
  }
  if (used != b.factors.size()) return std::nullopt;
  return q;
}

// a / b when b divides a as a polynomial (long division by leading terms).
std::optional<DimPoly> Dim::Node::divide_exactly(const DimPoly& a, const DimPoly& b) {
  if (b.empty()) return std::nullopt;
  DimPoly rest = a, quotient;
  for (int step = 0; !rest.empty(); ++step) {
    std::optional<DimTerm> q = divide(rest[0], b[0]);
    if (!q || step == kMaxDivisionSteps) return std::nullopt;
    for (const DimTerm& t : b) {
      DimTerm product;
      if (!multiply(*q, t, &product) || product.coefficient == INT64_MIN) return std::nullopt;
      product.coefficient = -product.coefficient;
      rest.push_back(std::move(product));
    }
    if (!normalize(&rest) || rest.size() > kMaxSize) return std::nullopt;
    quotient.push_back(std::move(*q));
  }
  if (!normalize(&quotient)) return std::nullopt;
  return quotient;
}

std::optional<DimPoly> Dim::Node::divide_exactly(const Dim& a, const Dim& b) {
  const DimPoly x = poly_of(a);
  if (is_op(b, DimOp::kAdd)) {  // a sum that stands unexpanded in every term
    DimPoly quotient;
    for (const DimTerm& t : x) {
      std::optional<DimTerm> q = divide(t, DimTerm{1, {b}});
      if (!q) break;
      quotient.push_back(std::move(*q));
    }
    if (quotient.size() == x.size()) return quotient;
  }
  return divide_exactly(x, poly_of(b));
}

// Quotients. floor((b*q + r) / b) = q + floor(r / b) takes whole multiples out, leaving coefficients in [0, b).
Dim Dim::Node::floor_div_by(DimPoly a, int64_t b) {
  DimPoly whole, rest;
  int64_t common = b, constant = 0;
  for (DimTerm& t : a) {
    const int64_t r = mod_i64(t.coefficient, b);
    if (const int64_t q = floor_div_i64(t.coefficient, b); q != 0) whole.push_back({q, t.factors});
    if (r == 0) continue;
    if (t.factors.empty())
      constant = r;
    else {
      common = std::gcd(common, r);
      rest.push_back({r, std::move(t.factors)});
    }
  }
  if (rest.empty()) return from_poly(std::move(whole));  // 0 <= constant < b
  // floor((g*x + c) / (g*d)) = floor((x + floor(c / g)) / d)
  for (DimTerm& t : rest) t.coefficient /= common;
  if (constant / common != 0) rest.push_back({constant / common, {}});
  b /= common;
  if (b == 1) return from_poly(std::move(whole)) + from_poly(std::move(rest));
  // floor((floor(x / c) + m) / b) = floor((x + c*m) / (b*c)), when there is one such quotient.
  const auto is_quotient = [](const DimTerm& t) {
    return t.coefficient == 1 && t.factors.size() == 1 && is_op(t.factors[0], DimOp::kFloorDiv) &&
           t.factors[0].operands()[1].is_const();
  };
  if (std::count_if(rest.begin(), rest.end(), is_quotient) == 1) {
    const auto quotient = std::find_if(rest.begin(), rest.end(), is_quotient);
    const Dim x = quotient->factors[0].operands()[0], c = quotient->factors[0].operands()[1];
    int64_t product = 0;
    if (!__builtin_mul_overflow(c.value_, b, &product)) {
      rest.erase(quotient);
      return from_poly(std::move(whole)) + floor_div(x + c * from_poly(std::move(rest)), Dim(product));
    }
  }
  Dim top = from_poly(std::move(rest));
  return from_poly(std::move(whole)) + make(DimOp::kFloorDiv, {std::move(top), Dim(b)});
}

Dim Dim::Node::mod_by(DimPoly a, int64_t b) {
  DimPoly rest;
  int64_t common = b;
  for (DimTerm& t : a) {
    const int64_t r = mod_i64(t.coefficient, b);
    if (r == 0) continue;
    common = std::gcd(common, r);
    rest.push_back({r, std::move(t.factors)});
  }
  if (rest.empty()) return Dim(0);
  if (rest.size() == 1 && rest[0].factors.empty()) return Dim(rest[0].coefficient);
  for (DimTerm& t : rest) t.coefficient /= common;  // mod(g*x, g*d) = g * mod(x, d)
  if (b == common) return Dim(0);
  return Dim(common) * make(DimOp::kMod, {from_poly(std::move(rest)), Dim(b / common)});
}

}  // namespace wootz
