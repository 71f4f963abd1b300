#include "onnx/node_context.h"

#include <limits>

#include "onnx/text.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::importer {
namespace {

using ::onnx::AttributeProto;

// Files of the first IR version lack an attribute's type: any field that is set will do.
bool has_type(const AttributeProto& a, int type) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type() == type;
  switch (type) {
    case AttributeProto::INT: return a.has_i();
    case AttributeProto::FLOAT: return a.has_f();
    case AttributeProto::STRING: return a.has_s();
    case AttributeProto::TENSOR: return a.has_t();
    case AttributeProto::GRAPH: return a.has_g();
    case AttributeProto::INTS: return a.ints_size() > 0;
    case AttributeProto::FLOATS: return a.floats_size() > 0;
    case AttributeProto::STRINGS: return a.strings_size() > 0;
    default: return false;
  }
}

std::string type_name(int type) {
  if (!::onnx::AttributeProto_AttributeType_IsValid(type)) return std::to_string(type);
  return ::onnx::AttributeProto_AttributeType_Name(static_cast<::onnx::AttributeProto_AttributeType>(type));
}

}  // namespace

NodeContext::NodeContext(Importer& importer, const Place& place, Scope& scope, const Frame& frame,
                         const std::vector<Slot>& inputs)
    : importer_(importer), place_(place), scope_(scope), frame_(frame) {
  for (const Slot& slot : inputs) inputs_.push_back(slot.value);
  while (!inputs_.empty() && inputs_.back() == nullptr) inputs_.pop_back();
  int outputs = place.node.output_size();
  while (outputs > 0 && place.node.output(outputs - 1).empty()) --outputs;
  outputs_.resize(static_cast<size_t>(outputs));
}

Value* NodeContext::input(int i) const {
  return i >= 0 && i < num_inputs() ? inputs_[static_cast<size_t>(i)] : nullptr;
}

bool NodeContext::wants_output(int i) const { return i >= 0 && i < num_outputs() && !place_.node.output(i).empty(); }

const NodeContext::Attribute* NodeContext::find(std::string_view name) const {
  for (const Attribute& attribute : place_.node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    if (frame_.attributes == nullptr) return nullptr;  // reported before the op was asked
    const auto it = frame_.attributes->find(attribute.ref_attr_name());
    return it == frame_.attributes->end() ? nullptr : it->second;
  }
  return nullptr;
}

const NodeContext::Attribute* NodeContext::find(std::string_view name, int type) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr || has_type(*attribute, type)) return attribute;
  if (error_.ok())
    error_ = invalid_argument("attribute '{}' is {}, expected {}", name, type_name(attribute->type()), type_name(type));
  return nullptr;
}

int64_t NodeContext::attr_int(std::string_view name, int64_t fallback) const {
  const Attribute* a = find(name, Attribute::INT);
  return a == nullptr ? fallback : a->i();
}

double NodeContext::attr_float(std::string_view name, double fallback) const {
  const Attribute* a = find(name, Attribute::FLOAT);
  return a == nullptr ? fallback : static_cast<double>(a->f());
}

std::string NodeContext::attr_string(std::string_view name, std::string_view fallback) const {
  const Attribute* a = find(name, Attribute::STRING);
  return a == nullptr ? std::string(fallback) : a->s();
}

