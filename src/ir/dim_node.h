// Inside of Dim: nodes, and the polynomials that every operation passes through. For dim.cpp and dim_poly.cpp only.
//
// The canonical form: every expression is a polynomial with integer coefficients over atoms (symbols and quotients,
// remainders, minima, maxima of polynomials), expanded and sorted, so that equal polynomials have equal keys. Products
// that would expand into more than kMaxTerms terms stay factored. Whatever grows beyond the size limits, overflows
// while folding, or divides by zero becomes the undefined expression 1/0: it equals nothing and has no value.
#pragma once

#include "ir/dim.h"

namespace wootz {

struct DimTerm {
  int64_t coefficient = 0;
  std::vector<Dim> factors;  // sorted atoms, repeated for powers
};
using DimPoly = std::vector<DimTerm>;  // no two terms with the same factors, none with coefficient 0, sorted

namespace dim_limits {

inline constexpr size_t kMaxTerms = 64;  // of a product that is expanded
inline constexpr int kMaxSize = 1024;    // leaves and operations of one expression
inline constexpr int kMaxDepth = 128;    // bounds every recursion below
inline constexpr int kMaxDivisionSteps = 256;

}  // namespace dim_limits

inline int64_t floor_div_i64(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a % b < 0) != (b < 0)) ? 1 : 0);
}
inline int64_t mod_i64(int64_t a, int64_t b) { return a - floor_div_i64(a, b) * b; }
inline bool divides_safely(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

struct Dim::Node {
  DimOp op = DimOp::kConst;
  SymbolId symbol = 0;
  int size = 1;
  int depth = 1;
  std::vector<Dim> operands;
  std::string key;

  static Dim build(DimOp op, std::vector<Dim> operands);
  static Dim undefined();
  static bool is_undefined(const Dim& d) {
    return d.node_ != nullptr && d.node_->op == DimOp::kFloorDiv && d.node_->operands[1].is_const() &&
           d.node_->operands[1].value_ == 0;
  }
  static bool either_undefined(const Dim& a, const Dim& b) { return is_undefined(a) || is_undefined(b); }
  static const std::string& key_of(const Dim& d) { return d.node_->key; }
  static bool is_op(const Dim& d, DimOp op) { return d.node_ != nullptr && d.node_->op == op; }
  // The order of atoms: symbols by number, then everything else by key.
  static int compare(const Dim& a, const Dim& b);

  // Graded lexicographic order of monomials: higher degree first. Admissible, as exact division needs it to be.
  static int compare_monomials(const std::vector<Dim>& a, const std::vector<Dim>& b) {
    if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
    for (size_t i = 0; i < a.size(); ++i)
      if (const int c = compare(a[i], b[i]); c != 0) return c;
    return 0;
  }
  static DimTerm term_of(const Dim& d);
  static DimPoly poly_of(const Dim& d);
  static bool normalize(DimPoly* p);
  static Dim from_poly(DimPoly p);
  static Dim from_term(const DimTerm& t);
  static bool multiply(const DimTerm& a, const DimTerm& b, DimTerm* out);
  static std::optional<DimPoly> multiply(const DimPoly& a, const DimPoly& b);
  static std::optional<DimTerm> divide(const DimTerm& a, const DimTerm& b);
  static std::optional<DimPoly> divide_exactly(const DimPoly& a, const DimPoly& b);
  static std::optional<DimPoly> divide_exactly(const Dim& a, const Dim& b);
  static Dim floor_div_by(DimPoly a, int64_t b);
  static Dim mod_by(DimPoly a, int64_t b);
  static Dim extremum(DimOp op, const Dim& a, const Dim& b);
  template <typename Render>
  static std::string make_key(DimOp op, const std::vector<Dim>& operands, const Render& render);
};

}  // namespace wootz
