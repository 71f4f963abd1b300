// The walk over nodes.
#include <limits>
#include <unordered_set>

#include "base/limits.h"
#include "onnx/fork_walk.h"
#include "onnx/import_table.h"
#include "onnx/node_context.h"
#include "onnx/signature.h"
#include "onnx/text.h"

namespace wootz::importer {
namespace {

constexpr size_t kMaxPathBytes = 1024;  // names of calls and control-flow nodes before a node's own

std::string node_name(const ::onnx::NodeProto& node, const Frame& frame) {
  std::string_view own = node.name();
  for (int i = 0; own.empty() && i < node.output_size(); ++i) own = node.output(i);
  if (own.empty()) own = node.op_type();
  // Inlined bodies repeat their names: long ones are cut there, so that they cannot multiply.
  if (frame.path.empty() && own.size() <= limits::kMaxNameBytes && is_clean_name(own)) return std::string(own);
  return frame.path + printable(own);
}

// What is wrong with the node by itself.
Status check_node(const ::onnx::NodeProto& node, const Frame& frame) {
  if (node.op_type().empty()) return corrupt("it has no op type");
  if (node.name().size() > limits::kMaxNameBytes)
    return make_error(Code::kResourceExhausted, "its name has {} bytes, the limit is {}", node.name().size(),
                      limits::kMaxNameBytes);
  if (!is_clean_name(node.name())) return corrupt("its name is not UTF-8");
  if (node.input_size() > limits::kMaxInputsPerNode || node.output_size() > limits::kMaxInputsPerNode)
    return make_error(Code::kResourceExhausted, "{} inputs and {} outputs, the limit is {}", node.input_size(),
                      node.output_size(), limits::kMaxInputsPerNode);
  if (node.attribute_size() > limits::kMaxAttributesPerNode)
    return make_error(Code::kResourceExhausted, "{} attributes, the limit is {}", node.attribute_size(),
                      limits::kMaxAttributesPerNode);
  bool any = false;
  for (const std::string& name : node.output()) any = any || !name.empty();
  if (!any) return invalid_argument("it has no outputs");
  std::unordered_set<std::string_view> seen;
  for (const auto& attribute : node.attribute()) {
    if (!seen.insert(attribute.name()).second)
      return invalid_argument("attribute '{}' is given twice", printable(attribute.name()));
    if (!attribute.ref_attr_name().empty() && frame.attributes == nullptr)
      return invalid_argument("attribute '{}' refers to a function's attribute outside of a function",
                              printable(attribute.name()));
  }
  return Status();
}

}  // namespace

std::string inner_path(const Place& place, const Frame& frame) {
  if (place.name.size() <= kMaxPathBytes) return place.name + "/";
  return frame.path.ends_with(".../") ? frame.path : frame.path + ".../";
}

void name_value(Value* value, const std::string& name, const Frame& frame) {
  value->set_name(frame.path.empty() ? name : value->graph()->unique_name(frame.path + printable(name)));
}

void Importer::import_at(const NodeList& nodes, int index, Scope& scope, const Frame& frame) {
  if (&nodes == &model_.graph().node()) top_node_ = index;
  import_node(nodes[index], scope, frame);
}

std::unique_ptr<Fork> Importer::import_nodes(const NodeList& nodes, const std::set<std::string_view>& results,
                                             Scope& scope, const Frame& frame) {
  const bool top = frame.graph_depth == 0 && frame.function_depth == 0;
  const NodeOrder& order = topology_.order(nodes);
  std::unique_ptr<Fork> open = NodeWalk(*this, nodes, results, scope, frame).run(order);
  if (stopped_ || order.cyclic.empty()) return open;
  const ::onnx::NodeProto& first = nodes[order.cyclic[0]];
  if (top) {
    failed_nodes_.insert(order.cyclic.begin(), order.cyclic.end());
    top_node_ = order.cyclic[0];
  }
  const Place place{first, node_name(first, frame), std::string(canonical_domain(first.domain())), 0};
  report(place, invalid_argument("it is on a cycle or after one, with {} nodes in all", order.cyclic.size()));
  for (const int i : order.cyclic)
    for (const std::string& name : nodes[i].output())
      if (!name.empty()) scope.define(name, Slot::poison());
  return open;
}

void Importer::import_node(const ::onnx::NodeProto& node, Scope& scope, const Frame& frame) {
  Place place{node, node_name(node, frame), std::string(canonical_domain(node.domain())), 0};
  if (const auto it = frame.opsets->find(place.domain); it != frame.opsets->end())
    place.opset = static_cast<int>(std::min<int64_t>(it->second, std::numeric_limits<int>::max()));
  if (!count_node().ok()) return;
  if (const Status status = check_node(node, frame); !status.ok()) {
    report(place, status);
    return poison_outputs(place, scope, frame);
  }
  std::vector<Slot> inputs;
  if (!resolve_inputs(place, scope, &inputs)) return poison_outputs(place, scope, frame);
  if (FunctionInfo* function = find_function(place)) return call_function(*function, place, scope, frame, inputs);
  if (!import_plugin(place, scope, frame, inputs) && !import_stock(place, scope, frame, inputs))
    import_op(place, scope, frame, inputs);
}

bool Importer::resolve_inputs(const Place& place, Scope& scope, std::vector<Slot>* inputs) {
  bool good = true;
  for (const std::string& name : place.node.input()) {
    const Slot* slot = name.empty() ? nullptr : scope.find(name);
    if (slot == nullptr && !name.empty()) {
      report(place, invalid_argument("its input '{}' is not defined", printable(name)));
      good = false;
    }
    inputs->push_back(slot == nullptr ? Slot{} : *slot);
  }
  return good;
}

void Importer::import_op(const Place& place, Scope& scope, const Frame& frame, const std::vector<Slot>& inputs) {
  const auto fail = [&](const Status& status) {
    report(place, status);
    poison_outputs(place, scope, frame);
  };
  const std::string& op = place.node.op_type();
  const auto entries = find_imports(place.domain, op);
  const std::string domain = place.domain.empty() ? "ai.onnx" : printable(place.domain);
  if (entries.empty()) {
    const bool exists = first_version(place.domain, op) != 0 || newest_opset(place.domain) == kAnyOpset;
    return fail(exists ? unsupported("op '{}' of domain {} is not supported", printable(op), domain)
                       : unsupported("domain {} has no op '{}' that is known", domain, printable(op)));
  }
  if (place.opset == 0) return fail(invalid_argument("the model imports no opset of domain {}", domain));
  const OnnxImport* entry = select_import(place.domain, op, place.opset);
  if (entry == nullptr)
    return fail(unsupported("supported from opset {}, the model imports {}", entries[0].since_version, place.opset));
  if (const Status status = check_signature(place.node, place.domain, place.opset, inputs); !status.ok())
    return fail(status);
  for (const Slot& slot : inputs) {
    if (!slot.poisoned) continue;
    check_subgraphs(place, scope, frame, nullptr);
    return poison_outputs(place, scope, frame);
  }
  NodeContext context(*this, place, scope, frame, inputs);
  const size_t before = problems_.count();
  const Status status = run_import(*entry, context);
  if (!status.ok()) {
    // Problems inside a subgraph were reported there; the subgraphs that were not reached are still to be checked.
    if (problems_.count() == before) report(place, status);
    check_subgraphs(place, scope, frame, &context);
    return poison_outputs(place, scope, frame);
  }
  if ((made_fork_ = context.take_fork()) != nullptr) {
    made_fork_->node = &place.node;
    made_fork_->name = place.name;
    for (const std::string& name : place.node.output()) {
      if (name.size() <= limits::kMaxNameBytes && is_clean_name(name) && scope.own(name) == nullptr) {
        made_fork_->outputs.push_back(name);
        continue;
      }
      made_fork_ = nullptr;
      return fail(
          corrupt("the name of an output is defined already, or not UTF-8 of at most {} bytes", limits::kMaxNameBytes));
    }
    return;
  }
  take_results(place, scope, frame, context);
}

void Importer::take_results(const Place& place, Scope& scope, const Frame& frame, NodeContext& context) {
  if (!context.fold(folder_) && options_.absent != nullptr && scope.graph() == graph_.get()) {
    AbsentNode absent{place.name, place.node.op_type(), {}};
    for (int i = 0; i < context.num_outputs(); ++i)
      if (context.wants_output(i)) absent.outputs.push_back(place.node.output(i));
    options_.absent->push_back(std::move(absent));
  }
  bind_results(place, scope, frame, context);
}

void Importer::bind_results(const Place& place, Scope& scope, const Frame& frame, NodeContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (!context.wants_output(i)) continue;
    Value* value = context.outputs()[static_cast<size_t>(i)];
    bind_output(place, i, Slot::of(value), scope);
    if (context.made(value)) name_value(value, place.node.output(i), frame);
  }
}

