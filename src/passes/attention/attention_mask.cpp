#include "passes/attention/attention_mask.h"

#include <algorithm>
#include <cmath>

#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/attention/heads.h"
#include "passes/support/known_scalar.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

constexpr double kHidden = -1e4;    // exp of this is nothing beside any score that is seen
constexpr double kNowhere = -1e30;  // takes in any score, so that a row that is hidden altogether has equal weights

// Whether scores may come from there: through what exporters put after the GEMM.
bool leads_to_product(const Value* value) {
  for (int step = 0; step < 12; ++step) {
    const Node* node = value->producer();
    if (node == nullptr) return false;
    if (node->is("MatMul")) return true;
    if (node->is("Mul") || node->is("Div") || node->is("Cast") || node->is("Reshape") || node->is("Tanh") ||
        node->is("Quantize") || node->is("Dequantize")) {
      value = node->input(0);
    } else if (node->is("Add")) {
      if (leads_to_product(node->input(1))) return true;
      value = node->input(0);
    } else if (node->is("Where")) {
      if (leads_to_product(node->input(2))) return true;
      value = node->input(1);
    } else {
      return false;
    }
  }
  return false;
}

std::optional<double> filler(const Value* value) {
  while (value->producer() != nullptr && value->producer()->is("Expand")) value = value->producer()->input(0);
  if (const std::optional<double> known = known_scalar(value)) return known;
  if (!value->is_constant() || value->constant().volume() == 0) return std::nullopt;
  const HostTensor& t = value->constant();
  const double first = t.get_f64(0);
  for (int64_t i = 1; i < t.volume(); ++i)
    if (t.get_f64(i) != first) return std::nullopt;
  return first;
}

double element(const Value* value, int64_t i) {
  const HostTensor& t = value->constant();
  return is_float(t.dtype()) ? t.get_f64(i) : static_cast<double>(t.get_i64(i));
}

bool is_pointwise(const Node& node) {
  return node.op().lowering == Lowering::kPointwise && node.num_outputs() == 1 && !node.has_attr("epilogue");
}

// An equal value (by broadcasting) of fewer elements, where the graph has spread it out; or the value itself.
Result<Value*> shrunk(Graph& graph, Value* value, Node* before, int depth) {
  if (depth == 0 || value->shape_values()) return value;
  if (value->is_constant()) {
    const HostTensor& t = value->constant();
    if (t.volume() < 2 || t.volume() > (int64_t{1} << 24)) return value;
    for (int64_t i = 1; i < t.volume(); ++i)
      if (element(value, i) != element(value, 0)) return value;
    WOOTZ_ASSIGN_OR_RETURN(HostTensor one, HostTensor::allocate(t.dtype(), {}));
    is_float(t.dtype()) ? one.set_f64(0, t.get_f64(0)) : one.set_i64(0, t.get_i64(0));
    return graph.add_constant(graph.unique_name(value->name()), std::move(one));
  }
  Node* node = value->producer();
  if (node == nullptr) return value;
  if (node->is("Expand")) return shrunk(graph, node->input(0), before, depth - 1);
  if (!is_pointwise(*node)) return value;
  std::vector<Value*> inputs;
  bool changed = false;
  for (Value* in : node->inputs()) {
    WOOTZ_ASSIGN_OR_RETURN(Value * smaller, shrunk(graph, in, before, depth - 1));
    inputs.push_back(smaller);
    changed = changed || smaller != in;
  }
  if (!changed) return value;
  Node* made = graph.add_node(node->op(), graph.unique_name(node->name()), inputs, node->attrs(), 1, before);
  made->add_provenance(*node);
  WOOTZ_RETURN_IF_ERROR(infer_node(*made));
  const Shape &now = made->output()->shape(), &was = value->shape();
  bool smaller = now.size() < was.size();
  for (size_t i = 0; i < now.size() && i < was.size(); ++i)
    smaller = smaller || !(now[now.size() - 1 - i] == was[was.size() - 1 - i]);
  if (smaller) return made->output();
  erase_if_dead(graph, made);
  return value;
}

Result<Value*> pointwise(Graph& graph, std::string_view name, std::vector<Value*> inputs, Node* before) {
  Node* node = graph.add_node(op(name), graph.unique_name("mask"), std::move(inputs), {}, 1, before);
  WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return node->output();
}

Value* scalar_f32(Graph& graph, double v) {
  const std::vector<float> one{static_cast<float>(v)};
  return graph.add_constant(graph.unique_name("mask"), HostTensor::from<float>(one, Dims{}));
}

// The mask [batch * heads, S, T] in four axes.
std::optional<std::vector<int64_t>> to_four(const Value* value, const Shape& scores) {
  const Shape& s = value->shape();
  return reshape_target(s, {scores[0], scores[1], s[1], s[2]});
}

// [batch * heads, S, T] against scores of four axes.
bool needs_four(const Value* value, const Shape& at, const Shape& scores) {
  return at.size() == 3 && value->rank() == 3 && !is_one(value->shape()[0]) && !is_one(scores[0]);
}

}  // namespace

