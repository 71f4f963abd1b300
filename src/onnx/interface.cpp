// Inputs, initializers and outputs of the main graph and of subgraphs.
#include <unordered_set>

#include "base/limits.h"
#include "onnx/importer.h"
#include "onnx/text.h"
#include "ops/registry.h"

namespace wootz::importer {
namespace {

// The element type of a tensor-valued type; other kinds are refused by name.
Result<DType> element_type(const ::onnx::TypeProto& type) {
  if (type.has_sequence_type()) return unsupported("it is a sequence, which is not supported");
  if (type.has_optional_type()) return unsupported("it is an optional, which is not supported");
  if (type.has_map_type()) return unsupported("it is a map, which is not supported");
  if (type.has_sparse_tensor_type()) return unsupported("it is a sparse tensor, which is not supported");
  if (!type.has_tensor_type()) return invalid_argument("it has no type");
  const int number = type.tensor_type().elem_type();
  const DType dtype = dtype_from_onnx(number);
  if (dtype == DType::kInvalid || dtype == DType::kString)
    return unsupported("{} is not supported", onnx_type_name(number));
  return dtype;
}

}  // namespace

bool Importer::define(Scope& scope, std::string_view name, Slot slot, const std::string& where, const char* what) {
  if (name.empty()) {
    report(Code::kInvalidArgument, fmt::format("{} without a name", what), where);
  } else if (name.size() > limits::kMaxNameBytes) {
    report(Code::kResourceExhausted,
           fmt::format("{} '{}': the name has {} bytes, the limit is {}", what, printable(name), name.size(),
                       limits::kMaxNameBytes),
           where);
  } else if (!is_clean_name(name)) {
    report(Code::kCorrupt, fmt::format("{} '{}': the name is not UTF-8", what, printable(name)), where);
  } else if (!scope.define(name, std::move(slot))) {
    report(Code::kInvalidArgument, fmt::format("{} '{}': the name is defined twice", what, printable(name)), where);
  } else {
    return true;
  }
  return false;
}

// An extent that is not a number is a symbol. Names are shared within the main graph; in a subgraph, whose sizes may
// differ from run to run of it, every one is a symbol of its own.
Result<Shape> Importer::read_shape(const ::onnx::TensorShapeProto& proto, const Value& value, bool shared_names) {
  if (proto.dim_size() > limits::kMaxRank)
    return unsupported("it has rank {}, the limit is {}", proto.dim_size(), limits::kMaxRank);
  Shape shape;
  for (int i = 0; i < proto.dim_size(); ++i) {
    const auto& dim = proto.dim(i);
    if (dim.has_dim_value() && dim.dim_value() != -1) {  // exporters write -1 for "any"
      if (dim.dim_value() < 0 || dim.dim_value() > limits::kMaxElements)
        return invalid_argument("extent {} of dimension {} is out of range", dim.dim_value(), i);
      shape.emplace_back(dim.dim_value());
      continue;
    }
    // "?" is what exporters write for an extent they know nothing of: two of them need not be equal.
    const bool shared = shared_names && dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?";
    std::string name = shared ? dim.dim_param() : fmt::format("{}_dim{}", value.name(), i);
    if (shared) {
      const auto it = dim_params_.find(name);
      if (it != dim_params_.end()) {
        shape.push_back(it->second);
        continue;
      }
    }
    Symbol symbol;
    symbol.name = shared ? printable(name) : name;
    while (shared_names && !symbol_names_.insert(symbol.name).second) symbol.name += '_';
    symbol.kind = shared_names ? SymbolKind::kInputDim : SymbolKind::kDataDependent;
    symbol.value_id = shared_names ? value.id() : -1;
    symbol.index = i;
    shape.push_back(Dim::symbol(graph_->add_symbol(std::move(symbol))));
    if (shared) dim_params_.emplace(std::move(name), shape.back());
  }
  if (std::optional<Dims> dims = to_dims(shape)) {
    if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok()) return volume.status();
  }
  return shape;
}

