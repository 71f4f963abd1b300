#include "passes/canonicalize/decide_branches.h"

#include <algorithm>

#include "base/limits.h"
#include "ops/infer.h"
#include "passes/support/replacement.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

// Whether the values of an input, which may be others than the profile says, have a part in it.
bool from_values(const Value& condition) {
  if (!condition.shape_values()) return false;
  std::vector<SymbolId> used;
  for (const Dim& d : *condition.shape_values()) d.collect_symbols(&used);
  const std::vector<Symbol>& symbols = condition.graph()->symbols();
  return std::any_of(used.begin(), used.end(),
                     [&](SymbolId s) { return symbols[static_cast<size_t>(s)].kind == SymbolKind::kInputValue; });
}

std::string model_name(const Node& node) { return node.provenance().empty() ? node.name() : node.provenance().back(); }

class Decider {
 public:
  explicit Decider(const std::vector<ProfileRanges>& profiles) : profiles_(profiles) {}

  Status run(Graph& graph, int depth) {
    for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
      next = node->next();
      WOOTZ_RETURN_IF_ERROR(visit(graph, node, depth, &next));
    }
    return Status();
  }
  int decided() const { return decided_; }

 private:
  // `next`: where to go on; the branch's own nodes, when it was put here.
  Status visit(Graph& graph, Node* node, int depth, Node** next) {
    if (node->is("If") && node->input(0) != nullptr) {
      if (const std::optional<bool> taken = truth(*node->input(0))) {
        Node* const mark = graph.add_node(node->op(), "", {}, {}, 0, node);  // its neighbours may go with the If
        WOOTZ_RETURN_IF_ERROR(take_branch(graph, node, *taken));
        *next = mark->next();
        graph.erase(mark);
        ++decided_;
        return Status();
      }
    }
    if (depth < limits::kMaxSubgraphDepth) {
      WOOTZ_ASSIGN_OR_RETURN(const bool gone, visit_subgraphs(graph, node, depth));
      if (gone) return Status();
    }
    WOOTZ_RETURN_IF_ERROR(infer_node(*node));
    if (node->is("Assert")) return visit_assert(graph, node, depth);
    if (!node->is("Require")) return Status();
    const std::optional<bool> holds = truth(*node->input(0));
    if (!holds) return Status();
    if (*holds != (node->attr_int("expected") != 0))  // inside of a branch, only when that is taken
      return depth > 0 ? Status() : invalid_argument("{}", node->attr_string("message"));
    if (from_values(*node->input(0))) return Status();
    Value* operand = node->input(1);
    const bool given = graph.is_output(node->output());
    if (given && (operand->kind() != ValueKind::kNodeOutput || graph.is_output(operand))) return Status();
    const std::string name = node->output()->name();
    graph.replace_all_uses(node->output(), operand);
    if (given) {
      node->output()->set_name(graph.unique_name(name));
      operand->add_alias(operand->name());
      operand->set_name(name);
    }
    graph.erase(node);
    return Status();
  }

  // Goes where all of it holds at all shapes. What never holds fails the build, but inside of a branch.
  Status visit_assert(Graph& graph, Node* node, int depth) const {
    const Value& condition = *node->input(0);
    if (!condition.shape_values()) return Status();
    bool all = !from_values(condition);
    for (const Dim& element : *condition.shape_values()) {
      const std::optional<bool> holds = truth(element);
      if (holds == false && depth == 0) return invalid_argument("{}", node->attr_string("message"));
      all = all && holds == true;
    }
    if (all) graph.erase(node);
    return Status();
  }

  // What a branch reads is as it is outside by now. A branch that is impossible with that leaves the other one: true.
  Result<bool> visit_subgraphs(Graph& graph, Node* node, int depth) {
    int input = 1;
    Status failed[2];
    for (const char* attr : {"then_branch", "else_branch", "body"}) {
      const std::shared_ptr<Graph> inner = node->attr_graph(attr);
      if (inner == nullptr) continue;
      if (node->is("If"))
        for (Value* v : inner->inputs()) take_type(v, node->input(input++));
      const Status status = run(*inner, depth + 1);
      if (status.ok()) continue;
      if (!node->is("If"))
        return status.with_prefix(fmt::format("node '{}' ({}), {}", node->name(), node->op().name, attr));
      failed[attr == std::string_view("then_branch") ? 0 : 1] = status;
    }
    if (failed[0].ok() && failed[1].ok()) return false;
    const bool then = !failed[0].ok();
    const std::string why =
        fmt::format("node '{}' (If) chooses its {}, which cannot be computed: {}", model_name(*node),
                    then ? "then_branch" : "else_branch", failed[then ? 0 : 1].message());
    if (!failed[0].ok() && !failed[1].ok())
      return invalid_argument("{}; and its else_branch: {}", why, failed[1].message());
    WOOTZ_RETURN_IF_ERROR(take_branch(graph, node, !then, why));
    return true;
  }
  static void take_type(Value* inner, const Value* outer) {
    if (outer == nullptr || outer->dtype() != inner->dtype() || outer->rank() != inner->rank()) return;
    inner->set_type(outer->dtype(), outer->shape());
    inner->set_shape_values(outer->shape_values());
  }

  std::optional<bool> truth(const Value& condition) const {
    if (condition.is_constant())
      return condition.constant().volume() == 1 ? std::optional(condition.constant().get_i64(0) != 0) : std::nullopt;
    if (!condition.shape_values() || condition.shape_values()->size() != 1) return std::nullopt;
    return truth((*condition.shape_values())[0]);
  }
  std::optional<bool> truth(const Dim& value) const {
    if (value.is_const()) return value.value() != 0;
    std::optional<bool> all;
    for (const ProfileRanges& profile : profiles_) {
      const auto range = range_of(value, [&](SymbolId id) -> std::optional<DimRange> {
        const auto s = static_cast<size_t>(id);
        return id >= 0 && s < profile.size() ? profile[s] : std::nullopt;
      });
      if (!range) return std::nullopt;
      const bool yes = range->low > 0 || range->high < 0, no = range->low == 0 && range->high == 0;
      if ((!yes && !no) || (all && *all != yes)) return std::nullopt;
      all = yes;
    }
    return all;
  }

  const std::vector<ProfileRanges>& profiles_;
  int decided_ = 0;
};

}  // namespace

