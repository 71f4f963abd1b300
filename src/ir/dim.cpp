// The canonical form: every expression is a polynomial with integer coefficients over atoms (symbols and quotients,
// remainders, minima, maxima of polynomials), expanded and sorted, so that equal polynomials have equal keys. Products that
// would expand into more than kMaxTerms terms stay factored. Whatever grows beyond the size limits, overflows while
// folding, or divides by zero becomes the undefined expression 1/0: it equals nothing and has no value.
#include "ir/dim.h"

#include <algorithm>
#include <numeric>

namespace wootz {
namespace {

constexpr size_t kMaxTerms = 64;      // of a product that is expanded
constexpr int kMaxSize = 1024;        // leaves and operations of one expression
constexpr int kMaxDepth = 128;        // bounds every recursion below
constexpr int kMaxDivisionSteps = 256;

int64_t floor_div_i64(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a % b < 0) != (b < 0)) ? 1 : 0); }
int64_t mod_i64(int64_t a, int64_t b) { return a - floor_div_i64(a, b) * b; }
bool divides_safely(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

struct Term {
  int64_t coefficient = 0;
  std::vector<Dim> factors;  // sorted atoms, repeated for powers
};
using Poly = std::vector<Term>;  // no two terms with the same factors, none with coefficient 0, sorted

// Symbols by number, then everything else by key.
int compare_atoms(const Dim& a, const Dim& b, const std::string& a_key, const std::string& b_key) {
  SymbolId ia = 0, ib = 0;
  const bool sa = a.is_symbol(&ia), sb = b.is_symbol(&ib);
  if (sa && sb) return ia < ib ? -1 : ia > ib ? 1 : 0;
  if (sa != sb) return sa ? -1 : 1;
  return a_key.compare(b_key);
}

}  // namespace

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
  static int compare(const Dim& a, const Dim& b) {
    return a.node_ == b.node_ ? 0 : compare_atoms(a, b, a.node_->key, b.node_->key);
  }

  // Graded lexicographic order of monomials: higher degree first. Admissible, as exact division needs it to be.
  static int compare_monomials(const std::vector<Dim>& a, const std::vector<Dim>& b) {
    if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
    for (size_t i = 0; i < a.size(); ++i)
      if (const int c = compare(a[i], b[i]); c != 0) return c;
    return 0;
  }
  static Term term_of(const Dim& d);
  static Poly poly_of(const Dim& d);
  static bool normalize(Poly* p);
  static Dim from_poly(Poly p);
  static Dim from_term(const Term& t);
  static bool multiply(const Term& a, const Term& b, Term* out);
  static std::optional<Poly> multiply(const Poly& a, const Poly& b);
  static std::optional<Term> divide(const Term& a, const Term& b);
  static std::optional<Poly> divide_exactly(const Poly& a, const Poly& b);
  static std::optional<Poly> divide_exactly(const Dim& a, const Dim& b);
  static Dim floor_div_by(Poly a, int64_t b);
  static Dim mod_by(Poly a, int64_t b);
  static Dim extremum(DimOp op, const Dim& a, const Dim& b);
  template <typename Render>
  static std::string make_key(DimOp op, const std::vector<Dim>& operands, const Render& render);
};

Dim Dim::make(DimOp op, std::vector<Dim> operands) { return Node::build(op, std::move(operands)); }

Dim Dim::Node::build(DimOp op, std::vector<Dim> operands) {
  auto node = std::make_shared<Node>();
  node->op = op;
  for (const Dim& d : operands) {
    if (is_undefined(d)) return undefined();
    node->size += d.node_ ? d.node_->size : 1;
    node->depth = std::max(node->depth, d.node_ ? d.node_->depth + 1 : 2);
    if (node->size > kMaxSize || node->depth > kMaxDepth) return undefined();
  }
  node->key = make_key(op, operands, [](const Dim& d) { return d.to_string(); });
  node->operands = std::move(operands);
  Dim result;
  result.node_ = std::move(node);
  return result;
}