void Importer::define_initializers(const ::onnx::GraphProto& proto, Scope& scope, const std::string& where) {
  for (const auto& tensor : proto.initializer()) {
    if (scope.graph() == graph_.get() && options_.constant_inputs.contains(tensor.name())) continue;  // overridden
    Result<HostTensor> value = reader_.read(tensor);
    Slot slot;
    if (value.ok())
      slot.pending = std::move(value).value();
    else
      report(value.status().code(), "initializer: " + value.status().message(), where);
    slot.poisoned = !value.ok();
    define(scope, tensor.name(), std::move(slot), where, "initializer");
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    report(Code::kUnsupported,
           fmt::format("sparse initializer '{}': sparse tensors are not supported", printable(tensor.values().name())),
           where);
    define(scope, tensor.values().name(), Slot::poison(), where, "sparse initializer");
  }
}

void Importer::bind_constant_inputs(const ::onnx::GraphProto& proto, Scope& scope) {
  size_t found = 0;
  for (const auto& input : proto.input()) {
    const auto given = options_.constant_inputs.find(input.name());
    if (given == options_.constant_inputs.end()) continue;
    ++found;
    const HostTensor& tensor = given->second;
    const std::string where = fmt::format("input '{}'", printable(input.name()));
    const Result<DType> dtype = element_type(input.type());
    if (!dtype.ok()) {
      report(dtype.status().code(), dtype.status().message(), where);
    } else if (*dtype != tensor.dtype()) {
      report(Code::kInvalidArgument,
             fmt::format("it is {}, the constant given for it is {}", dtype_name(*dtype), dtype_name(tensor.dtype())),
             where);
    }
    const auto& shape = input.type().tensor_type().shape();
    if (input.type().tensor_type().has_shape()) {
      bool fits = shape.dim_size() == tensor.rank();
      for (int i = 0; fits && i < shape.dim_size(); ++i) {
        const int64_t extent = tensor.dims()[static_cast<size_t>(i)];
        if (shape.dim(i).has_dim_value())
          fits = shape.dim(i).dim_value() == extent || shape.dim(i).dim_value() == -1;
        else if (!shape.dim(i).dim_param().empty() && shape.dim(i).dim_param() != "?")
          dim_params_.emplace(shape.dim(i).dim_param(), Dim(extent));
      }
      if (!fits)
        report(Code::kInvalidArgument,
               fmt::format("the constant given for it has shape {}, which does not fit", tensor.dims().to_string()),
               where);
    }
    Slot slot;
    slot.pending = tensor;
    slot.poisoned = !tensor.valid();
    define(scope, input.name(), std::move(slot), "", "input");
  }
  if (found == options_.constant_inputs.size()) return;
  for (const auto& [name, tensor] : options_.constant_inputs)
    if (scope.own(name) == nullptr)
      report(Code::kInvalidArgument,
             fmt::format("a constant is given for input '{}', which the model does not have", printable(name)));
}

void Importer::define_inputs(const ::onnx::GraphProto& proto, Scope& scope) {
  std::unordered_set<std::string_view> initialized;
  for (const auto& tensor : proto.initializer()) initialized.insert(tensor.name());
  std::unordered_set<std::string_view> seen;
  for (const auto& input : proto.input()) {
    const bool twice = !seen.insert(input.name()).second;
    if (!twice && (initialized.contains(input.name()) || options_.constant_inputs.contains(input.name()))) continue;
    const std::string where = fmt::format("input '{}'", printable(input.name()));
    if (twice) {
      report(Code::kInvalidArgument, "the name is defined twice", where);
      continue;
    }
    Slot slot;
    const Result<DType> dtype = element_type(input.type());
    if (!dtype.ok()) {
      report(dtype.status().code(), dtype.status().message(), where);
      slot.poisoned = true;
    } else if (!input.type().tensor_type().has_shape()) {
      report(Code::kUnsupported, "its rank is not known; give it a shape", where);
      slot.poisoned = true;
    } else {
      slot.value = graph_->add_input(input.name(), *dtype, {});
      Result<Shape> shape = read_shape(input.type().tensor_type().shape(), *slot.value, true);
      if (shape.ok()) {
        slot.value->set_type(*dtype, std::move(shape).value());
      } else {
        report(shape.status().code(), shape.status().message(), where);
        slot = Slot::poison();
      }
    }
    define(scope, input.name(), std::move(slot), "", "input");
  }
}

