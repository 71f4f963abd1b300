// Ops that change nothing, and pairs that cancel.
#include <algorithm>
#include <numeric>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr int64_t kMaxNeutral = 1 << 16;  // elements of a constant that are looked through

bool same_type(const Value* a, const Value* b) { return a->dtype() == b->dtype() && a->shape() == b->shape(); }

// Moves only axes of extent 1: memory order stays, the op is a reshape.
bool moves_nothing(const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> kept;
  for (int64_t p : perm)
    if (const Dim& d = shape[static_cast<size_t>(p)]; !(d.is_const() && d.value() == 1)) kept.push_back(p);
  return std::is_sorted(kept.begin(), kept.end());
}

// The operand that x + 0, x - 0, x * 1, x / 1 or x ^ 1 stands for; null otherwise.
Value* neutral(const Node& node) {
  struct Rule {
    const char* op;
    double number;
    bool either_side;
  };
  constexpr Rule kRules[] = {
      {"Add", 0, true}, {"Sub", 0, false}, {"Mul", 1, true}, {"Div", 1, false}, {"Pow", 1, false}};
  if (node.num_inputs() != 2) return nullptr;
  for (const Rule& rule : kRules) {
    if (!node.is(rule.op)) continue;
    for (const int i : {1, 0}) {
      const Value* constant = node.input(i);
      if ((i == 0 && !rule.either_side) || constant == nullptr || !constant->is_constant()) continue;
      const HostTensor& t = constant->constant();
      bool all = t.volume() > 0 && t.volume() <= kMaxNeutral;
      for (int64_t e = 0; all && e < t.volume(); ++e)
        all = is_float(t.dtype()) ? t.get_f64(e) == rule.number : t.get_i64(e) == static_cast<int64_t>(rule.number);
      if (all) return node.input(1 - i);
    }
  }
  return nullptr;
}

// An expression that hands on its one operand.
bool hands_on(const Node& node) {
  const PointwiseExpr* expr = node.is("Pointwise") ? node.attr_expr("expr") : nullptr;
  if (expr == nullptr || node.num_inputs() != 1 || expr->outputs.size() != 1) return false;
  return expr->code[expr->outputs[0]].op == PwOp::kInput;
}

// The value that `node` could be replaced by, or null.
Value* unchanged(const Node& node) {
  Value* x = node.input(0);
  Value* y = node.output();
  if (x == nullptr || node.num_outputs() != 1 || node.has_attr("epilogue")) return nullptr;
  if (node.is("Identity")) return x;
  if (Value* operand = neutral(node)) return same_type(operand, y) ? operand : nullptr;
  if (!same_type(x, y)) return nullptr;
  if (hands_on(node)) return x;
  if (node.is("Cast") || node.is("Reshape") || node.is("Expand") || node.is("Tile")) return x;
  if (node.is("Transpose")) {
    const std::vector<int64_t> perm = permutation(node);
    return std::is_sorted(perm.begin(), perm.end()) ? x : nullptr;
  }
  if (node.is("Concat")) return node.num_inputs() == 1 ? x : nullptr;
  if (node.is("Slice")) {  // same extent with step 1 is the whole
    const std::vector<int64_t> steps = node.attr_ints("steps");
    const bool forward =
        node.has_attr("starts") && std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; });
    return forward && node.input(4) == nullptr ? x : nullptr;
  }
  if (node.is("Pad")) {
    const std::vector<int64_t> pads = node.attr_ints("pads");
    const bool none = node.has_attr("pads") && std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
    return none ? x : nullptr;
  }
  return nullptr;
}

