#include "ops/support/compose.h"

namespace wootz {

Node* Composer::node(std::string_view name, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) {
  if (failed()) return nullptr;
  Result<Node*> made = ctx_.add(name, std::move(inputs), std::move(attrs), num_outputs);
  if (!made.ok()) {
    status_ = made.status();
    return nullptr;
  }
  return *made;
}

Value* Composer::op(std::string_view name, std::vector<Value*> inputs, AttrMap attrs) {
  Node* made = node(name, std::move(inputs), std::move(attrs), 1);
  return made == nullptr ? nullptr : made->output();
}

Value* Composer::scale(Value* a, double factor) {
  if (failed() || factor == 1) return a;
  return mul(a, scalar(a->dtype(), factor));
}

Value* Composer::cast(Value* a, DType to) {
  if (failed() || a->dtype() == to) return a;
  return op("Cast", {a}, {{"to", std::string(dtype_name(to))}});
}

Value* Composer::transpose(Value* a, std::vector<int64_t> perm) {
  return op("Transpose", {a}, {{"perm", std::move(perm)}});
}

Value* Composer::reshape(Value* a, std::vector<int64_t> dims) {
  if (failed()) return nullptr;
  return op("Reshape", {a, ints(std::move(dims))});
}

Value* Composer::reshape(Value* a, const Shape& dims, const std::vector<Value*>& sources) {
  if (failed()) return nullptr;
  // Constants stay numbers; a symbolic extent is read from the shape of a source that has it.
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
      status_ = ctx_.fail("the extent {} of shape {} is not that of any operand", d.to_string(), shape_to_string(dims));
      return nullptr;
    }
    parts.push_back(found);
  }
  if (!symbolic) return reshape(a, std::move(plain));
  return op("Reshape", {a, concat(std::move(parts), 0)});
}

Value* Composer::as_scalar(Value* a) {
  if (failed() || a->rank() == 0) return a;
  if (a->is_constant() && a->constant().volume() == 1) return ctx_.add_constant(a->constant().reshaped(Dims{}));
  return op("Reshape", {a, ints({})});
}

Value* Composer::unsqueeze(Value* a, std::vector<int64_t> axes) {
  return op("Unsqueeze", {a}, {{"axes", std::move(axes)}});
}
Value* Composer::squeeze(Value* a, std::vector<int64_t> axes) {
  return op("Squeeze", {a}, {{"axes", std::move(axes)}});
}

Value* Composer::slice(Value* a, int64_t axis, int64_t start, int64_t end, int64_t step) {
  using Ints = std::vector<int64_t>;
  return op("Slice", {a}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
}

Value* Composer::concat(std::vector<Value*> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return op("Concat", std::move(parts), {{"axis", axis}});
}

Value* Composer::reduce(std::string_view kind, Value* a, std::vector<int64_t> axes, bool keepdims) {
  AttrMap attrs{{"kind", std::string(kind)}, {"keepdims", int64_t{keepdims}}};
  if (!axes.empty()) attrs["axes"] = std::move(axes);
  return op("Reduce", {a}, std::move(attrs));
}

Value* Composer::shape_of(Value* a) { return op("Shape", {a}); }
Value* Composer::extent(Value* a, int64_t axis) { return slice(shape_of(a), 0, axis, axis + 1); }

Value* Composer::scalar(DType dtype, double value) {
  Result<HostTensor> tensor = HostTensor::allocate(dtype, Dims{});
  if (!tensor.ok()) {
    if (!failed()) status_ = tensor.status();
    return nullptr;
  }
  tensor->set_f64(0, value);
  return ctx_.add_constant(std::move(tensor).value());
}

Status Composer::output(int i, Value* value) {
  if (!failed() && ctx_.wants_output(i)) ctx_.set_output(i, value);
  return status_;
}

}  // namespace wootz
