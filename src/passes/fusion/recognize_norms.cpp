// Normalizations that exporters spell out become the ops that they are: LayerNorm, RMSNorm, InstanceNorm, GroupNorm and
// L2Norm. Only where the spelled-out form computes in f32: the kernels do too, so that nothing is rounded otherwise.
#include <algorithm>

#include "ir/pattern.h"
#include "ops/infer.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/support/rewrite.h"

namespace wootz {
namespace {

Pattern mean_of(Pattern inner, const char* name) {
  return pat::op("Reduce", {std::move(inner)})
      .where([](const Node& n) {
        return n.attr_string("kind") == "mean" && n.has_attr("axes") && n.attr_int("keepdims", 1) == 1 &&
               !n.has_attr("epilogue");
      })
      .as(name);
}

Pattern squared(const char* name) {
  return pat::either(
      {pat::op("Mul", {pat::same(name), pat::same(name)}), pat::op("Pow", {pat::same(name), pat::scalar(2)})});
}

// d over the root of (the mean of d squared + eps), in the ways that this is written.
std::vector<Pattern> over_deviation(const Pattern& d) {
  const Pattern variance = pat::op("Add", {mean_of(squared("d"), "v"), pat::scalar("eps")});
  const Pattern deviation = pat::either({pat::op("Sqrt", {variance}), pat::op("Pow", {variance, pat::scalar(0.5)})});
  const Pattern inverse = pat::either({pat::op("Reciprocal", {deviation}), pat::op("Div", {pat::scalar(1), deviation}),
                                       pat::op("Pow", {variance, pat::scalar(-0.5)})});
  return {pat::op("Div", {d, deviation}), pat::op("Mul", {d, inverse})};
}

const std::vector<Pattern>& centered_forms() {
  static const std::vector<Pattern> kForms = [] {
    const Pattern x = pat::any("x");
    return over_deviation(pat::op("Sub", {x, mean_of(pat::same("x"), "m")}).as("d"));
  }();
  return kForms;
}
const std::vector<Pattern>& plain_forms() {
  static const std::vector<Pattern> kForms = over_deviation(pat::any("d"));
  return kForms;
}

std::vector<int64_t> sorted_axes(const Node& reduce) {
  std::vector<int64_t> axes = reduce.attr_ints("axes");
  for (int64_t& a : axes) a += a < 0 ? reduce.input(0)->rank() : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

// The first of the axes when they are all from there to the last; -1 otherwise.
int64_t trailing(const std::vector<int64_t>& axes, int rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return -1;
  return axes.empty() ? -1 : axes[0];
}

// Widened before and narrowed again right after it: the norm reads and writes the narrow type.
void take_in_casts(Node** last, Value** x, std::vector<Node*>* nodes) {
  Node* widen = (*x)->producer();
  Node* narrow = only_user((*last)->output());
  if (widen == nullptr || !widen->is("Cast") || narrow == nullptr || !narrow->is("Cast")) return;
  const DType type = widen->input(0)->dtype();
  if ((type != DType::kF16 && type != DType::kBF16) || narrow->output()->dtype() != type) return;
  nodes->insert(nodes->end(), {widen, narrow});
  *x = widen->input(0);
  *last = narrow;
}

Result<bool> replace(Graph& graph, Node* last, const char* name, std::vector<Value*> inputs, AttrMap attrs,
                     const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* n : nodes) names.insert(names.end(), n->provenance().begin(), n->provenance().end());
  WOOTZ_ASSIGN_OR_RETURN(Node * made, replace_node(graph, last, name, std::move(inputs), std::move(attrs)));
  if (made == nullptr) return false;
  for (std::string& n : names) made->add_provenance(std::move(n));
  return true;
}

// Of LayerNorm and RMSNorm (inference has checked it).
int64_t first_axis(const Node& norm) {
  const int64_t axis = norm.attr_int("axis", -1);
  return axis < 0 ? axis + norm.input(0)->rank() : axis;
}

// What scales (Mul) or shifts (Add) a value, by its only reader: the other operand.
struct Parameter {
  Node* node = nullptr;
  Value* value = nullptr;
};
Parameter parameter_after(const Node* norm, const char* op_name) {
  Node* user = only_user(norm->output());
  if (user == nullptr || !user->is(op_name) || user->has_attr("epilogue") || user->num_inputs() != 2) return {};
  const int other = user->input(0) == norm->output() ? 1 : 0;
  Value* value = user->input(other);
  if (value == norm->output() || !(user->output()->shape() == norm->output()->shape()) ||
      user->output()->dtype() != norm->output()->dtype())
    return {};
  return {user, value};
}

// An element for each of the normalized ones.
bool fits_elements(const Value* value, const Shape& x, size_t axis) {
  const Shape& s = value->shape();
  if (s.size() > x.size() || s.size() < x.size() - axis) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const size_t at = x.size() - s.size() + i;
    if (at < axis ? !(s[i] == Dim(1)) : !(s[i] == x[at])) return false;
  }
  return true;
}

Result<Value*> filled(Graph& graph, const Shape& shape, DType type, double v) {
  const std::optional<Dims> dims = to_dims(shape);
  if (!dims) return static_cast<Value*>(nullptr);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor t, HostTensor::allocate(type, *dims));
  for (int64_t i = 0; i < t.volume(); ++i) t.set_f64(i, v);
  return graph.add_constant(graph.unique_name("scale"), std::move(t));
}