Dim Dim::Node::undefined() {
  auto node = std::make_shared<Node>();
  node->op = DimOp::kFloorDiv;
  node->operands = {Dim(1), Dim(0)};
  node->key = "1/0";
  Dim result;
  result.node_ = std::move(node);
  return result;
}

// The text of an operation whose operands `render` writes. A rendered symbol must not begin with '-'.
template <typename Render>
std::string Dim::Node::make_key(DimOp op, const std::vector<Dim>& operands, const Render& render) {
  const auto wrapped = [&](const Dim& d) { return '(' + render(d) + ')'; };
  const auto factor = [&](const Dim& d) {
    return is_op(d, DimOp::kAdd) || is_op(d, DimOp::kFloorDiv) ? wrapped(d) : render(d);
  };
  const auto call = [&](const char* name) {
    std::string s = name;
    for (size_t i = 0; i < operands.size(); ++i) s += (i == 0 ? '(' : ',') + render(operands[i]);
    return s + ')';
  };
  std::string s;
  switch (op) {
    case DimOp::kAdd:
      for (const Dim& d : operands) {
        const std::string term = render(d);
        if (!s.empty() && term[0] != '-') s += '+';
        s += term;
      }
      return s;
    case DimOp::kMul:
      // Unexpanded sums come first: read from the left, they multiply before anything could expand them.
      for (const bool sums : {true, false})
        for (const Dim& d : operands) {
          if (is_op(d, DimOp::kAdd) != sums) continue;
          if (!s.empty() && s != "-") s += '*';
          s += s.empty() && d.is_const() && d.value_ == -1 ? "-" : factor(d);
        }
      return s;
    case DimOp::kFloorDiv: {
      const std::string top = render(operands[0]), bottom = render(operands[1]);
      const bool plain_top = !is_op(operands[0], DimOp::kAdd) && top[0] != '-';
      const bool plain_bottom = operands[1].is_symbol() || (operands[1].is_const() && bottom[0] != '-');
      return (plain_top ? top : '(' + top + ')') + '/' + (plain_bottom ? bottom : '(' + bottom + ')');
    }
    case DimOp::kCeilDiv: return call("ceil_div");
    case DimOp::kMod: return call("mod");
    case DimOp::kMin: return call("min");
    case DimOp::kMax: return call("max");
    default: return s;
  }
}

// Polynomials

Term Dim::Node::term_of(const Dim& d) {
  if (d.is_const()) return {d.value_, {}};
  if (!is_op(d, DimOp::kMul)) return {1, {d}};
  Term t{1, {}};
  for (const Dim& f : d.node_->operands) {
    if (f.is_const()) t.coefficient = f.value_;
    else t.factors.push_back(f);
  }
  return t;
}

Poly Dim::Node::poly_of(const Dim& d) {
  Poly p;
  if (is_op(d, DimOp::kAdd)) {
    for (const Dim& term : d.node_->operands) p.push_back(term_of(term));
  } else if (!d.is_const() || d.value_ != 0) {
    p.push_back(term_of(d));
  }
  return p;
}

