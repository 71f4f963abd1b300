// A reduction of what another one left, mean(3) and then mean(2), is one over the axes of both: data is read once, and
// what looks for a reduction over the axes of an image finds it.
#include <algorithm>

#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

struct Rule {
  const char *inner, *outer, *both;
  bool floats_only;  // integers are rounded or wrap in between
};
constexpr Rule kRules[] = {
    {"sum", "sum", "sum", false},
    {"mean", "mean", "mean", true},
    {"max", "max", "max", false},
    {"min", "min", "min", false},
    {"prod", "prod", "prod", false},
    {"l1", "l1", "l1", true},
    {"l1", "sum", "l1", true},
    {"l2", "l2", "l2", true},
    {"sumsq", "sum", "sumsq", true},
    {"sum", "logsum", "logsum", true},
    {"logsumexp", "logsumexp", "logsumexp", true},
};

bool known_reduction(const Node* node) {
  return node != nullptr && node->is("Reduce") && node->has_attr("axes") && !node->has_attr("epilogue");
}

const Rule* rule_for(const Node& inner, const Node& outer) {
  for (const Rule& r : kRules)
    if (inner.attr_string("kind") == r.inner && outer.attr_string("kind") == r.outer)
      return !r.floats_only || is_float(inner.input(0)->dtype()) ? &r : nullptr;
  return nullptr;
}

std::vector<int64_t> positive(std::vector<int64_t> axes, int rank) {
  for (int64_t& a : axes) a += a < 0 ? rank : 0;
  return axes;
}

// Of the inner reduction's input. With `kept`, its results have the same axes; otherwise those that it left.
std::vector<int64_t> axes_of_both(const Node& inner, const Node& outer, bool kept) {
  std::vector<int64_t> axes = positive(inner.attr_ints("axes"), inner.input(0)->rank()), left;
  const auto reduced = [&](int64_t a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); };
  for (int a = 0; a < inner.input(0)->rank(); ++a)
    if (kept || !reduced(a)) left.push_back(a);
  std::vector<int64_t> further;
  for (const int64_t a : positive(outer.attr_ints("axes"), outer.input(0)->rank()))
    if (const int64_t own = left[static_cast<size_t>(a)]; !reduced(own)) further.push_back(own);
  axes.insert(axes.end(), further.begin(), further.end());
  std::sort(axes.begin(), axes.end());
  return axes;
}

Result<bool> merge(Graph& graph, Node* outer) {
  if (!known_reduction(outer)) return false;
  const Node* inner = outer->input(0)->producer();
  if (!known_reduction(inner) || only_user(inner->output()) != outer) return false;
  const bool kept = inner->attr_int("keepdims", 1) != 0;
  const Rule* rule = rule_for(*inner, *outer);
  if (rule == nullptr || kept != (outer->attr_int("keepdims", 1) != 0)) return false;
  AttrMap attrs = outer->attrs();
  attrs["kind"] = std::string(rule->both);
  attrs["axes"] = axes_of_both(*inner, *outer, kept);
  const std::vector<std::string> origin = inner->provenance();
  WOOTZ_ASSIGN_OR_RETURN(Node* const made, replace_node(graph, outer, "Reduce", {inner->input(0)}, std::move(attrs)));
  if (made == nullptr) return false;
  for (const std::string& name : origin) made->add_provenance(name);
  return true;
}

}  // namespace

Result<bool> merge_reductions(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool merged, merge(graph, node));
    changed = changed || merged;
  }
  return changed;
}

}  // namespace wootz
