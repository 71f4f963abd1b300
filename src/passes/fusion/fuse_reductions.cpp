// Reductions spelled out with elementwise ops around a sum become the reduction that they are: L1 and L2 norms, sums of
// squares, means, logarithms of sums (of exponentials); exponentials over their sum become a softmax.
#include <algorithm>

#include "ir/pattern.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int kMaxWalks = 8;

Pattern sum(const char* kind, Pattern inner, const char* name) {
  return pat::op("Reduce", {std::move(inner)})
      .where([kind](const Node& n) {
        return n.attr_string("kind") == kind && n.has_attr("axes") && !n.has_attr("epilogue");
      })
      .as(name);
}

// What stands before the patterns' first use: each is matched at its last node.
struct Rule {
  const char* root;  // op of the last node
  const char* kind;  // of the reduction it becomes
  Pattern pattern;   // binds "x" and the reduction "r"
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = [] {
    const Pattern x = pat::any("x");
    const Pattern square = pat::either({pat::op("Mul", {x, pat::same("x")}), pat::op("Pow", {x, pat::scalar(2)})});
    const Pattern squares = pat::either({sum("sumsq", x, "r"), sum("sum", square, "r")});
    // Spelled with the largest element taken away, which keeps exponentials finite, and added back. The logarithm comes
    // first and has been recognized by then.
    const Pattern shifted = sum("logsumexp", pat::op("Sub", {x, sum("max", pat::same("x"), "m")}), "r");
    return std::vector<Rule>{
        {"Reduce", "l1", sum("sum", pat::op("Abs", {x}), "r")},
        {"Sqrt", "l2", pat::op("Sqrt", {squares})},
        {"Pow", "l2", pat::op("Pow", {squares, pat::scalar(0.5)})},
        {"Reduce", "sumsq", sum("sum", square, "r")},
        {"Add", "logsumexp", pat::op("Add", {shifted, pat::same("m")})},
        {"Log", "logsumexp", pat::op("Log", {sum("sum", pat::op("Exp", {x}), "r")})},
        {"Log", "logsum", pat::op("Log", {sum("sum", x, "r")})},
    };
  }();
  return kRules;
}

bool same_reduction(const Node& a, const Node& b) {
  return a.attr_ints("axes") == b.attr_ints("axes") && a.attr_int("keepdims", 1) == b.attr_int("keepdims", 1);
}

Result<bool> apply_rules(Graph& graph, Node* node) {
  for (const Rule& rule : rules()) {
    if (!node->is(rule.root)) continue;
    const std::optional<Match> m = match(rule.pattern, node);
    if (!m || !is_float(m->value("x")->dtype())) continue;
    const Node& r = *m->node("r");
    if (m->node("m") != nullptr && !same_reduction(r, *m->node("m"))) continue;
    std::vector<std::string> origin;
    for (const Node* n : m->nodes) origin.insert(origin.end(), n->provenance().begin(), n->provenance().end());
    AttrMap attrs{
        {"kind", std::string(rule.kind)}, {"axes", r.attr_ints("axes")}, {"keepdims", r.attr_int("keepdims", 1)}};
    Value* x = m->value("x");
    WOOTZ_ASSIGN_OR_RETURN(Node* const made, replace_node(graph, node, "Reduce", {x}, std::move(attrs)));
    if (made == nullptr) continue;
    for (std::string& name : origin) made->add_provenance(std::move(name));
    return true;
  }
  return false;
}

// sum(x) / n and sum(x) * (1 / n) over n elements.
Result<bool> spelled_mean(Graph& graph, Node* node) {
  const bool div = node->is("Div");
  if ((!div && !node->is("Mul")) || node->num_inputs() != 2) return false;
  for (int i : {0, 1}) {
    if (div && i == 1) break;
    const Value* total = node->input(i);
    const std::optional<double> factor = scalar_constant(node->input(1 - i));
    Node* r = total == nullptr ? nullptr : total->producer();
    if (!factor || r == nullptr || !r->is("Reduce") || r->attr_string("kind") != "sum" || !r->has_attr("axes") ||
        r->has_attr("epilogue") || only_user(total) != node || !is_float(total->dtype()))
      continue;
    double count = 1;
    for (int64_t a : r->attr_ints("axes")) {
      const Value& x = *r->input(0);
      const Dim& d = x.shape()[static_cast<size_t>(a < 0 ? a + x.rank() : a)];
      count *= d.is_const() ? static_cast<double>(d.value()) : 0;
    }
    if (count <= 0) continue;
    const double wanted = div ? count : 1 / count;
    if (std::abs(*factor - wanted) > 1e-6 * wanted) continue;
    AttrMap attrs = r->attrs();
    attrs["kind"] = std::string("mean");
    const std::vector<std::string> origin = r->provenance();
    WOOTZ_ASSIGN_OR_RETURN(Node* const made, replace_node(graph, node, "Reduce", {r->input(0)}, std::move(attrs)));
    if (made == nullptr) continue;
    for (const std::string& name : origin) made->add_provenance(name);
    return true;
  }
  return false;
}

