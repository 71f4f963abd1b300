// Transposes move down through ops that can as well work on the tensor as it was, until they meet their inverse, a
// reduction or a GEMM that takes them in. This is what takes a channels-last model apart whose exporter put a pair
// of transposes around every convolution.
#include <algorithm>
#include <numeric>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

using Perm = std::vector<int64_t>;

constexpr int kMaxDepth = 4;  // how far a neighbour's operands are followed
constexpr size_t kMaxReaders = 16;
constexpr int kMaxWalks = 16;  // each moves every transpose as far as it goes; a second one finds what the first opened

Node* transpose_of(const Value* value) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return node != nullptr && node->is("Transpose") && !node->has_attr("epilogue") ? node : nullptr;
}

bool is_plain_pointwise(const Node& node) {
  return node.op().lowering == Lowering::kPointwise && node.num_outputs() == 1 &&
         !node.output()->shape_values().has_value();
}

// Constants lie as they are asked for.
bool is_neutral(const Value& value, int rank) { return value.is_constant() && value.rank() <= rank; }

bool is_transposed(const Value& value, const Perm& perm, const Shape& shape) {
  const Node* t = transpose_of(&value);
  return t != nullptr && value.shape() == shape && permutation(*t) == perm;
}

// Whether a pointwise node could work under the transpose, given that its pointwise operands do.
bool would_sink(const Node& node, const Perm& perm, int depth) {
  if (!is_plain_pointwise(node) || depth > kMaxDepth) return false;
  const Shape& shape = node.output()->shape();
  for (const Value* in : node.inputs()) {
    if (in == nullptr || is_neutral(*in, node.output()->rank()) || is_transposed(*in, perm, shape)) continue;
    if (in->producer() == nullptr || !(in->shape() == shape) || !would_sink(*in->producer(), perm, depth + 1))
      return false;
  }
  return true;
}

// The transpose before `reader` disappears from it, and no reader is left that would keep it.
bool may_move(const Node& transpose, const Node& reader, const Perm& perm) {
  const Value* out = transpose.output();
  if (transpose.graph()->is_output(out) || out->uses().size() > kMaxReaders) return false;
  for (const Use& use : out->uses())
    if (use.node != &reader && !use.node->is("Transpose") && !would_sink(*use.node, perm, 0)) return false;
  return true;
}

// The first input that is a transpose of the output's shape.
Node* leading_transpose(const Node& node) {
  for (const Value* in : node.inputs())
    if (Node* t = transpose_of(in); t != nullptr && in->shape() == node.output()->shape()) return t;
  return nullptr;
}

// `node` over the given inputs and attributes, then a transpose by `perm` (none: in order already).
Result<bool> rebuild(Graph& graph, Node* node, const Node& transpose, std::vector<Value*> inputs, AttrMap attrs,
                     const Perm& perm) {
  Node* made =
      graph.add_node(node->op(), graph.unique_name(node->name()), std::move(inputs), std::move(attrs), 1, node);
  made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  Value* result = made->output();
  Node* after = nullptr;
  if (!is_identity(perm)) {
    after = graph.add_node(op("Transpose"), graph.unique_name(transpose.name()), {result}, {{"perm", perm}}, 1, node);
    after->add_provenance(transpose);
    WOOTZ_RETURN_IF_ERROR(infer_node(*after));
    result = after->output();
  } else {
    made->add_provenance(transpose);
  }
  if (!(result->shape() == node->output()->shape()) || result->dtype() != node->output()->dtype()) {
    if (after != nullptr) graph.erase(after);
    graph.erase(made);
    return false;
  }
  take_place(graph, node->output(), result);
  return true;
}

Result<bool> sink_pointwise(Graph& graph, Node* node) {
  if (!is_plain_pointwise(*node)) return false;
  const Node* t = leading_transpose(*node);
  if (t == nullptr) return false;
  const Perm perm = permutation(*t);
  const int rank = node->output()->rank();
  for (const Value* in : node->inputs()) {
    if (in == nullptr || is_neutral(*in, rank)) continue;
    if (!is_transposed(*in, perm, node->output()->shape()) || !may_move(*in->producer(), *node, perm)) return false;
  }
  std::vector<Value*> inputs;
  for (Value* in : node->inputs()) {
    if (in == nullptr || !in->is_constant()) {
      inputs.push_back(in == nullptr ? nullptr : in->producer()->input(0));
      continue;
    }
    WOOTZ_ASSIGN_OR_RETURN(Value * constant, untransposed(graph, in, perm));
    inputs.push_back(constant);
  }
  return rebuild(graph, node, *t, std::move(inputs), node->attrs(), perm);
}

int64_t positive(int64_t axis, int rank) { return axis < 0 ? axis + rank : axis; }

Result<bool> sink_reduce(Graph& graph, Node* node) {
  const Node* t = node->is("Reduce") && node->has_attr("axes") && !node->has_attr("epilogue")
                      ? transpose_of(node->input(0))
                      : nullptr;
  if (t == nullptr || only_user(t->output()) != node) return false;
  const Perm perm = permutation(*t);
  const int rank = t->input(0)->rank();
  std::vector<int64_t> axes;
  for (int64_t a : node->attr_ints("axes")) axes.push_back(perm[static_cast<size_t>(positive(a, rank))]);
  std::sort(axes.begin(), axes.end());
  Perm after = perm;
  if (node->attr_int("keepdims", 1) == 0) {
    // What is left of the transpose: the kept axes in its order, numbered as they come without it.
    after.clear();
    for (int64_t p : perm) {
      if (std::binary_search(axes.begin(), axes.end(), p)) continue;
      after.push_back(p - (std::lower_bound(axes.begin(), axes.end(), p) - axes.begin()));
    }
  }
  AttrMap attrs = node->attrs();
  attrs["axes"] = axes;
  return rebuild(graph, node, *t, {t->input(0)}, std::move(attrs), after);
}