// Constants that vary along the channel axis only, as [channels].
Result<Value*> channel_constant(Graph& graph, const Value* value, int rank, int64_t channels) {
  const auto values = per_channel(value, rank, 1, channels);
  if (!values) return static_cast<Value*>(nullptr);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor t, HostTensor::allocate(value->dtype(), Dims{channels}));
  for (int64_t c = 0; c < channels; ++c) t.set_f64(c, (*values)[values->size() == 1 ? 0 : static_cast<size_t>(c)]);
  return graph.add_constant(graph.unique_name(value->name()), std::move(t));
}

int64_t const_channels(const Value* x) {
  return x->rank() >= 2 && x->shape()[1].is_const() ? x->shape()[1].value() : -1;
}

// A factor and a term after a norm without parameters become its scale and bias.
Result<bool> take_parameters(Graph& graph, Node* norm) {
  const bool by_element = norm->is("LayerNorm") || norm->is("RMSNorm");
  const bool by_channel = norm->is("InstanceNorm") || norm->is("GroupNorm");
  if ((!by_element && !by_channel) || norm->num_outputs() != 1 || norm->has_attr("epilogue")) return false;
  const Value* x = norm->input(0);
  if (x->dtype() != DType::kF32) return false;  // the parameter's product would not be rounded as it is now
  const auto axis = static_cast<size_t>(by_element ? first_axis(*norm) : 1);
  std::vector<Value*> inputs{norm->input(0), norm->input(1), norm->input(2)};
  const int64_t channels = by_channel ? const_channels(x) : -1;
  if (by_channel && channels < 0) return false;
  Node* last = norm;
  std::vector<Node*> nodes{norm};
  for (const int slot : {1, 2}) {
    if (inputs[static_cast<size_t>(slot)] != nullptr || inputs[2] != nullptr) continue;
    if (slot == 2 && norm->is("RMSNorm")) continue;
    const Parameter p = parameter_after(last, slot == 1 ? "Mul" : "Add");
    if (p.node == nullptr || p.value->dtype() != DType::kF32) continue;
    Value* value = p.value;
    if (by_channel) {
      WOOTZ_ASSIGN_OR_RETURN(value, channel_constant(graph, p.value, x->rank(), channels));
    } else if (!fits_elements(p.value, x->shape(), axis)) {
      value = nullptr;
    }
    if (value == nullptr) continue;
    if (slot == 2 && inputs[1] == nullptr) {
      WOOTZ_ASSIGN_OR_RETURN(inputs[1], filled(graph, value->shape(), DType::kF32, 1));
      if (inputs[1] == nullptr) continue;
    }
    inputs[static_cast<size_t>(slot)] = value;
    nodes.push_back(p.node);
    last = p.node;
  }
  if (last == norm) return false;
  while (inputs.back() == nullptr) inputs.pop_back();
  nodes.pop_back();  // replace_node keeps the last one's
  return replace(graph, last, norm->op().name, std::move(inputs), norm->attrs(), nodes);
}

Result<bool> spelled_norm(Graph& graph, Node* node) {
  if (!node->is("Div") && !node->is("Mul")) return false;
  if (node->output()->dtype() != DType::kF32) return false;
  for (const bool centered : {true, false}) {
    for (const Pattern& form : centered ? centered_forms() : plain_forms()) {
      const std::optional<Match> m = match(form, node);
      if (!m) continue;
      Value* x = m->value(centered ? "x" : "d");
      const std::vector<int64_t> axes = sorted_axes(*m->node("v"));
      const double epsilon = m->scalar("eps");
      const int64_t first = trailing(axes, x->rank());
      if (first < 0 || !(epsilon >= 0) || (centered && sorted_axes(*m->node("m")) != axes)) continue;
      Node* last = node;
      std::vector<Node*> nodes = m->nodes;
      take_in_casts(&last, &x, &nodes);
      nodes.erase(std::remove(nodes.begin(), nodes.end(), last), nodes.end());
      return replace(graph, last, centered ? "LayerNorm" : "RMSNorm", {x},
                     {{"axis", first - last->output()->rank()}, {"epsilon", epsilon}}, nodes);
    }
  }
  return false;
}

