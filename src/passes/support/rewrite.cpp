#include "passes/support/rewrite.h"

#include <algorithm>

#include "ops/infer.h"
#include "ops/registry.h"
#include "ops/support/copy.h"

namespace wootz {
namespace {

void append(std::string* key, const Attr& attr, bool* comparable) {
  if (const auto* i = std::get_if<int64_t>(&attr))
    *key += fmt::format("i{}", *i);
  else if (const auto* d = std::get_if<double>(&attr))
    *key += fmt::format("f{:a}", *d);
  else if (const auto* s = std::get_if<std::string>(&attr))
    *key += fmt::format("s{}:{}", s->size(), *s);
  else if (const auto* is = std::get_if<std::vector<int64_t>>(&attr)) {
    for (int64_t v : *is) *key += fmt::format(",{}", v);
  } else if (const auto* fs = std::get_if<std::vector<double>>(&attr)) {
    for (double v : *fs) *key += fmt::format(",{:a}", v);
  } else if (const auto* e = std::get_if<PointwiseExpr>(&attr))
    *key += e->to_string();
  else
    *comparable = false;  // tensors and subgraphs: not worth comparing
}

}  // namespace

std::optional<std::string> attribute_key(const Node& node) {
  std::string key;
  bool comparable = true;
  for (const auto& [name, attr] : node.attrs()) {
    key += "|" + name + "=";
    append(&key, attr, &comparable);
  }
  return comparable ? std::optional(std::move(key)) : std::nullopt;
}

bool is_view(const Node& node) {
  return node.op().lowering == Lowering::kView && node.num_outputs() == 1 && !node.output()->shape_values() &&
         node.input(0)->dtype() == node.output()->dtype();
}

bool is_spatial_mean(const Node& node) {
  if (!node.is("Reduce") || node.attr_string("kind") != "mean" || node.has_attr("epilogue")) return false;
  const int rank = node.input(0)->rank();
  std::vector<int64_t> axes = node.attr_ints("axes"), spatial;
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (int64_t axis = 2; axis < rank; ++axis) spatial.push_back(axis);
  return rank >= 3 && axes == spatial;
}

bool carries_epilogue(const Node& node) {
  if (node.has_attr("auto_pad")) return false;  // its padding follows from extents: no kernel family's
  const Lowering lowering = node.op().lowering;
  if (!has_trait(lowering, kCarriesEpilogue)) return false;
  if (lowering != Lowering::kGather) return node.num_outputs() == 1 && !node.op().traits.data_dependent;
  const DType type = node.output()->dtype();
  return node.is("Gather") && is_model_float(type);
}

void erase_if_dead(Graph& graph, Node* node) {
  std::vector<Node*> work{node};
  while (!work.empty()) {
    Node* n = work.back();
    work.pop_back();
    if (n->op().traits.has_side_effects) continue;
    const auto read = [&](const Value* v) { return !v->uses().empty() || graph.is_output(v); };
    if (std::any_of(n->outputs().begin(), n->outputs().end(), read)) continue;
    std::vector<Node*> producers;
    for (const Value* in : n->inputs())
      if (in != nullptr && in->producer() != nullptr) producers.push_back(in->producer());
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    // A node already waiting must not be visited after it is gone.
    work.erase(std::remove(work.begin(), work.end(), n), work.end());
    graph.erase(n);
    work.insert(work.end(), producers.begin(), producers.end());
  }
}

void replace_and_erase(Graph& graph, Value* from, Value* to) {
  Node* producer = from->producer();
  // What the user sees keeps its name: an output that becomes another value hands its name on.
  if (graph.is_output(from) && to->kind() == ValueKind::kNodeOutput && !graph.is_output(to)) {
    std::string name = from->name();
    from->set_name(graph.unique_name(name));
    to->add_alias(to->name());
    to->set_name(std::move(name));
  }
  graph.replace_all_uses(from, to);
  if (producer != nullptr) erase_if_dead(graph, producer);
}

void become_and_erase(Graph& graph, Value* from, Value* to) {
  Node* producer = from->producer();
  std::string name = from->name();
  from->set_name(graph.unique_name(name));
  to->set_new_meaning(std::move(name));
  graph.replace_all_uses(from, to);
  if (producer != nullptr) erase_if_dead(graph, producer);
}

Result<Node*> replace_node(Graph& graph, Node* old, std::string_view op_name, std::vector<Value*> inputs,
                           AttrMap attrs) {
  Node* made = graph.add_node(op(op_name), graph.unique_name(old->name()), std::move(inputs), std::move(attrs), 1, old);
  const Status status = infer_node(*made);
  const bool same = status.ok() && made->output()->dtype() == old->output()->dtype() &&
                    made->output()->shape() == old->output()->shape();
  if (!same) {
    graph.erase(made);
    return static_cast<Node*>(nullptr);
  }
  made->add_provenance(*old);
  become_and_erase(graph, old->output(), made->output());
  return made;
}

std::vector<int64_t> permutation(const Node& transpose) {
  std::vector<int64_t> perm = transpose.attr_ints("perm");
  if (perm.empty())
    for (int i = transpose.input(0)->rank(); i-- > 0;) perm.push_back(i);
  return perm;
}

bool is_identity(const std::vector<int64_t>& perm) { return std::is_sorted(perm.begin(), perm.end()); }

Result<Value*> untransposed(Graph& graph, Value* constant, const std::vector<int64_t>& perm) {
  const HostTensor& t = constant->constant();
  if (t.volume() <= 1) return constant;
  Dims dims = Dims::filled(static_cast<int>(perm.size()), 1);
  const size_t shift = perm.size() - t.dims().size();
  for (size_t i = 0; i < t.dims().size(); ++i) dims[i + shift] = t.dims()[i];
  Dims to = dims;
  for (size_t i = 0; i < perm.size(); ++i) to[static_cast<size_t>(perm[i])] = dims[i];
  WOOTZ_ASSIGN_OR_RETURN(HostTensor moved, HostTensor::allocate(t.dtype(), to));
  ops::StridedCopy moves;
  for (size_t i = 0; i < perm.size(); ++i)
    moves.axis(dims[i], dims.strides()[i], to.strides()[static_cast<size_t>(perm[i])]);
  ops::strided_copy(t, moved, moves);
  return graph.add_constant(graph.unique_name(constant->name()), std::move(moved));
}

Value* add_ints(Graph& graph, std::string_view name, const std::vector<int64_t>& values) {
  const Dims count{static_cast<int64_t>(values.size())};
  return graph.add_constant(graph.unique_name(name), HostTensor::from<int64_t>(values, count));
}

std::optional<double> scalar_constant(const Value* value) {
  if (value == nullptr || !value->is_constant() || value->constant().volume() != 1) return std::nullopt;
  if (!is_float(value->dtype())) {
    const int64_t v = value->constant().get_i64(0);
    if (static_cast<int64_t>(static_cast<double>(v)) != v) return std::nullopt;
    return static_cast<double>(v);
  }
  return value->constant().get_f64(0);
}

std::optional<std::vector<double>> per_channel(const Value* value, int rank, int axis, int64_t channels) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  const HostTensor& t = value->constant();
  const int shift = rank - t.rank();
  if (shift < 0) return std::nullopt;
  for (int i = 0; i < t.rank(); ++i) {
    const int64_t d = t.dims()[static_cast<size_t>(i)];
    if (i + shift == axis ? d != 1 && d != channels : d != 1) return std::nullopt;
  }
  std::vector<double> values;
  for (int64_t i = 0; i < t.volume(); ++i) values.push_back(t.get_f64(i));
  return values;
}

}  // namespace wootz
