// GEMM - scale - cap - mask - softmax - GEMM becomes one Attention node. Its operands then reach back through the
// transposes, reshapes and slices that exporters put around it (passes/attention/heads.h), so that none of those
// remains a step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention_grids.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/attention/attention_mask.h"
#include "passes/attention/attention_rounding.h"
#include "passes/attention/heads.h"
#include "passes/pass.h"
#include "passes/support/known_scalar.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

bool plain(const Node* node, std::string_view op_name) {
  return node != nullptr && node->is(op_name) && !node->has_attr("epilogue");
}

// The scores' way from the first GEMM to the softmax.
struct Scores {
  Node* gemm = nullptr;  // query * key
  double scale = 1, cap = 0;
  MaskParts mask;
  ScoreRounding rounding;
  std::vector<Node*> nodes;
};

// x = cap * tanh(x' / cap): x' and cap.
Value* capped_value(const Node& node, double* cap, std::vector<Node*>* nodes) {
  double outer = 0, inner = 0;
  Value* t = scaled_value(node, &outer);
  Node* tanh = t == nullptr ? nullptr : t->producer();
  if (!plain(tanh, "Tanh") || only_user(t) == nullptr) return nullptr;
  Value* scaled = tanh->input(0);
  Node* divide = scaled->producer();
  if (divide == nullptr || only_user(scaled) != tanh) return nullptr;
  Value* x = scaled_value(*divide, &inner);
  if (x == nullptr || !(outer > 0) || std::abs(outer * inner - 1) > 1e-5) return nullptr;
  *cap = outer;
  nodes->insert(nodes->end(), {tanh, divide});
  return x;
}

// Goes from the softmax's input back to the GEMM. What is met must be read by the next alone.
bool read_scores(Value* logits, Node* reader, RoundingTypes types, Scores* s) {
  for (int step = 0; step < 16; ++step) {
    Node* node = logits->producer();
    if (node == nullptr || only_user(logits) != reader || node->has_attr("epilogue")) return false;
    s->nodes.push_back(node);
    double factor = 1;
    Value* next = nullptr;
    if (node->is("MatMul")) {
      if (node->num_inputs() > 2 && node->input(2) != nullptr) return false;
      s->gemm = node;
      s->scale *= node->attr_float("alpha", 1);
      return node->attr_int("trans_a") == 0;
    }
    if (node->is("Cast")) {  // to a wider float: the kernel computes in f32 anyway
      next = node->input(0);
      if (!is_model_float(next->dtype()) || logits->dtype() != DType::kF32) return false;
    } else if (node->is("Reshape")) {
      next = node->input(0);
    } else if (types != nullptr && s->scale > 0 && !s->rounding.given() &&
               (next = rounded_value(node, types, &s->rounding, &s->nodes)) != nullptr) {
      s->rounding.scale *= s->scale;
    } else if (s->rounding.given()) {  // nothing but factors in front of what is rounded
      if ((next = scaled_value(*node, &factor)) == nullptr) return false;
      s->scale *= factor;
    } else if (s->scale == 1 && s->cap == 0 && (next = capped_value(*node, &s->cap, &s->nodes)) != nullptr) {
      // taken
    } else if ((next = scaled_value(*node, &factor)) != nullptr) {
      s->scale *= factor;
    } else if (s->scale == 1 && s->cap == 0 && (next = s->mask.take(*node, logits)) != nullptr) {
      // taken
    } else {
      return false;
    }
    if (next->rank() != 3 && next->rank() != 4) return false;
    if (node->is("Reshape")) {  // merges or splits batch and heads, nothing else
      const Shape &a = next->shape(), &b = logits->shape();
      if (!(a[a.size() - 1] == b[b.size() - 1]) || !(a[a.size() - 2] == b[b.size() - 2])) return false;
    }
    reader = s->nodes.back();  // of several nodes taken at once, the first in the graph
    logits = next;
  }
  return false;
}

struct Found {
  Scores scores;
  ScoreRounding rounding;  // of the weights
  Node *softmax = nullptr, *value_gemm = nullptr;
  int64_t nan_rows = 1;  // a softmax that sees nothing gives NaN
  std::vector<Node*> nodes;
};