Status Importer::run_import(const OnnxImport& entry, NodeContext& context) {
  WOOTZ_RETURN_IF_ERROR(entry.import(context));
  WOOTZ_RETURN_IF_ERROR(context.attribute_error());
  if (context.forked()) return Status();
  for (int i = 0; i < context.num_outputs(); ++i)
    if (context.wants_output(i) && context.outputs()[static_cast<size_t>(i)] == nullptr)
      return unsupported("its output {} is not supported", i);
  return Status();
}

// Subgraphs that no import function has looked at: their ops are checked, with nothing known of their inputs.
void Importer::check_subgraphs(const Place& place, Scope& scope, const Frame& frame, const NodeContext* imported) {
  for (const auto& attribute : place.node.attribute()) {
    if (!attribute.has_g() || (imported != nullptr && imported->imported(attribute.g()))) continue;
    std::vector<Value*> captured;
    (void)import_subgraph(attribute.g(), place, scope, frame, &captured, nullptr).ok();
  }
}

void Importer::bind_output(const Place& place, int index, Slot slot, Scope& scope) {
  const std::string& name = place.node.output(index);
  if (scope.own(name) != nullptr) {
    report(place, invalid_argument("its output '{}' is defined already", printable(name)));
  } else if (name.size() > limits::kMaxNameBytes || !is_clean_name(name)) {
    report(place, corrupt("the name of its output {} is not UTF-8 of at most {} bytes", index, limits::kMaxNameBytes));
    slot = Slot::poison();
  }
  scope.define(name, std::move(slot));
}

