#include "ir/op_def.h"

#include "base/limits.h"

namespace wootz {

InferContext::InferContext(const Node& node, std::vector<TypeInfo> inputs, Graph* graph)
    : node_(node), inputs_(std::move(inputs)), graph_(graph), outputs_(static_cast<size_t>(node.num_outputs())) {}

std::optional<std::vector<Dim>> InferContext::dims_value(int i) const {
  if (!has(i)) return std::nullopt;
  const TypeInfo& info = in(i);
  if (is_float(info.dtype)) return std::nullopt;
  if (info.constant != nullptr) {
    if (info.constant->volume() > limits::kMaxShapeValues) return std::nullopt;
    std::vector<Dim> values;
    for (int64_t e = 0; e < info.constant->volume(); ++e) values.emplace_back(info.constant->get_i64(e));
    return values;
  }
  if (info.shape_values != nullptr) return *info.shape_values;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> InferContext::ints_value(int i) const {
  const std::optional<std::vector<Dim>> dims = dims_value(i);
  if (!dims) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim& d : *dims) {
    if (!d.is_const()) return std::nullopt;
    values.push_back(d.value());
  }
  return values;
}

Dim InferContext::data_dependent(int output, int axis, int64_t upper_bound) {
  if (graph_ == nullptr) return Dim::symbol(-1);  // a concrete run: the op itself says how large
  const int value_id = node_.output(output)->id();
  const std::vector<Symbol>& symbols = graph_->symbols();
  // A node inferred again gets the same symbol: look from the newest, where it is most likely to be. One that has no
  // type yet cannot have any.
  const bool again = node_.output(output)->dtype() != DType::kInvalid;
  for (size_t s = again ? symbols.size() : 0; s-- > 0;) {
    const Symbol& symbol = symbols[s];
    if (symbol.kind == SymbolKind::kDataDependent && symbol.value_id == value_id && symbol.index == axis &&
        symbol.name == node_.output(output)->name() + "_dim" + std::to_string(axis))
      return Dim::symbol(static_cast<SymbolId>(s));
  }
  Symbol symbol;
  symbol.name = node_.output(output)->name() + "_dim" + std::to_string(axis);
  symbol.kind = SymbolKind::kDataDependent;
  symbol.value_id = value_id;
  symbol.index = axis;
  symbol.upper_bound = upper_bound;
  return Dim::symbol(graph_->add_symbol(std::move(symbol)));
}

void InferContext::set_output(int i, DType dtype, Shape shape) {
  if (i >= static_cast<int>(outputs_.size())) return;  // an optional output the node does not have
  outputs_[static_cast<size_t>(i)].dtype = dtype;
  outputs_[static_cast<size_t>(i)].shape = std::move(shape);
}

void InferContext::set_output_values(int i, std::vector<Dim> values) {
  if (i >= static_cast<int>(outputs_.size()) || values.size() > static_cast<size_t>(limits::kMaxShapeValues)) return;
  outputs_[static_cast<size_t>(i)].values = std::move(values);
}

Status InferContext::place(std::string what) const {
  return at_node(node_, Status(Code::kInvalidArgument, std::move(what)));
}

Status EvalContext::allocate(size_t output, const Dims& dims) {
  const Value* value = node.output(static_cast<int>(output));
  if (value == nullptr || output >= outputs.size()) return Status();
  const DType dtype = outputs[output].valid() ? outputs[output].dtype() : value->dtype();
  WOOTZ_ASSIGN_OR_RETURN(outputs[output], HostTensor::allocate(dtype, dims));
  return Status();
}

}  // namespace wootz
