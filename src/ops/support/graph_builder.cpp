#include "ops/support/graph_builder.h"

#include <unordered_map>

namespace wootz {

Node* GraphBuilder::node(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) {
  if (failed()) return nullptr;
  Result<Node*> made = sink_->add(op, std::move(inputs), std::move(attrs), num_outputs);
  if (made.ok()) return *made;
  refuse(made.status());
  return nullptr;
}

Value* GraphBuilder::op(std::string_view name, std::vector<Value*> inputs, AttrMap attrs) {
  Node* made = node(name, std::move(inputs), std::move(attrs));
  return made == nullptr ? nullptr : made->output();
}

Value* GraphBuilder::constant(HostTensor tensor) {
  if (failed()) return nullptr;
  if (tensor.valid()) return sink_->add_constant(std::move(tensor));
  refuse(make_error(Code::kResourceExhausted, "no memory for a constant"));
  return nullptr;
}

Value* GraphBuilder::scalar(DType dtype, double value) {
  Result<HostTensor> tensor = HostTensor::allocate(dtype, Dims{});
  if (!tensor.ok()) {
    refuse(tensor.status());
    return nullptr;
  }
  if (is_float(dtype))
    tensor->set_f64(0, value);
  else
    tensor->set_i64(0, static_cast<int64_t>(value));
  return constant(std::move(tensor).value());
}

Value* GraphBuilder::ints(const std::vector<int64_t>& values) {
  return constant(HostTensor::from<int64_t>(values, Dims{static_cast<int64_t>(values.size())}));
}

Value* GraphBuilder::scale(Value* a, double factor) {
  if (failed() || factor == 1) return a;
  return mul(a, scalar(a->dtype(), factor));
}

Value* GraphBuilder::cast(Value* a, DType to) {
  if (failed() || a == nullptr || a->dtype() == to) return a;
  return op("Cast", {a}, {{"to", std::string(dtype_name(to))}});
}

Value* GraphBuilder::transpose(Value* a, std::vector<int64_t> perm) {
  bool identity = a != nullptr && perm.size() == a->shape().size();
  for (size_t i = 0; i < perm.size(); ++i) identity = identity && perm[i] == static_cast<int64_t>(i);
  return failed() || identity ? a : op("Transpose", {a}, {{"perm", std::move(perm)}});
}

Value* GraphBuilder::reshape(Value* a, const std::vector<int64_t>& dims) { return op("Reshape", {a, ints(dims)}); }

Value* GraphBuilder::reshape(Value* a, const Shape& dims, const std::vector<Value*>& sources) {
  if (failed()) return nullptr;
  std::vector<Value*> parts;
  bool symbolic = false;
  std::vector<int64_t> plain;
  for (const Dim& d : dims) {
    plain.push_back(d.is_const() ? d.value() : -1);
    symbolic = symbolic || !d.is_const();
    if (d.is_const()) {
      parts.push_back(ints({d.value()}));
      continue;
    }
    Value* found = nullptr;
    for (Value* source : sources) {
      for (int axis = 0; source != nullptr && found == nullptr && axis < source->rank(); ++axis)
        if (source->shape()[static_cast<size_t>(axis)] == d) found = extent(source, axis);
    }
    if (found == nullptr) {
      (void)fail("the extent {} of shape {} is not that of any operand", d.to_string(), shape_to_string(dims));
      return nullptr;
    }
    parts.push_back(found);
  }
  if (!symbolic) return reshape(a, plain);
  return op("Reshape", {a, concat(std::move(parts), 0)});
}

Value* GraphBuilder::as_scalar(Value* a) {
  if (failed() || a->rank() == 0) return a;
  if (a->is_constant() && a->constant().volume() == 1) return constant(a->constant().reshaped(Dims{}));
  return op("Reshape", {a, ints({})});
}

Value* GraphBuilder::unsqueeze(Value* a, std::vector<int64_t> axes) {
  return op("Unsqueeze", {a}, {{"axes", std::move(axes)}});
}
Value* GraphBuilder::squeeze(Value* a, std::vector<int64_t> axes) {
  return op("Squeeze", {a}, {{"axes", std::move(axes)}});
}

Value* GraphBuilder::slice(Value* a, int64_t axis, int64_t start, int64_t end, int64_t step) {
  using Ints = std::vector<int64_t>;
  return op("Slice", {a}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
}

Value* GraphBuilder::concat(std::vector<Value*> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return op("Concat", std::move(parts), {{"axis", axis}});
}

Value* GraphBuilder::reduce(std::string_view kind, Value* a, std::vector<int64_t> axes, bool keepdims) {
  AttrMap attrs{{"kind", std::string(kind)}, {"keepdims", int64_t{keepdims}}};
  if (!axes.empty()) attrs["axes"] = std::move(axes);
  return op("Reduce", {a}, std::move(attrs));
}

Value* GraphBuilder::shape_of(Value* a) { return op("Shape", {a}); }
Value* GraphBuilder::extent(Value* a, int64_t axis) { return slice(shape_of(a), 0, axis, axis + 1); }

std::vector<Value*> GraphBuilder::inlined(const Graph& body, const std::vector<Value*>& inputs, bool keep_names) {
  std::unordered_map<const Value*, Value*> map;
  if (inputs.size() != body.inputs().size())
    refuse(internal_error("{} values for {} inputs of '{}'", inputs.size(), body.inputs().size(), body.name()));
  if (failed()) return {};
  for (size_t i = 0; i < inputs.size(); ++i) map[body.inputs()[i]] = inputs[i];
  const auto find = [&](const Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    Value*& to = map[v];
    if (to == nullptr && v->is_constant()) to = constant(v->constant());
    return to;
  };
  for (const Node* n = body.first(); n != nullptr; n = n->next()) {
    std::vector<Value*> operands;
    for (const Value* v : n->inputs()) operands.push_back(find(v));
    Node* made = node(n->op().name, std::move(operands), n->attrs(), n->num_outputs());
    if (made == nullptr) return {};
    for (const std::string& name : n->provenance()) made->add_provenance(name);
    for (int o = 0; o < n->num_outputs(); ++o) {
      if (keep_names) made->output(o)->set_name(graph().unique_name(n->output(o)->name()));
      map[n->output(o)] = made->output(o);
    }
  }
  std::vector<Value*> results;
  for (const Value* v : body.outputs()) results.push_back(find(v));
  return results;
}

}  // namespace wootz