// exp(x) / sum(exp(x)) along one axis, with or without the maximum taken away first.
Result<bool> spelled_softmax(Graph& graph, Node* node) {
  if (!node->is("Div")) return false;
  static const std::vector<Pattern> kForms = [] {
    const auto over_sum = [](const Pattern& e) { return pat::op("Div", {e, sum("sum", pat::same("e"), "r")}); };
    const Pattern top = sum("max", pat::same("x"), "m");
    return std::vector<Pattern>{
        over_sum(pat::op("Exp", {pat::op("Sub", {pat::any("x"), top})}).as("e")),
        over_sum(pat::op("Exp", {pat::any("x")}).as("e")),
    };
  }();
  for (const Pattern& form : kForms) {
    const std::optional<Match> m = match(form, node);
    if (!m || !is_float(m->value("x")->dtype())) continue;
    const Node& r = *m->node("r");
    const std::vector<int64_t> axes = r.attr_ints("axes");
    if (axes.size() != 1 || r.attr_int("keepdims", 1) == 0) continue;
    if (m->node("m") != nullptr && !same_reduction(r, *m->node("m"))) continue;
    std::vector<std::string> origin;
    for (const Node* n : m->nodes) origin.insert(origin.end(), n->provenance().begin(), n->provenance().end());
    WOOTZ_ASSIGN_OR_RETURN(Node* const made,
                           replace_node(graph, node, "Softmax", {m->value("x")}, {{"axis", axes[0]}}));
    if (made == nullptr) continue;
    for (std::string& name : origin) made->add_provenance(std::move(name));
    return true;
  }
  return false;
}

// x - logsumexp(x) along one axis.
Result<bool> spelled_log_softmax(Graph& graph, Node* node) {
  static const Pattern kForm = pat::op("Sub", {pat::any("x"), sum("logsumexp", pat::same("x"), "r")});
  if (!node->is("Sub")) return false;
  const std::optional<Match> m = match(kForm, node);
  if (!m || !is_float(m->value("x")->dtype())) return false;
  const Node& r = *m->node("r");
  const std::vector<int64_t> axes = r.attr_ints("axes");
  if (axes.size() != 1 || r.attr_int("keepdims", 1) == 0) return false;
  const std::vector<std::string> origin = r.provenance();
  WOOTZ_ASSIGN_OR_RETURN(Node* const made,
                         replace_node(graph, node, "LogSoftmax", {m->value("x")}, {{"axis", axes[0]}}));
  if (made == nullptr) return false;
  for (const std::string& name : origin) made->add_provenance(name);
  return true;
}

// A softmax takes the largest element away by itself.
Result<bool> shifted_softmax(Graph& graph, Node* node) {
  if ((!node->is("Softmax") && !node->is("LogSoftmax")) || node->has_attr("epilogue")) return false;
  static const Pattern kShifted = pat::op("Sub", {pat::any("x"), sum("max", pat::same("x"), "m")});
  static const Pattern kForms[] = {pat::op("Softmax", {kShifted}), pat::op("LogSoftmax", {kShifted})};
  const std::optional<Match> m = match(kForms[node->is("Softmax") ? 0 : 1], node);
  if (!m) return false;
  const Node& top = *m->node("m");
  const int rank = m->value("x")->rank();
  const auto positive = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const std::vector<int64_t> axes = top.attr_ints("axes");
  if (axes.size() != 1 || top.attr_int("keepdims", 1) == 0 || positive(axes[0]) != positive(node->attr_int("axis", -1)))
    return false;
  std::vector<std::string> origin;
  for (const Node* n : m->nodes) origin.insert(origin.end(), n->provenance().begin(), n->provenance().end());
  WOOTZ_ASSIGN_OR_RETURN(Node* const made,
                         replace_node(graph, node, node->op().name, {m->value("x")}, AttrMap(node->attrs())));
  if (made == nullptr) return false;
  for (std::string& name : origin) made->add_provenance(std::move(name));
  return true;
}

Result<bool> walk(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    for (const auto rewrite : {apply_rules, spelled_mean, spelled_softmax, spelled_log_softmax, shifted_softmax}) {
      WOOTZ_ASSIGN_OR_RETURN(const bool fused, rewrite(graph, node));
      changed = changed || fused;
      if (fused) break;
    }
  }
  return changed;
}

}  // namespace

// What a fusion makes may be part of another one.
Result<bool> fuse_reductions(Graph& graph) {
  bool changed = false;
  for (int i = 0; i < kMaxWalks; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, walk(graph));
    if (!fused) break;
    changed = true;
  }
  return changed;
}

}  // namespace wootz