// Sorts and merges equal terms; false on overflow.
bool Dim::Node::normalize(Poly* p) {
  std::stable_sort(p->begin(), p->end(),
                   [](const Term& a, const Term& b) { return compare_monomials(a.factors, b.factors) < 0; });
  Poly merged;
  for (Term& t : *p) {
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

Dim Dim::Node::from_term(const Term& t) {
  if (t.factors.empty()) return Dim(t.coefficient);
  if (t.coefficient == 1 && t.factors.size() == 1) return t.factors[0];
  std::vector<Dim> operands;
  if (t.coefficient != 1) operands.push_back(Dim(t.coefficient));
  operands.insert(operands.end(), t.factors.begin(), t.factors.end());
  return make(DimOp::kMul, std::move(operands));
}

Dim Dim::Node::from_poly(Poly p) {
  // A term with one unexpanded sum among its factors expands without multiplying terms.
  Poly expanded;
  for (Term& t : p) {
    const auto is_sum = [](const Dim& f) { return is_op(f, DimOp::kAdd); };
    if (std::count_if(t.factors.begin(), t.factors.end(), is_sum) != 1) {
      expanded.push_back(std::move(t));
      continue;
    }
    const auto sum = std::find_if(t.factors.begin(), t.factors.end(), is_sum);
    const Poly inner = poly_of(*sum);
    t.factors.erase(sum);
    for (const Term& u : inner) {
      Term product;
      if (!multiply(t, u, &product)) return undefined();
      expanded.push_back(std::move(product));
    }
    if (expanded.size() > kMaxSize) return undefined();
  }
  if (!normalize(&expanded)) return undefined();
  if (expanded.empty()) return Dim(0);
  if (expanded.size() == 1) return from_term(expanded[0]);
  std::vector<Dim> operands;
  for (const Term& t : expanded) operands.push_back(from_term(t));
  return make(DimOp::kAdd, std::move(operands));
}

bool Dim::Node::multiply(const Term& a, const Term& b, Term* out) {
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &out->coefficient)) return false;
  if (a.factors.size() + b.factors.size() > kMaxSize) return false;
  out->factors.resize(a.factors.size() + b.factors.size());
  std::merge(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), out->factors.begin(),
             [](const Dim& x, const Dim& y) { return compare(x, y) < 0; });
  return true;
}

// The expanded product; nullopt on overflow.
std::optional<Poly> Dim::Node::multiply(const Poly& a, const Poly& b) {
  Poly product;
  for (const Term& x : a)
    for (const Term& y : b)
      if (!multiply(x, y, &product.emplace_back())) return std::nullopt;
  if (!normalize(&product)) return std::nullopt;
  return product;
}

// a / b when b's coefficient and factors divide a's.
std::optional<Term> Dim::Node::divide(const Term& a, const Term& b) {
  if (!divides_safely(a.coefficient, b.coefficient) || a.coefficient % b.coefficient != 0) return std::nullopt;
  Term q{a.coefficient / b.coefficient, {}};
  size_t used = 0;
  for (const Dim& f : a.factors) {
    if (used < b.factors.size() && compare(f, b.factors[used]) == 0) ++used;
    else q.factors.push_back(f);
  }
  if (used != b.factors.size()) return std::nullopt;
  return q;
}

