// Building, evaluating and rewriting dimensions; ir/dim_node.h describes the canonical form.
#include "ir/dim.h"

#include <algorithm>
#include <numeric>

#include "ir/dim_node.h"

namespace wootz {
using namespace dim_limits;

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

int Dim::Node::compare(const Dim& a, const Dim& b) {
  if (a.node_ == b.node_) return 0;
  const bool sa = a.is_symbol(), sb = b.is_symbol();
  if (sa && sb) return a.node_->symbol < b.node_->symbol ? -1 : a.node_->symbol > b.node_->symbol ? 1 : 0;
  if (sa != sb) return sa ? -1 : 1;
  return a.node_->key.compare(b.node_->key);
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
  // The common cases, without making polynomials.
  if (int64_t sum = 0; a.is_const() && b.is_const() && !__builtin_add_overflow(a.value_, b.value_, &sum))
    return Dim(sum);
  if (b.is_const() && b.value_ == 0) return a;
  if (a.is_const() && a.value_ == 0) return b;
  if (Dim::Node::either_undefined(a, b)) return Dim::Node::undefined();
  DimPoly p = Dim::Node::poly_of(a);
  for (DimTerm& t : Dim::Node::poly_of(b)) p.push_back(std::move(t));
  return Dim::Node::from_poly(std::move(p));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (int64_t p = 0; a.is_const() && b.is_const() && !__builtin_mul_overflow(a.value_, b.value_, &p)) return Dim(p);
  if (b.is_const() && b.value_ == 1) return a;
  if (a.is_const() && a.value_ == 1) return b;
  if (Dim::Node::either_undefined(a, b)) return Dim::Node::undefined();
  const DimPoly x = Dim::Node::poly_of(a), y = Dim::Node::poly_of(b);
  if (x.size() <= 1 || y.size() <= 1 || x.size() * y.size() <= kMaxTerms) {
    std::optional<DimPoly> product = Dim::Node::multiply(x, y);
    return product ? Dim::Node::from_poly(std::move(*product)) : Dim::Node::undefined();
  }
  DimTerm t{1, {a, b}};
  if (Dim::Node::compare(a, b) > 0) std::swap(t.factors[0], t.factors[1]);
  return Dim::Node::from_poly({t});
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
  if (std::optional<DimPoly> q = Node::divide_exactly(a, b)) return Node::from_poly(std::move(*q));
  const DimPoly x = Node::poly_of(a), y = Node::poly_of(b);
  // Cancel what all terms of both share: numbers and atoms.
  DimTerm shared{0, y[0].factors};
  for (const DimPoly* p : {&x, &y})
    for (const DimTerm& t : *p) {
      if (t.coefficient == INT64_MIN) return Dim::make(DimOp::kFloorDiv, {a, b});
      shared.coefficient = std::gcd(shared.coefficient, t.coefficient);
      std::vector<Dim> both;
      std::set_intersection(shared.factors.begin(), shared.factors.end(), t.factors.begin(), t.factors.end(),
                            std::back_inserter(both),
                            [](const Dim& p, const Dim& q) { return Node::compare(p, q) < 0; });
      shared.factors = std::move(both);
    }
  if (shared.coefficient == 1 && shared.factors.empty()) return Dim::make(DimOp::kFloorDiv, {a, b});
  DimPoly top, bottom;
  for (const DimTerm& t : x) top.push_back(*Node::divide(t, shared));
  for (const DimTerm& t : y) bottom.push_back(*Node::divide(t, shared));
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
  if (std::optional<DimPoly> q = Node::divide_exactly(a, b)) return Node::from_poly(std::move(*q));
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
    if (is_op(*d, op))
      operands.insert(operands.end(), d->node_->operands.begin(), d->node_->operands.end());
    else
      operands.push_back(*d);
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
      if ((op == DimOp::kMin) == (difference.value_ >= 0))
        wanted = false;
      else
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i--));
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
        if (node_->op == DimOp::kFloorDiv)
          result = floor_div_i64(*result, *v);
        else if (node_->op == DimOp::kCeilDiv)
          result = floor_div_i64(*result, *v) + (*result % *v != 0 ? 1 : 0);
        else
          result = mod_i64(*result, *v);
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
