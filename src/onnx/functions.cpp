// Model-local functions: the nodes of a body go into the caller's graph, under names of a scope of their own.
#include "base/limits.h"
#include "onnx/import_table.h"
#include "onnx/importer.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

std::string function_key(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key(canonical_domain(domain));
  for (const std::string_view part : {name, overload}) {
    key += '\0';
    key += part;
  }
  return key;
}

bool holds_graph(const ::onnx::AttributeProto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; }

}  // namespace

void Importer::index_functions() {
  for (const auto& function : model_.functions()) {
    const std::string shown =
        fmt::format("function '{}' of domain '{}'", printable(function.name()), printable(function.domain()));
    if (function.name().empty()) {
      report(Code::kCorrupt, "a function without a name");
      continue;
    }
    FunctionInfo info;
    info.proto = &function;
    info.bytes = static_cast<int64_t>(function.ByteSizeLong());
    if (!functions_.emplace(function_key(function.domain(), function.name(), function.overload()), std::move(info))
             .second)
      report(Code::kInvalidArgument, shown + ": it is defined twice");
  }
}

Importer::FunctionInfo* Importer::find_function(const Place& place) {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(function_key(place.domain, place.node.op_type(), place.node.overload()));
  return it == functions_.end() ? nullptr : &it->second;
}

Status Importer::bind_attributes(const ::onnx::FunctionProto& function, const Place& place, const Frame& frame,
                                 AttributeMap* bound) {
  if (place.node.input_size() > function.input_size() || place.node.output_size() > function.output_size())
    return invalid_argument("{} inputs and {} outputs, its function has {} and {}", place.node.input_size(),
                            place.node.output_size(), function.input_size(), function.output_size());
  for (const auto& attribute : function.attribute_proto()) (*bound)[attribute.name()] = &attribute;
  const auto declares = [&](const std::string& name) {
    if (bound->contains(name)) return true;
    for (const std::string& declared : function.attribute())
      if (declared == name) return true;
    return false;
  };
  for (const auto& attribute : place.node.attribute()) {
    if (!declares(attribute.name()))
      return invalid_argument("its function has no attribute '{}'", printable(attribute.name()));
    const ::onnx::AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto it = frame.attributes->find(attribute.ref_attr_name());
      if (it == frame.attributes->end()) continue;  // absent where it is called: the default stays
      value = it->second;
    }
    (*bound)[attribute.name()] = value;
  }
  for (const auto& [name, attribute] : *bound)
    if (holds_graph(*attribute))
      return unsupported("attribute '{}' passes a graph to a function, which is not supported", printable(name));
  return Status();
}

Status Importer::admit_call(const FunctionInfo& info, const Place& place, const Frame& frame) {
  const ::onnx::FunctionProto& function = *info.proto;
  for (const Frame* at = &frame; at != nullptr; at = at->caller)
    if (at->function == &function) return invalid_argument("its function calls itself");
  if (frame.function_depth >= limits::kMaxFunctionDepth)
    return make_error(Code::kResourceExhausted, "function calls are nested more than {} deep",
                      limits::kMaxFunctionDepth);
  inlined_bytes_ += info.bytes;
  if (inlined_bytes_ > limits::kMaxInlinedBytes)
    stop(make_error(Code::kResourceExhausted, "the functions called add up to more than {} bytes of nodes",
                    limits::kMaxInlinedBytes));
  return Status();
}

bool Importer::read_function_opsets(FunctionInfo& info) {
  if (info.opsets) return info.usable;
  info.opsets.emplace();
  const std::string where = fmt::format("function '{}'", printable(info.proto->name()));
  info.usable = read_opsets(info.proto->opset_import(), &*info.opsets, where);
  if (info.opsets->empty()) info.opsets = opsets_;
  return info.usable;
}

void Importer::bind_results(const ::onnx::FunctionProto& function, const Place& place, Scope& body, const Frame& inner,
                            Scope& scope, const Frame& frame) {
  for (int i = 0; i < place.node.output_size(); ++i) {
    if (place.node.output(i).empty()) continue;
    const Slot* slot = body.find(function.output(i));
    if (slot == nullptr || (slot->value == nullptr && !slot->poisoned)) {
      report(place,
             invalid_argument("output '{}' of its function is not defined in it", printable(function.output(i))));
      continue;
    }
    if (slot->poisoned) continue;
    bind_output(place, i, *slot, scope);
    // A value made in the body goes by its name outside.
    Value* value = slot->value;
    if (value->kind() != ValueKind::kInput && value->name().starts_with(inner.path))
      name_value(value, place.node.output(i), frame);
  }
}

void Importer::call_function(FunctionInfo& info, const Place& place, Scope& scope, const Frame& frame,
                             const std::vector<Slot>& inputs) {
  const ::onnx::FunctionProto& function = *info.proto;
  const auto fail = [&](const Status& status) {
    report(place, status);
    poison_outputs(place, scope, frame);
  };
  if (const Status status = admit_call(info, place, frame); !status.ok()) return fail(status);
  if (stopped_) return;
  if (!read_function_opsets(info)) {
    if (top_node_ >= 0) failed_nodes_.insert(top_node_);
    return poison_outputs(place, scope, frame);
  }
  AttributeMap attributes;
  if (const Status status = bind_attributes(function, place, frame, &attributes); !status.ok()) return fail(status);

  Scope body(scope.graph(), nullptr, nullptr);
  for (int i = 0; i < function.input_size(); ++i)
    define(body, function.input(i), static_cast<size_t>(i) < inputs.size() ? inputs[static_cast<size_t>(i)] : Slot{},
           place.name, "function input");
  Frame inner = frame;
  inner.caller = &frame;
  inner.function = &function;
  inner.opsets = &*info.opsets;
  inner.attributes = &attributes;
  inner.graph = nullptr;
  inner.path = inner_path(place, frame);
  ++inner.function_depth;
  std::set<std::string_view> results;
  for (const std::string& name : function.output()) results.insert(name);
  inside_.push_back(printable(function.name()));
  import_nodes(function.node(), results, body, inner);
  inside_.pop_back();
  if (stopped_) return;
  bind_results(function, place, body, inner, scope, frame);
  poison_outputs(place, scope, frame);  // those that are not defined by now
}

}  // namespace wootz::importer