Status Importer::define_body_inputs(const ::onnx::GraphProto& proto, Scope& scope, const std::vector<TypeInfo>* types) {
  Graph& graph = *scope.graph();
  for (int i = 0; i < proto.input_size(); ++i) {
    const auto& input = proto.input(i);
    const auto fail = [&](const Status& status) {
      return status.with_prefix(
          fmt::format("input {} '{}' of its subgraph '{}'", i, printable(input.name()), printable(proto.name())));
    };
    if (scope.own(input.name()) != nullptr)
      return fail(invalid_argument("the name is defined twice or has an initializer"));
    if (types == nullptr) {
      define(scope, input.name(), Slot::poison(), "", "input");
      continue;
    }
    const auto index = static_cast<size_t>(i);
    const TypeInfo* given = index < types->size() && (*types)[index].present ? &(*types)[index] : nullptr;
    DType dtype = given != nullptr ? given->dtype : DType::kInvalid;
    if (input.has_type()) {
      WOOTZ_ASSIGN_OR_RETURN(const DType declared, element_type(input.type()));
      if (dtype != DType::kInvalid && dtype != declared)
        return fail(
            invalid_argument("it is declared {}, the value passed is {}", dtype_name(declared), dtype_name(dtype)));
      dtype = declared;
    }
    if (dtype == DType::kInvalid) return fail(unsupported("its type is not known"));
    Value* value = graph.add_input(graph.unique_name(printable(input.name())), dtype, {});
    Shape shape;
    if (given != nullptr) {
      shape = given->shape;
      SymbolId id = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (!shape[axis].is_symbol(&id) || id != -1) continue;
        Symbol symbol;
        symbol.name = fmt::format("{}_dim{}", value->name(), axis);
        symbol.kind = SymbolKind::kDataDependent;
        symbol.index = static_cast<int>(axis);
        shape[axis] = Dim::symbol(graph.add_symbol(std::move(symbol)));
      }
    } else if (input.type().tensor_type().has_shape()) {
      Result<Shape> declared = read_shape(input.type().tensor_type().shape(), *value, false);
      if (!declared.ok()) return fail(declared.status());
      shape = std::move(declared).value();
    } else {
      return fail(unsupported("its rank is not known"));
    }
    value->set_type(dtype, std::move(shape));
    define(scope, input.name(), Slot::of(value), "", "input");
  }
  return Status();
}

void Importer::mark_outputs(const ::onnx::GraphProto& proto, Scope& scope) {
  Graph& graph = *scope.graph();
  const bool main = &graph == graph_.get();
  std::unordered_set<std::string_view> seen;
  std::unordered_set<const Value*> marked;
  for (const auto& output : proto.output()) {
    const std::string where = fmt::format("output '{}'", printable(output.name()));
    const Slot* slot = scope.find(output.name());
    if (slot == nullptr || (slot->value == nullptr && !slot->poisoned)) {
      report(Code::kInvalidArgument, "nothing defines it", where);
      continue;
    }
    if (slot->poisoned) continue;
    if (main && !seen.insert(output.name()).second) {
      report(Code::kInvalidArgument, "the name is listed twice", where);
      continue;
    }
    Value* value = slot->value;
    if (main && output.type().has_tensor_type()) {
      const DType declared = dtype_from_onnx(output.type().tensor_type().elem_type());
      if (declared != DType::kInvalid && declared != value->dtype())
        report(Code::kInvalidArgument,
               fmt::format("it is declared {} and computed as {}", dtype_name(declared), dtype_name(value->dtype())),
               where);
    }
    // Outputs are distinct values; those of the main graph carry their names.
    const bool again = marked.contains(value);
    if (value->is_constant() && (again || main)) {
      value = graph.add_constant(output.name(), value->constant());
    } else if (again || (main && value->kind() == ValueKind::kInput)) {
      Node* node = graph.add_node(op("Identity"), graph.unique_name("identity"), {value}, {});
      node->output()->set_type(value->dtype(), value->shape());
      node->output()->set_shape_values(value->shape_values());
      value = node->output();
    }
    if (main) value->set_name(output.name());
    graph.mark_output(value);
    marked.insert(value);
  }
}

}  // namespace wootz::importer