// Where(IsNaN(p), 0, p): p.
Value* unguarded(Node* node, std::vector<Node*>* nodes) {
  if (!plain(node, "Where") || known_scalar(node->input(1)) != 0.0) return nullptr;
  Value* p = node->input(2);
  Node* test = node->input(0)->producer();
  if (!plain(test, "IsNaN") || test->input(0) != p || only_user(test->output()) != node) return nullptr;
  if (p->graph()->is_output(p)) return nullptr;
  for (const Use& use : p->uses())
    if (use.node != node && use.node != test) return nullptr;
  nodes->insert(nodes->end(), {node, test});
  return p;
}

std::optional<Found> find_attention(Node* gemm, RoundingTypes types) {
  if (!plain(gemm, "MatMul") || gemm->attr_int("trans_a") != 0 || gemm->attr_float("alpha", 1) != 1)
    return std::nullopt;
  if (gemm->num_inputs() > 2 && gemm->input(2) != nullptr) return std::nullopt;
  Found f;
  f.value_gemm = gemm;
  Value* p = gemm->input(0);
  Node* reader = gemm;
  for (int step = 0; step < 6; ++step) {
    Node* node = p->producer();
    if (node == nullptr) return std::nullopt;
    if (plain(node, "Softmax")) {
      f.softmax = node;
      break;
    }
    if (only_user(p) != reader) return std::nullopt;
    if (types != nullptr && f.rounding.scale == 0) {
      if (Value* inner = rounded_value(node, types, &f.rounding, &f.nodes)) {
        reader = f.nodes.back();
        p = inner;
        continue;
      }
    }
    if (Value* inner = unguarded(node, &f.nodes)) {
      f.nan_rows = 2;
      p = inner;
      reader = nullptr;  // its readers were looked at
      continue;
    }
    const bool narrows = plain(node, "Cast") && is_model_float(p->dtype()) && node->input(0)->dtype() == DType::kF32;
    const bool regroups =
        plain(node, "Reshape") && node->input(0)->shape().back() == p->shape().back() && node->input(0)->rank() >= 3;
    if (!narrows && !regroups) return std::nullopt;
    f.nodes.push_back(node);
    p = node->input(0);
    reader = node;
  }
  if (f.softmax == nullptr || p->rank() < 3 || p->rank() > 4) return std::nullopt;
  if (reader != nullptr && only_user(p) != reader) return std::nullopt;
  const int64_t axis = f.softmax->attr_int("axis", -1);
  if (axis != -1 && axis != p->rank() - 1) return std::nullopt;
  f.nodes.push_back(f.softmax);
  if (!read_scores(f.softmax->input(0), f.softmax, types, &f.scores)) return std::nullopt;
  if ((types != nullptr) != f.rounding.given() || f.rounding.zero != 0) return std::nullopt;
  const Value *q = f.scores.gemm->input(0), *k = f.scores.gemm->input(1), *v = gemm->input(1);
  if (!is_model_float(q->dtype()) || k->dtype() != q->dtype() || v->dtype() != q->dtype()) return std::nullopt;
  if (gemm->output()->dtype() != q->dtype()) return std::nullopt;
  // Both GEMMs over the same batches, and nothing broadcast among them.
  const int rank = q->rank();
  if ((rank != 3 && rank != 4) || k->rank() != rank || v->rank() != rank || gemm->output()->rank() != rank)
    return std::nullopt;
  for (size_t i = 0; i + 2 < static_cast<size_t>(rank); ++i)
    if (!(q->shape()[i] == k->shape()[i]) || !(q->shape()[i] == v->shape()[i])) return std::nullopt;
  return f;
}

struct Operands {
  HeadsOperand q, k, v;
};

// The three operands of one opinion about batch and heads.
bool agree(const Operands& o) {
  const auto heads = [](const HeadsOperand& x) { return x.heads.is_const() ? x.heads.value() : -1; };
  if (!(o.q.batch == o.k.batch) || !(o.q.batch == o.v.batch) || !(o.k.heads == o.v.heads)) return false;
  if (o.q.heads == o.k.heads) return true;
  return heads(o.k) > 0 && heads(o.q) % heads(o.k) == 0;
}

