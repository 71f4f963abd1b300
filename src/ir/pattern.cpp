#include "ir/pattern.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "ir/op_def.h"

namespace wootz {

struct Pattern::Rep {
  enum class Kind : uint8_t { kAny, kConstant, kNone, kOp, kEither };
  Kind kind = Kind::kAny;
  std::string name;                   // binds, or must equal what is bound
  std::vector<std::string> op_names;  // kOp: one of these
  std::vector<Pattern> inputs;        // kOp: operands; kEither: alternatives
  bool any_inputs = false;
  bool more_inputs = false;
  bool ordered = false;
  bool single_use = false;
  int output = 0;
  std::vector<std::function<bool(const Node&)>> node_tests;
  std::vector<std::function<bool(const Value&)>> value_tests;
};

namespace {

constexpr int kMaxSteps = 10'000;

template <typename Change>
Pattern changed(const Pattern& pattern, Change change) {
  auto rep = std::make_shared<Pattern::Rep>(pattern.rep());
  change(*rep);
  return Pattern(std::move(rep));
}

// Constants of 0.7071 in f16 are not 0.7071067811865475.
double precision(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 1e-9;  // often written from a float
    case DType::kF16: return 1e-3;
    case DType::kBF16: return 8e-3;
    default: return 1e-6;
  }
}

bool is_scalar(const Value& value) {
  return value.is_constant() && value.constant().valid() && value.constant().volume() == 1;
}

class Matcher {
 public:
  bool run(const Pattern& pattern, Value* value) {
    const Goal goal{&pattern.rep(), value, nullptr};
    return solve(&goal);
  }
  Match take() { return std::move(match_); }

 private:
  // What remains to be matched, as a list: a choice is tried with all that comes after it.
  struct Goal {
    const Pattern::Rep* pattern;
    Value* value;
    const Goal* next;
  };

  bool solve(const Goal* goal) {
    if (goal == nullptr) return true;
    if (++steps_ > kMaxSteps) return false;
    const Pattern::Rep& p = *goal->pattern;
    Value* value = goal->value;
    using Kind = Pattern::Rep::Kind;
    if (p.kind == Kind::kEither) {
      for (const Pattern& alternative : p.inputs) {
        const Goal chosen{&alternative.rep(), value, goal->next};
        if (accept_and_solve(p, value, nullptr, &chosen)) return true;
      }
      return false;
    }
    if (p.kind == Kind::kNone) return value == nullptr && solve(goal->next);
    if (value == nullptr) return false;
    if (p.kind == Kind::kConstant && !value->is_constant()) return false;
    if (p.kind != Kind::kOp) return accept_and_solve(p, value, nullptr, goal->next);
    Node* node = value->producer();
    if (node == nullptr || value->producer_index() != p.output) return false;
    if (std::none_of(p.op_names.begin(), p.op_names.end(), [&](const std::string& n) { return node->is(n); }))
      return false;
    for (const auto& test : p.node_tests)
      if (!test(*node)) return false;
    if (p.any_inputs) return accept_and_solve(p, value, node, goal->next);
    int given = node->num_inputs();
    const int listed = static_cast<int>(p.inputs.size());
    while (given > listed && node->input(given - 1) == nullptr) --given;
    if (given > listed && !p.more_inputs) return false;
    const bool swappable = node->op().traits.commutative && !p.ordered && listed >= 2;
    for (const bool swap : {false, true}) {
      if (swap && !swappable) break;
      std::vector<Goal> goals(static_cast<size_t>(listed));
      for (int i = listed - 1; i >= 0; --i) {
        const int input = swap && i < 2 ? 1 - i : i;
        const auto k = static_cast<size_t>(i);
        goals[k] = {&p.inputs[k].rep(), node->input(input), i + 1 < listed ? &goals[k + 1] : goal->next};
      }
      if (accept_and_solve(p, value, node, listed > 0 ? &goals[0] : goal->next)) return true;
    }
    return false;
  }

  // Binds, solves the rest, and takes the binding back when the rest fails.
  bool accept_and_solve(const Pattern::Rep& p, Value* value, Node* node, const Goal* rest) {
    if (value != nullptr) {
      if (p.single_use && (value->uses().size() != 1 || value->graph()->is_output(value))) return false;
      for (const auto& test : p.value_tests)
        if (!test(*value)) return false;
    }
    bool bound_value = false, bound_node = false;
    if (!p.name.empty()) {
      const auto [entry, fresh] = match_.values.emplace(p.name, value);
      if (!fresh && entry->second != value) return false;
      bound_value = fresh;
      if (node != nullptr) bound_node = match_.bound_nodes.emplace(p.name, node).second;
    }
    if (node != nullptr) match_.nodes.push_back(node);
    if (solve(rest)) return true;
    if (node != nullptr) match_.nodes.pop_back();
    if (bound_value) match_.values.erase(p.name);
    if (bound_node) match_.bound_nodes.erase(p.name);
    return false;
  }

  Match match_;
  int steps_ = 0;
};

bool is_closed(const Match& match) {
  const std::unordered_set<const Node*> inside(match.nodes.begin(), match.nodes.end());
  for (size_t i = 1; i < match.nodes.size(); ++i)
    for (const Value* value : match.nodes[i]->outputs()) {
      if (value->graph()->is_output(value)) return false;
      for (const Use& use : value->uses())
        if (inside.count(use.node) == 0) return false;
    }
  return true;
}

}  // namespace