std::vector<int64_t> NodeContext::attr_ints(std::string_view name, std::vector<int64_t> fallback) const {
  const Attribute* a = find(name, Attribute::INTS);
  if (a == nullptr) return fallback;
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> NodeContext::attr_floats(std::string_view name, std::vector<double> fallback) const {
  const Attribute* a = find(name, Attribute::FLOATS);
  if (a == nullptr) return fallback;
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> NodeContext::attr_strings(std::string_view name) const {
  const Attribute* a = find(name, Attribute::STRINGS);
  if (a == nullptr) return {};
  return {a->strings().begin(), a->strings().end()};
}

DType NodeContext::attr_dtype(std::string_view name, DType fallback) const {
  const Attribute* a = find(name, Attribute::INT);
  if (a == nullptr) return fallback;
  const int64_t number = a->i();
  const bool in_range = number >= 0 && number <= std::numeric_limits<int>::max();
  const DType dtype = in_range ? dtype_from_onnx(static_cast<int>(number)) : DType::kInvalid;
  if (dtype != DType::kInvalid && dtype != DType::kString) return dtype;
  if (error_.ok())
    error_ = unsupported("attribute '{}' asks for {}, which is not supported", name,
                         in_range ? onnx_type_name(static_cast<int>(number)) : std::to_string(number));
  return fallback;
}

Result<HostTensor> NodeContext::attr_tensor(std::string_view name) const {
  const Attribute* a = find(name, Attribute::TENSOR);
  if (a == nullptr) return error_.ok() ? invalid_argument("attribute '{}' is missing", name) : error_;
  Result<HostTensor> tensor = importer_.reader().read(a->t());
  if (!tensor.ok()) return tensor.status().with_prefix(fmt::format("attribute '{}'", name));
  return tensor;
}

Result<std::shared_ptr<Graph>> NodeContext::attr_graph(std::string_view name, std::vector<Value*>* captured,
                                                       const std::vector<TypeInfo>& input_types) {
  const Attribute* a = find(name, Attribute::GRAPH);
  if (a == nullptr) return error_.ok() ? invalid_argument("attribute '{}' is missing", name) : error_;
  captured->clear();
  graphs_.insert(&a->g());
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph,
                         importer_.import_subgraph(a->g(), place_, scope_, frame_, captured, &input_types));
  if (importer_.has_fork(*graph) && op_type() != "If")
    return unsupported("a result of attribute '{}' is of one rank or another, as node '{}' (If) in it decides", name,
                       printable(importer_.take_fork(*graph)->name));
  return graph;
}

Status NodeContext::fork(Value* condition, Branch then, Branch other) {
  auto fork = std::make_unique<Fork>();
  fork->condition = condition;
  Branch* const branches[] = {&then, &other};
  for (size_t s = 0; s < 2; ++s) {
    ForkSide& side = fork->sides[s];
    side.graph = std::move(branches[s]->graph);
    side.captured = std::move(branches[s]->captured);
    if (side.graph == nullptr) {
      side.never = true;
      continue;
    }
    if (side.graph->inputs().size() != side.captured.size())
      return invalid_argument("a branch takes {} inputs; it takes none but what it reads from outside",
                              side.graph->inputs().size() - side.captured.size());
    side.inner = importer_.take_fork(*side.graph);
    if (side.inner == nullptr) side.results = side.graph->outputs();
  }
  for (const ForkSide* leaf : live_leaves(*fork))
    if (leaf->results.size() < outputs_.size())
      return invalid_argument("a branch gives {} outputs, {} are wanted", leaf->results.size(), outputs_.size());
  fork_ = std::move(fork);
  return {};
}

Result<Node*> NodeContext::add(std::string_view op, std::vector<Value*> inputs, AttrMap attrs, int num_outputs) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return internal_error("the import function uses the unknown op '{}'", op);
  for (const Value* value : inputs)
    if (value != nullptr && value->graph() != &graph())
      return internal_error("operand '{}' is of another graph", value->name());
  WOOTZ_RETURN_IF_ERROR(importer_.count_node());
  Node* node =
      graph().add_node(*def, importer_.ir_name(place_.name, graph()), std::move(inputs), std::move(attrs), num_outputs);
  node->add_provenance(place_.name);
  added_.push_back(node);
  made_.insert(node->outputs().begin(), node->outputs().end());
  const Status status = infer_node(*node);
  if (status.ok()) {
    importer_.limit_tracking(*node);
    return node;
  }
  // The importer adds the place, once.
  const std::string prefix = fmt::format("node '{}' ({}): ", node->name(), def->name);
  std::string_view text = status.message();
  if (!text.starts_with(prefix)) return status;
  text.remove_prefix(prefix.size());
  return Status(status.code(), op == op_type() ? std::string(text) : fmt::format("{}: {}", op, text));
}

Value* NodeContext::add_constant(HostTensor tensor) {
  Value* value = graph().add_constant(graph().unique_name(place_.name + "_constant"), std::move(tensor));
  made_.insert(value);
  return value;
}

void NodeContext::set_output(int i, Value* value) {
  if (i >= 0 && i < num_outputs()) outputs_[static_cast<size_t>(i)] = value;
}

bool NodeContext::fold(Folder& folder) {
  Folder::Replaced replaced;
  bool left = false;
  for (Node* node : added_) left = !folder.fold(node, &replaced) || left;
  added_.clear();
  for (const auto& [from, to] : replaced) {
    made_.erase(from);
    made_.insert(to);
    for (Value*& value : outputs_)
      if (value == from) value = to;
  }
  return left;
}

}  // namespace wootz::importer