Status take_branch(Graph& graph, Node* node, bool taken, std::string why) {
  const auto then = node->attr_graph("then_branch"), other = node->attr_graph("else_branch");
  if (then == nullptr || other == nullptr ||
      node->inputs().size() != 1 + then->inputs().size() + other->inputs().size())
    return internal_error("node '{}' (If) does not fit its branches", node->name());
  const auto first = node->inputs().begin() + 1, middle = first + static_cast<ptrdiff_t>(then->inputs().size());
  std::vector<Value*> inputs(taken ? first : middle, taken ? middle : node->inputs().end());
  Replacement replacement(graph, node);
  if (why.empty() && from_values(*node->input(0)))
    why = fmt::format(
        "node '{}' (If): the plan was built for the branch that the profiles' values of its condition's inputs choose, "
        "and these values choose the other one",
        model_name(*node));
  // Before the branch, so that its message comes before any failure inside.
  const auto guard = [&](std::vector<Value*>& values) {
    for (Value*& v : values)
      v = replacement.op("Require", {node->input(0), v}, {{"expected", int64_t{taken}}, {"message", why}});
  };
  if (!why.empty()) guard(inputs);
  std::vector<Value*> results = replacement.inlined(taken ? *then : *other, inputs, /*keep_names=*/true);
  if (!why.empty() && inputs.empty()) guard(results);
  return replacement.finish(std::move(results));
}

Result<int> decide_branches(Graph& graph, const std::vector<ProfileRanges>& profiles) {
  Decider decider(profiles);
  WOOTZ_RETURN_IF_ERROR(decider.run(graph, 0));
  return decider.decided();
}

}  // namespace wootz