Result<Value*> materialize(Graph& graph, const HeadsOperand& operand, Node* before) {
  if (!operand.reshape) return operand.source;
  return add_reshape(graph, operand.source, operand.target, before);
}

Result<Node*> build(Graph& graph, const Operands& o, Value* mask, AttrMap attrs, int64_t merged, Node* before,
                    const std::string& name) {
  std::vector<Value*> inputs;
  const HeadsOperand* all[] = {&o.q, &o.k, &o.v};
  const char* names[] = {"q_view", "k_view", "v_view"};
  for (int i = 0; i < 3; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(Value * x, materialize(graph, *all[i], before));
    inputs.push_back(x);
    attrs.erase(names[i]);
    if (!all[i]->view.empty()) attrs[names[i]] = all[i]->view;
  }
  if (mask != nullptr) inputs.push_back(mask);
  attrs.erase("k_transposed");
  if (o.k.transposed) attrs["k_transposed"] = int64_t{1};
  attrs.erase("merged");
  if (merged != 0) attrs["merged"] = merged;
  Node* node = graph.add_node(op("Attention"), graph.unique_name(name), std::move(inputs), std::move(attrs), 1, before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return node;
}

// Puts the attention's result in the place of `result.value`.
Status connect(Graph& graph, Node* attention, const HeadsResult& result) {
  Value* y = attention->output();
  if (!(y->shape() == result.value->shape())) {
    const auto target = reshape_target(y->shape(), result.value->shape());
    if (!target)
      return internal_error("attention: {} where {} is read", shape_to_string(y->shape()),
                            shape_to_string(result.value->shape()));
    WOOTZ_ASSIGN_OR_RETURN(y, add_reshape(graph, y, *target, result.value->producer()));
  }
  take_place(graph, result.value, y);
  return {};
}

HeadsResult reachable_result(Value* from, const Operands& o) {
  HeadsResult result = trace_result(from, o.q.batch, o.q.heads);
  const Shape logical{o.q.batch, o.q.heads, o.q.sequence, o.v.size};
  Shape y = logical;
  if (result.merged == 1) y = {logical[0], logical[2], logical[1] * logical[3]};
  if (result.merged == 2) y = {logical[2], logical[0], logical[1] * logical[3]};
  if (y == result.value->shape() || reshape_target(y, result.value->shape())) return result;
  return {from, 0, {}};
}

Result<bool> fuse(Graph& graph, Node* gemm, RoundingTypes types) {
  std::optional<Found> found = find_attention(gemm, types);
  if (!found) return false;
  Scores& s = found->scores;
  const auto q = trace_operand(s.gemm->input(0), false, true);
  const bool by_rows = s.gemm->attr_int("trans_b") != 0;
  const auto k = trace_operand(s.gemm->input(1), !by_rows, true);
  const auto v = trace_operand(gemm->input(1), gemm->attr_int("trans_b") != 0, false);
  if (!q || !k || !v || q->transposed || v->transposed) return false;
  Operands o{*q, *k, *v};
  if (types != nullptr &&
      !(is_rounded(o.q.source, types) && is_rounded(o.k.source, types) && is_rounded(o.v.source, types)))
    return false;
  // A single leading axis without a known extent is the batch to one operand and the heads to none: they must agree.
  if (!agree(o)) return false;
  const double scale = s.scale * o.q.scale * o.k.scale;
  if (s.cap > 0 && !(scale > 0 || scale < 0)) return false;
  const HeadsResult result = reachable_result(gemm->output(), o);
  if (result.merged == 0 && gemm->output()->rank() == 3 && result.value == gemm->output()) {
    const Shape logical{o.q.batch, o.q.heads, o.q.sequence, o.v.size};
    if (!reshape_target(logical, gemm->output()->shape())) return false;
  }
  AttrMap attrs{{"scale", scale}};
  if (s.cap > 0) attrs["softcap"] = s.cap;
  s.rounding.scale *= o.q.scale * o.k.scale;
  if (s.rounding.given() && !(s.rounding.scale > 0)) return false;
  s.rounding.set("s", &attrs);
  found->rounding.set("p", &attrs);
  const Shape score_shape{o.q.batch, o.q.heads, o.q.sequence, o.k.sequence};
  if (!s.mask.usable(score_shape)) return false;
  if (s.mask.causal(score_shape)) attrs["causal"] = int64_t{1};
  WOOTZ_ASSIGN_OR_RETURN(Value * mask, s.mask.build(graph, score_shape, gemm));
  if (found->nan_rows == 1 && !s.mask.may_hide()) found->nan_rows = 0;
  if (found->nan_rows != 0) attrs["nan_rows"] = found->nan_rows;
  WOOTZ_ASSIGN_OR_RETURN(Node * made, build(graph, o, mask, std::move(attrs), result.merged, gemm, gemm->name()));
  for (const HeadsOperand* operand : {&o.q, &o.k, &o.v})
    for (const Node* n : operand->passed) made->add_provenance(*n);
  for (const Node* n : s.nodes) made->add_provenance(*n);
  for (const Node* n : found->nodes) made->add_provenance(*n);
  made->add_provenance(*gemm);
  for (const Node* n : result.passed) made->add_provenance(*n);
  WOOTZ_RETURN_IF_ERROR(connect(graph, made, result));
  return true;
}

bool shorter(const HeadsOperand& a, const Value* now) { return a.source != now || a.reshape || !a.view.empty(); }

// An Attention of plain operands (from the model's own op, or of an earlier run) reaches back in the same way.
Result<bool> absorb(Graph& graph, Node* node) {
  if (node->num_outputs() != 1 || node->attr_int("merged") != 0) return false;
  for (int i = 0; i < 3; ++i) {  // scales of heads and their elements are those of operands as they are
    const Value* const x = node->input(i);
    const bool one_scale = node->attr_floats(ops::scale_attr(i)).size() == 1;
    if (x->rank() != 4 || (!is_model_float(x->dtype()) && !one_scale)) return false;
  }
  if (!node->has_attr("scale")) return false;
  const auto q = trace_operand(node->input(0), false, true);
  const auto k = trace_operand(node->input(1), node->attr_int("k_transposed") != 0, true);
  const auto v = trace_operand(node->input(2), false, false);
  if (!q || !k || !v || q->transposed || v->transposed) return false;
  Operands o{*q, *k, *v};
  if (!agree(o)) return false;
  const HeadsResult result = reachable_result(node->output(), o);
  const bool better = shorter(o.q, node->input(0)) || shorter(o.k, node->input(1)) || shorter(o.v, node->input(2)) ||
                      result.value != node->output();
  if (!better) return false;
  AttrMap attrs = node->attrs();
  attrs["scale"] = node->attr_float("scale") * o.q.scale * o.k.scale;
  WOOTZ_ASSIGN_OR_RETURN(Node * made,
                         build(graph, o, node->input(3), std::move(attrs), result.merged, node, node->name()));
  for (const HeadsOperand* operand : {&o.q, &o.k, &o.v})
    for (const Node* n : operand->passed) made->add_provenance(*n);
  made->add_provenance(*node);
  for (const Node* n : result.passed) made->add_provenance(*n);
  WOOTZ_RETURN_IF_ERROR(connect(graph, made, result));
  return true;
}

Result<bool> fuse_all(Graph& graph, RoundingTypes types) {
  // Ids, for a fusion erases nodes that the list may still name.
  std::vector<int> candidates;
  for (const Node* node = graph.first(); node != nullptr; node = node->next())
    if (node->is("MatMul") || node->is("Attention")) candidates.push_back(node->output()->id());
  bool changed = false;
  for (const int id : candidates) {
    const Value* value = graph.value_by_id(id);
    Node* node = value == nullptr ? nullptr : value->producer();
    if (node == nullptr) continue;
    if (types != nullptr && !node->is("MatMul")) continue;
    WOOTZ_ASSIGN_OR_RETURN(const bool fused, node->is("MatMul") ? fuse(graph, node, types) : absorb(graph, node));
    changed = changed || fused;
  }
  return changed;
}

}  // namespace

Result<bool> fuse_attention(Graph& graph) { return fuse_all(graph, nullptr); }
Result<bool> fuse_rounded_attention(Graph& graph, RoundingTypes types) { return fuse_all(graph, types); }

}  // namespace wootz