// Outputs of a node that failed: with their type from the model's value_info where it has one, so that what follows can
// be checked; else unknown.
void Importer::poison_outputs(const Place& place, Scope& scope, const Frame& frame) {
  for (const std::string& name : place.node.output()) {
    if (name.empty() || scope.own(name) != nullptr) continue;
    Slot slot = Slot::poison();
    if (const ::onnx::ValueInfoProto* info = declared_value(name, frame)) {
      const auto& type = info->type().tensor_type();
      const DType dtype = dtype_from_onnx(type.elem_type());
      if (dtype != DType::kInvalid && dtype != DType::kString && type.has_shape() && is_clean_name(name)) {
        Value* value = scope.graph()->add_input(scope.graph()->unique_name(printable(name)), dtype, {});
        Result<Shape> shape = read_shape(type.shape(), *value, frame.graph_depth == 0);
        if (shape.ok()) {
          value->set_type(dtype, std::move(shape).value());
          slot = Slot::of(value);
        }
      }
    }
    scope.define(name, std::move(slot));
  }
}

const ::onnx::ValueInfoProto* Importer::declared_value(const std::string& name, const Frame& frame) {
  if (frame.graph == nullptr) return nullptr;
  auto& index = declared_[frame.graph];
  if (index.empty()) {
    for (const auto& info : frame.graph->value_info()) index.emplace(info.name(), &info);
    for (const auto& info : frame.graph->output()) index.emplace(info.name(), &info);
    index.emplace("", nullptr);  // built
  }
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

Result<std::shared_ptr<Graph>> Importer::import_subgraph(const ::onnx::GraphProto& proto, const Place& place,
                                                         Scope& scope, const Frame& frame,
                                                         std::vector<Value*>* captured,
                                                         const std::vector<TypeInfo>* types) {
  if (frame.graph_depth >= limits::kMaxSubgraphDepth)
    return make_error(Code::kResourceExhausted, "subgraphs are nested more than {} deep", limits::kMaxSubgraphDepth);
  Frame inner = frame;
  inner.graph = &proto;
  inner.path = inner_path(place, frame);
  ++inner.graph_depth;
  auto graph = std::make_shared<Graph>(printable(proto.name()));
  graph->share_symbols(*scope.graph());
  open_forks_.erase(graph.get());  // of one that was here before
  Scope names(graph.get(), &scope, captured);
  const size_t before = problems_.count();
  define_initializers(proto, names, place.name);
  WOOTZ_RETURN_IF_ERROR(define_body_inputs(proto, names, types));
  std::set<std::string_view> results;
  for (const auto& output : proto.output()) results.insert(output.name());
  std::unique_ptr<Fork> open = import_nodes(proto.node(), results, names, inner);
  if (open != nullptr)
    keep_open(std::move(open), proto, *graph);
  else
    mark_outputs(proto, names);
  if (stopped_ || problems_.count() != before)
    return invalid_argument("its subgraph '{}' has problems", printable(proto.name()));
  if (types == nullptr) return invalid_argument("subgraph '{}' was only checked", printable(proto.name()));
  return graph;
}

}  // namespace wootz::importer