Result<bool> merge_with_producer(Graph& graph, Node* node) {
  Value* x = node->input(0);
  Node* before = x == nullptr ? nullptr : x->producer();
  if (before == nullptr || before->has_attr("epilogue")) return false;
  if (node->is("Transpose") && before->is("Transpose")) {
    const std::vector<int64_t> first = permutation(*before), second = permutation(*node);
    std::vector<int64_t> both;
    for (int64_t p : second) both.push_back(first[static_cast<size_t>(p)]);
    node->set_input(0, before->input(0));
    node->set_attr("perm", both);
  } else if (node->is("Reshape") && before->is("Reshape") && to_dims(node->output()->shape())) {
    // The target must not lean on the input's own extents (0 and -1): make it plain.
    const Dims dims = *to_dims(node->output()->shape());
    std::vector<int64_t> target(dims.begin(), dims.end());
    if (node->num_inputs() < 2 || std::count(target.begin(), target.end(), 0)) return false;
    const Dims count{static_cast<int64_t>(target.size())};
    Value* shape =
        graph.add_constant(graph.unique_name(node->name() + "_shape"), HostTensor::from<int64_t>(target, count));
    node->set_input(0, before->input(0));
    node->set_input(1, shape);
  } else {
    return false;
  }
  node->add_provenance(*before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  erase_if_dead(graph, before);
  return true;
}

// A Concat in a Concat along the same axis, read by nothing else, hands its inputs over.
Result<bool> flatten_concat(Graph& graph, Node* node) {
  if (!node->is("Concat") || node->has_attr("epilogue")) return false;
  const auto axis_of = [](const Node& n) {
    const int64_t axis = n.attr_int("axis", 0);
    return axis < 0 ? axis + n.output()->rank() : axis;
  };
  std::vector<Value*> inputs;
  std::vector<Node*> inner;
  for (Value* in : node->inputs()) {
    Node* before = in->producer();
    const bool flat = before != nullptr && before->is("Concat") && !before->has_attr("epilogue") &&
                      axis_of(*before) == axis_of(*node) && only_user(in) == node && !in->shape_values() &&
                      std::count(node->inputs().begin(), node->inputs().end(), in) == 1;
    if (flat) {
      inputs.insert(inputs.end(), before->inputs().begin(), before->inputs().end());
      inner.push_back(before);
    } else {
      inputs.push_back(in);
    }
  }
  if (inner.empty()) return false;
  std::vector<std::string> origin;
  for (const Node* n : inner) origin.insert(origin.end(), n->provenance().begin(), n->provenance().end());
  WOOTZ_ASSIGN_OR_RETURN(Node* const made, replace_node(graph, node, "Concat", std::move(inputs), node->attrs()));
  if (made == nullptr) return false;
  for (std::string& name : origin) made->add_provenance(std::move(name));
  return true;
}

// A transpose that only moves extents of 1 costs nothing as a reshape.
Result<bool> transpose_to_reshape(Graph& graph, Node* node) {
  if (!node->is("Transpose")) return false;
  const std::optional<Dims> dims = to_dims(node->output()->shape());
  if (!dims || dims->volume() == 0 || !moves_nothing(node->input(0)->shape(), permutation(*node))) return false;
  std::vector<int64_t> target(dims->begin(), dims->end());
  const Dims count{static_cast<int64_t>(target.size())};
  Value* shape =
      graph.add_constant(graph.unique_name(node->name() + "_shape"), HostTensor::from<int64_t>(target, count));
  Node* reshape = graph.add_node(op("Reshape"), graph.unique_name(node->name()), {node->input(0), shape}, {}, 1, node);
  reshape->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*reshape));
  replace_and_erase(graph, node->output(), reshape->output());
  return true;
}

}  // namespace

Result<bool> eliminate_identities(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    WOOTZ_ASSIGN_OR_RETURN(const bool flattened, flatten_concat(graph, node));
    if (flattened) {
      changed = true;
      continue;
    }
    while (true) {
      WOOTZ_ASSIGN_OR_RETURN(const bool merged, merge_with_producer(graph, node));
      if (!merged) break;
      changed = true;
    }
    Value* same = unchanged(*node);
    if (same == nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(const bool reshaped, transpose_to_reshape(graph, node));
      changed = changed || reshaped;
      continue;
    }
    // An output of the network that would become an input, a constant or another output keeps its copy.
    const bool blocked =
        graph.is_output(node->output()) && (same->kind() != ValueKind::kNodeOutput || graph.is_output(same));
    if (blocked) continue;
    if (Node* producer = same->producer()) producer->add_provenance(*node);
    replace_and_erase(graph, node->output(), same);
    changed = true;
  }
  return changed;
}

}  // namespace wootz