// a / b when b divides a as a polynomial (long division by leading terms).
std::optional<Poly> Dim::Node::divide_exactly(const Poly& a, const Poly& b) {
  if (b.empty()) return std::nullopt;
  Poly rest = a, quotient;
  for (int step = 0; !rest.empty(); ++step) {
    std::optional<Term> q = divide(rest[0], b[0]);
    if (!q || step == kMaxDivisionSteps) return std::nullopt;
    for (const Term& t : b) {
      Term product;
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

std::optional<Poly> Dim::Node::divide_exactly(const Dim& a, const Dim& b) {
  const Poly x = poly_of(a);
  if (is_op(b, DimOp::kAdd)) {  // a sum that stands unexpanded in every term
    Poly quotient;
    for (const Term& t : x) {
      std::optional<Term> q = divide(t, Term{1, {b}});
      if (!q) break;
      quotient.push_back(std::move(*q));
    }
    if (quotient.size() == x.size()) return quotient;
  }
  return divide_exactly(x, poly_of(b));
}

// Dim

Dim Dim::symbol(SymbolId id) {
  auto node = std::make_shared<Node>();
  node->op = DimOp::kSymbol;
  node->symbol = id;
  node->key = "s" + std::to_string(id);
  Dim result;
  result.node_ = std::move(node);
  return result;
}

bool Dim::is_symbol(SymbolId* id) const {
  if (node_ == nullptr || node_->op != DimOp::kSymbol) return false;
  if (id != nullptr) *id = node_->symbol;
  return true;
}

bool Dim::operator==(const Dim& o) const {
  if (is_const() || o.is_const()) return is_const() && o.is_const() && value_ == o.value_;
  if (Node::is_undefined(*this)) return false;
  return node_ == o.node_ || (node_->size == o.node_->size && node_->key == o.node_->key);
}

std::string Dim::to_string() const { return is_const() ? std::to_string(value_) : node_->key; }
std::string Dim::to_string(const std::function<std::string(SymbolId)>& name) const {
  if (is_const()) return std::to_string(value_);
  if (node_->op == DimOp::kSymbol) return name(node_->symbol);
  return Node::make_key(node_->op, node_->operands, [&](const Dim& d) { return d.to_string(name); });
}
int Dim::size() const { return is_const() ? 1 : node_->size; }
DimOp Dim::op() const { return is_const() ? DimOp::kConst : node_->op; }
std::span<const Dim> Dim::operands() const {
  return is_const() ? std::span<const Dim>() : std::span<const Dim>(node_->operands);
}

Dim operator+(const Dim& a, const Dim& b) {
  if (Dim::Node::either_undefined(a, b)) return Dim::Node::undefined();
  Poly p = Dim::Node::poly_of(a);
  for (Term& t : Dim::Node::poly_of(b)) p.push_back(std::move(t));
  return Dim::Node::from_poly(std::move(p));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (Dim::Node::either_undefined(a, b)) return Dim::Node::undefined();
  const Poly x = Dim::Node::poly_of(a), y = Dim::Node::poly_of(b);
  if (x.size() <= 1 || y.size() <= 1 || x.size() * y.size() <= kMaxTerms) {
    std::optional<Poly> product = Dim::Node::multiply(x, y);
    return product ? Dim::Node::from_poly(std::move(*product)) : Dim::Node::undefined();
  }
  Term t{1, {a, b}};
  if (Dim::Node::compare(a, b) > 0) std::swap(t.factors[0], t.factors[1]);
  return Dim::Node::from_poly({t});
}

// Quotients. floor((b*q + r) / b) = q + floor(r / b) takes whole multiples out, leaving coefficients in [0, b).
Dim Dim::Node::floor_div_by(Poly a, int64_t b) {
  Poly whole, rest;
  int64_t common = b, constant = 0;
  for (Term& t : a) {
    const int64_t r = mod_i64(t.coefficient, b);
    if (const int64_t q = floor_div_i64(t.coefficient, b); q != 0) whole.push_back({q, t.factors});
    if (r == 0) continue;
    if (t.factors.empty()) constant = r;
    else {
      common = std::gcd(common, r);
      rest.push_back({r, std::move(t.factors)});
    }
  }
  if (rest.empty()) return from_poly(std::move(whole));  // 0 <= constant < b
  // floor((g*x + c) / (g*d)) = floor((x + floor(c / g)) / d)
  for (Term& t : rest) t.coefficient /= common;
  if (constant / common != 0) rest.push_back({constant / common, {}});
  b /= common;
  if (b == 1) return from_poly(std::move(whole)) + from_poly(std::move(rest));
  // floor((floor(x / c) + m) / b) = floor((x + c*m) / (b*c)), when there is one such quotient.
  const auto is_quotient = [](const Term& t) {
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

Dim Dim::Node::mod_by(Poly a, int64_t b) {
  Poly rest;
  int64_t common = b;
  for (Term& t : a) {
    const int64_t r = mod_i64(t.coefficient, b);
    if (r == 0) continue;
    common = std::gcd(common, r);
    rest.push_back({r, std::move(t.factors)});
  }
  if (rest.empty()) return Dim(0);
  if (rest.size() == 1 && rest[0].factors.empty()) return Dim(rest[0].coefficient);
  for (Term& t : rest) t.coefficient /= common;  // mod(g*x, g*d) = g * mod(x, d)
  if (b == common) return Dim(0);
  return Dim(common) * make(DimOp::kMod, {from_poly(std::move(rest)), Dim(b / common)});
}

Dim floor_div(const Dim& a, const Dim& b) {
  using Node = Dim::Node;
  if (Node::either_undefined(a, b)) return Node::undefined();
  if (b.is_const()) {
    if (b.value_ == 0 || b.value_ == INT64_MIN) return Node::undefined();
    if (b.value_ < 0) return floor_div(Dim(-1) * a, Dim(-b.value_));
    if (a.is_const()) return Dim(floor_div_i64(a.value_, b.value_));
    return Node::floor_div_by(Node::poly_of(a), b.value_);
  }
  if (a.is_const() && a.value_ == 0) return Dim(0);
  if (std::optional<Poly> q = Node::divide_exactly(a, b)) return Node::from_poly(std::move(*q));
  const Poly x = Node::poly_of(a), y = Node::poly_of(b);
  // Cancel what all terms of both share: numbers and atoms.
  Term shared{0, y[0].factors};
  for (const Poly* p : {&x, &y})
    for (const Term& t : *p) {
      if (t.coefficient == INT64_MIN) return Dim::make(DimOp::kFloorDiv, {a, b});
      shared.coefficient = std::gcd(shared.coefficient, t.coefficient);
      std::vector<Dim> both;
      std::set_intersection(shared.factors.begin(), shared.factors.end(), t.factors.begin(), t.factors.end(),
                            std::back_inserter(both),
                            [](const Dim& p, const Dim& q) { return Node::compare(p, q) < 0; });
      shared.factors = std::move(both);
    }
  if (shared.coefficient == 1 && shared.factors.empty()) return Dim::make(DimOp::kFloorDiv, {a, b});
  Poly top, bottom;
  for (const Term& t : x) top.push_back(*Node::divide(t, shared));
  for (const Term& t : y) bottom.push_back(*Node::divide(t, shared));
  return floor_div(Node::from_poly(std::move(top)), Node::from_poly(std::move(bottom)));
}

Dim ceil_div(const Dim& a, const Dim& b) {
  using Node = Dim::Node;
  if (Node::either_undefined(a, b)) return Node::undefined();
  if (b.is_const()) {
    if (b.value_ == 0 || b.value_ == INT64_MIN) return Node::undefined();
    if (b.value_ < 0) return ceil_div(Dim(-1) * a, Dim(-b.value_));
    // Not (a + b - 1) / b, whose sum may overflow for a constant a.
    if (a.is_const()) return Dim(floor_div_i64(a.value_, b.value_) + (mod_i64(a.value_, b.value_) != 0 ? 1 : 0));
    return floor_div(a + Dim(b.value_ - 1), b);
  }
  if (a.is_const() && a.value_ == 0) return Dim(0);
  if (std::optional<Poly> q = Node::divide_exactly(a, b))
    return Node::from_poly(std::move(*q));
  return Dim::make(DimOp::kCeilDiv, {a, b});
}

Dim mod(const Dim& a, const Dim& b) {
  using Node = Dim::Node;
  if (Node::either_undefined(a, b)) return Node::undefined();
  if (b.is_const()) {
    if (b.value_ == 0 || b.value_ == INT64_MIN) return Node::undefined();
    if (a.is_const() && b.value_ != -1) return Dim(mod_i64(a.value_, b.value_));
    if (b.value_ < 0) return Dim(-1) * mod(Dim(-1) * a, Dim(-b.value_));
    return Node::mod_by(Node::poly_of(a), b.value_);
  }
  if (a.is_const() && a.value_ == 0) return Dim(0);
  if (Node::divide_exactly(a, b)) return Dim(0);
  return Dim::make(DimOp::kMod, {a, b});
}

Dim Dim::Node::extremum(DimOp op, const Dim& a, const Dim& b) {
  if (either_undefined(a, b)) return undefined();
  std::vector<Dim> operands;
  for (const Dim* d : {&a, &b}) {
    if (is_op(*d, op)) operands.insert(operands.end(), d->node_->operands.begin(), d->node_->operands.end());
    else operands.push_back(*d);
  }
  // Of two operands whose difference is known, one goes. Beyond the limit only equal ones are looked for.
  const bool thorough = operands.size() <= 16;
  std::vector<Dim> kept;
  for (Dim& d : operands) {
    bool wanted = true;
    for (size_t i = 0; i < kept.size() && wanted; ++i) {
      if (kept[i] == d) wanted = false;
      if (!wanted || !(thorough || (d.is_const() && kept[i].is_const()))) continue;
      const Dim difference = d - kept[i];
      if (!difference.is_const()) continue;
      if ((op == DimOp::kMin) == (difference.value_ >= 0)) wanted = false;
      else kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (wanted) kept.push_back(std::move(d));
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end(), [](const Dim& x, const Dim& y) {  // numbers last
    if (x.is_const() || y.is_const()) return !x.is_const() && y.is_const();
    return compare(x, y) < 0;
  });
  return make(op, std::move(kept));
}

Dim dim_min(const Dim& a, const Dim& b) { return Dim::Node::extremum(DimOp::kMin, a, b); }
Dim dim_max(const Dim& a, const Dim& b) { return Dim::Node::extremum(DimOp::kMax, a, b); }

// Evaluation and rewriting: recursive, at most kMaxDepth deep.

std::optional<int64_t> Dim::evaluate(const std::function<std::optional<int64_t>(SymbolId)>& binding) const {
  if (is_const()) return value_;
  if (node_->op == DimOp::kSymbol) return binding(node_->symbol);
  std::optional<int64_t> result;
  for (const Dim& operand : node_->operands) {
    const std::optional<int64_t> v = operand.evaluate(binding);
    if (!v) return std::nullopt;
    if (!result) {
      result = v;
      continue;
    }
    switch (node_->op) {
      case DimOp::kAdd:
        if (__builtin_add_overflow(*result, *v, &*result)) return std::nullopt;
        break;
      case DimOp::kMul:
        if (__builtin_mul_overflow(*result, *v, &*result)) return std::nullopt;
        break;
      case DimOp::kMin: result = std::min(*result, *v); break;
      case DimOp::kMax: result = std::max(*result, *v); break;
      default:
        if (!divides_safely(*result, *v)) return std::nullopt;
        if (node_->op == DimOp::kFloorDiv) result = floor_div_i64(*result, *v);
        else if (node_->op == DimOp::kCeilDiv) result = floor_div_i64(*result, *v) + (*result % *v != 0 ? 1 : 0);
        else result = mod_i64(*result, *v);
    }
  }
  return result;
}

Dim Dim::substitute(const std::function<Dim(SymbolId)>& map) const {
  if (is_const()) return *this;
  if (node_->op == DimOp::kSymbol) return map(node_->symbol);
  std::optional<Dim> result;
  for (const Dim& operand : node_->operands) {
    Dim d = operand.substitute(map);
    if (!result) {
      result = std::move(d);
      continue;
    }
    switch (node_->op) {
      case DimOp::kAdd: result = *result + d; break;
      case DimOp::kMul: result = *result * d; break;
      case DimOp::kMin: result = dim_min(*result, d); break;
      case DimOp::kMax: result = dim_max(*result, d); break;
      case DimOp::kCeilDiv: result = ceil_div(*result, d); break;
      case DimOp::kMod: result = mod(*result, d); break;
      default: result = floor_div(*result, d); break;
    }
  }
  return *result;
}

void Dim::collect_symbols(std::vector<SymbolId>* out) const {
  if (is_const()) return;
  if (node_->op == DimOp::kSymbol) {
    if (std::find(out->begin(), out->end(), node_->symbol) == out->end()) out->push_back(node_->symbol);
    return;
  }
  for (const Dim& operand : node_->operands) operand.collect_symbols(out);
}

}  // namespace wootz