// x / max(|x|, eps)
Result<bool> spelled_l2(Graph& graph, Node* node) {
  if (!node->is("Div") || node->output()->dtype() != DType::kF32) return false;
  static const std::vector<Pattern> kForms = [] {
    const Pattern squares = pat::either(
        {pat::op("Mul", {pat::same("x"), pat::same("x")}), pat::op("Pow", {pat::same("x"), pat::scalar(2)})});
    const auto reduce = [](const char* kind, Pattern inner) {
      return pat::op("Reduce", {std::move(inner)})
          .where([kind](const Node& n) {
            return n.attr_string("kind") == kind && n.has_attr("axes") && n.attr_int("keepdims", 1) == 1 &&
                   !n.has_attr("epilogue");
          })
          .as("r");
    };
    const Pattern length = pat::either({reduce("l2", pat::same("x")), pat::op("Sqrt", {reduce("sum", squares)}),
                                        pat::op("Sqrt", {reduce("sumsq", pat::same("x"))})});
    const Pattern bounded =
        pat::either({pat::op("Max", {length, pat::scalar("eps")}),
                     pat::op("Clip", {length}).where([](const Node& n) { return !n.has_attr("max"); }).as("c"),
                     pat::op("Clip", {length, pat::scalar("eps")})});
    return std::vector<Pattern>{pat::op("Div", {pat::any("x"), bounded}),
                                pat::op("Div", {pat::any("x"), pat::op("Expand", {bounded, pat::any()})})};
  }();
  for (const Pattern& form : kForms) {
    const std::optional<Match> m = match(form, node);
    if (!m) continue;
    const Value* x = m->value("x");
    const int64_t first = trailing(sorted_axes(*m->node("r")), x->rank());
    const Node* clip = m->node("c");
    const double epsilon = clip != nullptr ? clip->attr_float("min", 0) : m->scalar("eps");
    if (first < 0 || !(epsilon > 0) || !(x->shape() == node->output()->shape())) continue;
    std::vector<Node*> nodes = m->nodes;
    nodes.erase(std::remove(nodes.begin(), nodes.end(), node), nodes.end());
    return replace(graph, node, "L2Norm", {m->value("x")}, {{"axis", first - x->rank()}, {"epsilon", epsilon}}, nodes);
  }
  return false;
}

bool all_equal(const Value* value, double v) {
  if (value == nullptr) return true;
  if (!value->is_constant()) return false;
  for (int64_t i = 0; i < value->constant().volume(); ++i)
    if (value->constant().get_f64(i) != v) return false;
  return true;
}

// x [N,C,...] as [N,G,...], normalized over all but those two, and as it was: that is GroupNorm.
Result<bool> regrouped(Graph& graph, Node* node) {
  if (!node->is("Reshape")) return false;
  Node* norm = node->input(0)->producer();
  if (norm == nullptr || only_user(node->input(0)) != node || norm->num_outputs() != 1 || norm->has_attr("epilogue"))
    return false;
  const Value* inner = norm->input(0);
  const bool layer = norm->is("LayerNorm") && inner->rank() >= 3 && first_axis(*norm) == 2;
  if ((!layer && !norm->is("InstanceNorm")) || !all_equal(norm->input(1), 1) || !all_equal(norm->input(2), 0))
    return false;
  Node* before = inner->producer();
  if (before == nullptr || !before->is("Reshape") || only_user(inner) != norm) return false;
  Value* x = before->input(0);
  if (!(x->shape() == node->output()->shape()) || x->rank() < 3 || !(x->shape()[0] == inner->shape()[0])) return false;
  const int64_t channels = const_channels(x), groups = const_channels(inner);
  if (channels < 1 || groups < 1 || channels % groups != 0) return false;
  return replace(graph, node, "GroupNorm", {x}, {{"groups", groups}, {"epsilon", norm->attr_float("epsilon", 1e-5)}},
                 {before, norm});
}

// LayerNorm over all but batch and channels, then a factor for each channel: InstanceNorm.
Result<bool> as_instance(Graph& graph, Node* norm) {
  if (!norm->is("LayerNorm") || norm->input(1) != nullptr || norm->has_attr("epilogue")) return false;
  const Value* x = norm->input(0);
  if (x->rank() < 3 || first_axis(*norm) != 2) return false;
  const int64_t channels = const_channels(x);
  const Parameter p = parameter_after(norm, "Mul");
  if (p.node == nullptr || channels < 1 || x->dtype() != DType::kF32 || p.value->dtype() != DType::kF32) return false;
  const auto values = per_channel(p.value, x->rank(), 1, channels);
  if (!values || static_cast<int64_t>(values->size()) != channels) return false;
  return replace(graph, norm, "InstanceNorm", {norm->input(0)}, {{"epsilon", norm->attr_float("epsilon", 1e-5)}}, {});
}

}  // namespace

Result<bool> recognize_norms(Graph& graph) {
  bool changed = false;
  // Each rule works on what the ones before it made of the whole graph. Ids, for a rule erases nodes.
  for (const auto rule : {spelled_norm, spelled_l2, regrouped, as_instance, take_parameters}) {
    std::vector<int> ids;
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      if (node->num_outputs() == 1) ids.push_back(node->output()->id());
    for (const int id : ids) {
      const Value* value = graph.value_by_id(id);
      if (value == nullptr || value->producer() == nullptr) continue;
      WOOTZ_ASSIGN_OR_RETURN(const bool done, rule(graph, value->producer()));
      changed = changed || done;
    }
  }
  return changed;
}

}  // namespace wootz