Result<bool> sink_softmax(Graph& graph, Node* node) {
  if ((!node->is("Softmax") && !node->is("LogSoftmax")) || node->has_attr("epilogue")) return false;
  const Node* t = transpose_of(node->input(0));
  if (t == nullptr || only_user(t->output()) != node) return false;
  const Perm perm = permutation(*t);
  AttrMap attrs = node->attrs();
  attrs["axis"] = perm[static_cast<size_t>(positive(node->attr_int("axis", -1), t->input(0)->rank()))];
  return rebuild(graph, node, *t, {t->input(0)}, std::move(attrs), perm);
}

Result<bool> sink_concat(Graph& graph, Node* node) {
  const Node* t = node->is("Concat") ? transpose_of(node->input(0)) : nullptr;
  if (t == nullptr) return false;
  const Perm perm = permutation(*t);
  std::vector<Value*> inputs;
  for (Value* in : node->inputs()) {
    const Node* other = transpose_of(in);
    if (other == nullptr || permutation(*other) != perm || only_user(in) != node) return false;
    inputs.push_back(other->input(0));
  }
  AttrMap attrs = node->attrs();
  attrs["axis"] = perm[static_cast<size_t>(positive(node->attr_int("axis", 0), node->output()->rank()))];
  return rebuild(graph, node, *t, std::move(inputs), std::move(attrs), perm);
}

// transpose(pad(x)) is pad(transpose(x)), where the padding reaches the convolution after it.
Result<bool> lift_over_pad(Graph& graph, Node* node) {
  if (!node->is("Transpose")) return false;
  Node* pad = node->input(0)->producer();
  if (pad == nullptr || !pad->is("Pad") || only_user(pad->output()) != node || pad->input(1) != nullptr ||
      pad->input(3) != nullptr || pad->has_attr("epilogue"))
    return false;
  const Perm perm = permutation(*node);
  const std::vector<int64_t> pads = pad->attr_ints("pads");
  if (pads.size() != 2 * perm.size()) return false;
  Node* before =
      graph.add_node(op("Transpose"), graph.unique_name(node->name()), {pad->input(0)}, {{"perm", perm}}, 1, node);
  before->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*before));
  std::vector<Value*> inputs = pad->inputs();
  inputs[0] = before->output();
  AttrMap attrs = pad->attrs();
  std::vector<int64_t> moved(pads.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    moved[i] = pads[static_cast<size_t>(perm[i])];
    moved[i + perm.size()] = pads[static_cast<size_t>(perm[i]) + perm.size()];
  }
  attrs["pads"] = moved;
  Node* made = graph.add_node(pad->op(), graph.unique_name(pad->name()), std::move(inputs), std::move(attrs), 1, node);
  made->add_provenance(*pad);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  take_place(graph, node->output(), made->output());
  return true;
}

// A transpose of the last two axes is a flag of the GEMM that reads it.
Result<bool> into_product(Graph& graph, Node* node) {
  if (!node->is("MatMul") || node->has_attr("epilogue") || node->has_attr("x_scale")) return false;
  bool changed = false;
  for (const int i : {0, 1}) {
    Node* t = transpose_of(node->input(i));
    if (t == nullptr) continue;
    Perm perm = permutation(*t);
    if (perm.size() < 2) continue;
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    if (!is_identity(perm)) continue;
    const char* flag = i == 0 ? "trans_a" : "trans_b";
    node->set_attr(flag, int64_t{1 - node->attr_int(flag, 0)});
    node->set_input(i, t->input(0));
    node->add_provenance(*t);
    erase_if_dead(graph, t);
    changed = true;
  }
  return changed;
}

// Two in a row are one, and one that moves nothing is none.
Result<bool> merge(Graph& graph, Node* node) {
  if (!node->is("Transpose") || node->has_attr("epilogue")) return false;
  Node* before = transpose_of(node->input(0));
  if (before == nullptr) return false;
  const Perm first = permutation(*before), second = permutation(*node);
  Perm both;
  for (int64_t p : second) both.push_back(first[static_cast<size_t>(p)]);
  Value* x = before->input(0);
  const bool keeps_copy = graph.is_output(node->output()) && (x->producer() == nullptr || graph.is_output(x));
  if (is_identity(both) && !keeps_copy) {
    replace_and_erase(graph, node->output(), x);
    return true;
  }
  node->set_input(0, x);
  node->set_attr("perm", both);
  node->add_provenance(*before);
  erase_if_dead(graph, before);
  return true;
}

Result<bool> walk(Graph& graph) {
  bool changed = false;
  for (Node *node = graph.first(), *next = nullptr; node != nullptr; node = next) {
    next = node->next();
    for (const auto rule :
         {merge, lift_over_pad, sink_pointwise, sink_reduce, sink_softmax, sink_concat, into_product}) {
      WOOTZ_ASSIGN_OR_RETURN(const bool moved, rule(graph, node));
      if (!moved) continue;
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace

Result<bool> push_transposes(Graph& graph) {
  bool changed = false;
  for (int i = 0; i < kMaxWalks; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const bool moved, walk(graph));
    if (!moved) break;
    changed = true;
  }
  return changed;
}

}  // namespace wootz