Value* MaskParts::take(const Node& node, const Value* logits) {
  if (node.has_attr("epilogue") || node.num_outputs() != 1) return nullptr;
  Part part;
  part.at = logits->shape();
  Value* scores = nullptr;
  const auto fits = [&](const Value* x) { return x->shape() == logits->shape() && x->dtype() == logits->dtype(); };
  if (node.is("Add")) {
    for (int i = 0; i < 2 && scores == nullptr; ++i) {
      if (!fits(node.input(i)) || only_user(node.input(i)) == nullptr || !leads_to_product(node.input(i))) continue;
      scores = node.input(i);
      part.value = node.input(1 - i);
    }
  } else if (node.is("Where")) {
    for (int i = 1; i < 3 && scores == nullptr; ++i) {
      if (!fits(node.input(i)) || only_user(node.input(i)) == nullptr) continue;
      const std::optional<double> fill = filler(node.input(3 - i));
      if (!fill || !(*fill <= kHidden)) continue;
      scores = node.input(i);
      part.value = node.input(0);
      part.kind = i == 1 ? Kind::kKeep : Kind::kHide;
      part.finite = !std::isinf(*fill);
    }
  }
  if (scores == nullptr || part.value->rank() > 4) return nullptr;
  if (part.kind == Kind::kAdd && (!is_float(part.value->dtype()) || part.value->dtype() == DType::kF64)) return nullptr;
  if (!says_nothing(part)) parts_.push_back(std::move(part));
  return scores;
}

bool MaskParts::says_nothing(const Part& part) {
  if (!part.value->is_constant() || part.value->constant().volume() > (int64_t{1} << 24)) return false;
  const double neutral = part.kind == Kind::kKeep ? 1 : 0;
  for (int64_t i = 0; i < part.value->constant().volume(); ++i)
    if ((part.kind == Kind::kAdd ? element(part.value, i) : element(part.value, i) != 0 ? 1.0 : 0.0) != neutral)
      return false;
  return true;
}

bool MaskParts::says_causal(const Part& part) {
  if (!part.value->is_constant() || part.value->rank() < 2 || part.value->constant().volume() > (int64_t{1} << 26))
    return false;
  const HostTensor& t = part.value->constant();
  const int64_t rows = t.dims()[static_cast<size_t>(t.rank() - 2)], keys = t.dims()[static_cast<size_t>(t.rank() - 1)];
  // The mask has all rows and keys of the scores.
  if (!(part.at[part.at.size() - 2] == Dim(rows)) || !(part.at.back() == Dim(keys)) || rows < 2) return false;
  for (int64_t e = 0; e < t.volume(); ++e) {
    const bool seen = e % keys <= e / keys % rows;
    const double v = element(part.value, e);
    const bool says = part.kind == Kind::kAdd    ? (seen ? v == 0 : v <= kHidden)
                      : part.kind == Kind::kKeep ? (v != 0) == seen
                                                 : (v == 0) == seen;
    if (!says) return false;
  }
  return true;
}

bool MaskParts::usable(const Shape& scores) const {
  for (const Part& part : parts_) {
    const size_t rank = part.at.size();
    if (!(part.at[rank - 1] == scores[3]) || !(part.at[rank - 2] == scores[2])) return false;
    if (rank == 3 && !(part.at[0] == scores[0] * scores[1])) return false;
    if (rank == 4 && (!(part.at[0] == scores[0]) || !(part.at[1] == scores[1]))) return false;
    if (needs_four(part.value, part.at, scores) && !to_four(part.value, scores)) return false;
  }
  return true;
}

bool MaskParts::causal(const Shape& scores) {
  if (!(scores[2] == scores[3])) return false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    // Beside another mask a row may be hidden altogether, and then finite numbers weigh what is hidden too.
    const bool alone = parts_.size() == 1;
    const bool infinite = parts_[i].kind != Kind::kAdd && !parts_[i].finite;
    if ((!alone && !infinite) || !says_causal(parts_[i])) continue;
    parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  return false;
}

Result<Value*> MaskParts::build(Graph& graph, const Shape& scores, Node* before) const {
  if (parts_.empty()) return static_cast<Value*>(nullptr);
  const bool flags =
      std::all_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.kind != Kind::kAdd && !p.finite; });
  Value* all = nullptr;
  for (const Part& part : parts_) {
    Value* value = part.value;
    if (part.kind == Kind::kHide && flags) {
      WOOTZ_ASSIGN_OR_RETURN(value, pointwise(graph, "Not", {value}, before));
    } else if (part.kind != Kind::kAdd && !flags) {
      Value *seen = scalar_f32(graph, 0), *hidden = scalar_f32(graph, part.finite ? kNowhere : -INFINITY);
      if (part.kind == Kind::kHide) std::swap(seen, hidden);
      WOOTZ_ASSIGN_OR_RETURN(value, pointwise(graph, "Where", {value, seen, hidden}, before));
    }
    WOOTZ_ASSIGN_OR_RETURN(value, shrunk(graph, value, before, 8));
    if (needs_four(part.value, part.at, scores) && value->rank() == 3 && !is_one(value->shape()[0])) {
      WOOTZ_ASSIGN_OR_RETURN(value, add_reshape(graph, value, *to_four(value, scores), before));
    }
    if (all == nullptr) {
      all = value;
      continue;
    }
    if (!flags && all->dtype() != value->dtype()) {
      for (Value** v : {&all, &value}) {
        Node* cast = graph.add_node(op("Cast"), graph.unique_name("mask"), {*v},
                                    {{"to", std::string(dtype_name(DType::kF32))}}, 1, before);
        WOOTZ_RETURN_IF_ERROR(infer_node(*cast));
        *v = cast->output();
      }
    }
    WOOTZ_ASSIGN_OR_RETURN(all, pointwise(graph, flags ? "And" : "Add", {all, value}, before));
  }
  return all;
}

}  // namespace wootz