Pattern Pattern::as(std::string name) const {
  return changed(*this, [&](Rep& r) { r.name = std::move(name); });
}
Pattern Pattern::single_use() const {
  return changed(*this, [](Rep& r) { r.single_use = true; });
}
Pattern Pattern::output(int index) const {
  return changed(*this, [&](Rep& r) { r.output = index; });
}
Pattern Pattern::more_inputs() const {
  return changed(*this, [](Rep& r) { r.more_inputs = true; });
}
Pattern Pattern::ordered() const {
  return changed(*this, [](Rep& r) { r.ordered = true; });
}
Pattern Pattern::where(std::function<bool(const Node&)> predicate) const {
  return changed(*this, [&](Rep& r) { r.node_tests.push_back(std::move(predicate)); });
}
Pattern Pattern::attr(std::string name, int64_t value) const {
  return where([name = std::move(name), value](const Node& node) {
    const auto found = node.attrs().find(name);
    const auto* i = found == node.attrs().end() ? nullptr : std::get_if<int64_t>(&found->second);
    return i != nullptr && *i == value;
  });
}
Pattern Pattern::where_value(std::function<bool(const Value&)> predicate) const {
  return changed(*this, [&](Rep& r) { r.value_tests.push_back(std::move(predicate)); });
}

namespace pat {
namespace {

Pattern make(Pattern::Rep rep) { return Pattern(std::make_shared<const Pattern::Rep>(std::move(rep))); }

}  // namespace

Pattern any(std::string name) {
  Pattern::Rep rep;
  rep.name = std::move(name);
  return make(std::move(rep));
}

Pattern same(std::string name) { return any(std::move(name)); }

Pattern constant(std::string name) {
  Pattern::Rep rep;
  rep.kind = Pattern::Rep::Kind::kConstant;
  rep.name = std::move(name);
  return make(std::move(rep));
}

Pattern scalar(std::string name) { return constant(std::move(name)).where_value(is_scalar); }

Pattern scalar(double wanted) {
  return constant().where_value([wanted](const Value& value) {
    if (!is_scalar(value)) return false;
    const double found = value.constant().get_f64(0);
    return found == wanted || std::fabs(found - wanted) <= precision(value.constant().dtype()) * std::fabs(wanted);
  });
}

Pattern scalar_if(std::function<bool(double)> predicate, std::string name) {
  return constant(std::move(name)).where_value([predicate = std::move(predicate)](const Value& value) {
    return is_scalar(value) && predicate(value.constant().get_f64(0));
  });
}

Pattern none() {
  Pattern::Rep rep;
  rep.kind = Pattern::Rep::Kind::kNone;
  return make(std::move(rep));
}

Pattern one_of(std::vector<std::string> op_names, std::vector<Pattern> inputs) {
  Pattern::Rep rep;
  rep.kind = Pattern::Rep::Kind::kOp;
  rep.op_names = std::move(op_names);
  rep.inputs = std::move(inputs);
  return make(std::move(rep));
}

Pattern op(std::string name, std::vector<Pattern> inputs) { return one_of({std::move(name)}, std::move(inputs)); }

Pattern op(std::string name) {
  return changed(one_of({std::move(name)}, {}), [](Pattern::Rep& r) { r.any_inputs = true; });
}

Pattern either(std::vector<Pattern> alternatives) {
  Pattern::Rep rep;
  rep.kind = Pattern::Rep::Kind::kEither;
  rep.inputs = std::move(alternatives);
  return make(std::move(rep));
}

Pattern maybe(std::string op_name, Pattern inner) { return either({op(std::move(op_name), {inner}), inner}); }

}  // namespace pat

Value* Match::value(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : found->second;
}

Node* Match::node(std::string_view name) const {
  const auto found = bound_nodes.find(name);
  return found == bound_nodes.end() ? nullptr : found->second;
}

double Match::scalar(std::string_view name) const {
  const Value* found = value(name);
  return found != nullptr && is_scalar(*found) ? found->constant().get_f64(0)
                                               : std::numeric_limits<double>::quiet_NaN();
}

std::optional<Match> match(const Pattern& pattern, Node* root, MatchUses uses) {
  // The root's output is the one that the pattern (or its first alternative) names.
  const Pattern::Rep* rep = &pattern.rep();
  while (rep->kind == Pattern::Rep::Kind::kEither && !rep->inputs.empty()) rep = &rep->inputs[0].rep();
  if (root == nullptr || root->output(rep->output) == nullptr) return std::nullopt;
  Matcher matcher;
  if (!matcher.run(pattern, root->output(rep->output))) return std::nullopt;
  Match found = matcher.take();
  std::vector<Node*> distinct;
  std::unordered_set<const Node*> seen;
  for (Node* node : found.nodes)
    if (seen.insert(node).second) distinct.push_back(node);
  found.nodes = std::move(distinct);
  if (uses == MatchUses::kClosed && !is_closed(found)) return std::nullopt;
  return found;
}

}  // namespace wootz
