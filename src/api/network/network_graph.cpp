// The graphs that a network stands for: kept ones for queries, and one for each build.
#include <algorithm>

#include "api/network/adopt.h"
#include "api/network/attention.h"
#include "api/network/conditional.h"
#include "api/network/fit_interface.h"
#include "api/network/loop.h"
#include "api/network/network.h"
#include "ir/copy.h"
#include "ir/verify.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

// Here, where all that it owns is known.
NetworkImpl::NetworkImpl(nvinfer1::IBuilder& builder, const Reporter& reporter,
                         nvinfer1::NetworkDefinitionCreationFlags flags)
    : builder_(builder), reporter_(reporter), flags_(flags) {}
NetworkImpl::~NetworkImpl() noexcept = default;

Status NetworkImpl::adopt(std::shared_ptr<Graph> graph, bool exact_types) {
  WOOTZ_RETURN_IF_ERROR(verify_graph(*graph));
  for (const Value* v : graph->inputs())
    if (name_taken(v->name(), nullptr))
      return invalid_argument("the network has an input or output '{}' already", v->name());
  WOOTZ_RETURN_IF_ERROR(fit_interface(*graph, exact_types, reporter_));
  for (Node* node = graph->first(); node != nullptr; node = node->next())
    if (node->provenance().empty()) node->add_provenance(node->name());
  const bool only = is_empty();
  if (!only) changed(nullptr);
  if (layers_.empty() && !graph->name().empty()) name_ = graph->name();
  adopted_.push_back(graph);
  const std::vector<Value*> outputs = graph->outputs();  // an emission marks none
  if (only) imported_ = std::make_unique<Emission>(graph);
  auto adoption = std::make_unique<Adoption>(*this, graph, only ? &imported_->root() : nullptr);
  for (Value* v : graph->inputs()) inputs_.push_back(adoption->input(v));
  for (Value* v : outputs) {
    outputs_.push_back(adoption->tensor(v));
    outputs_.back()->is_output = true;
  }
  unmade_ = std::move(adoption);
  return only ? Status() : make_layers();
}

Status NetworkImpl::make_layers() {
  if (unmade_ == nullptr) return Status();
  const std::unique_ptr<Adoption> adoption = std::move(unmade_);
  std::vector<std::unique_ptr<LayerCore>> after;
  if (imported_ != nullptr) after = std::exchange(layers_, {});  // what was added meanwhile comes after
  const Status status = adoption->make_layers();
  std::move(after.begin(), after.end(), std::back_inserter(layers_));
  return status;
}

const std::vector<std::unique_ptr<LayerCore>>& NetworkImpl::layers() const {
  attempt(reporter_, "INetworkDefinition", [&] { return const_cast<NetworkImpl*>(this)->make_layers(); });
  return layers_;
}

int32_t NetworkImpl::getNbLayers() const noexcept {
  return static_cast<int32_t>(layers_.size() + (unmade_ == nullptr ? 0 : unmade_->num_unmade()));
}

void NetworkImpl::changed(const LayerCore* layer) {
  const auto keeps = [&](Emission& emission) {
    emission.forget_failures();  // layers may have failed for the sake of this one
    return layer != nullptr && emission.root().outdate(*layer);
  };
  if (imported_ != nullptr && !keeps(*imported_)) drop_imported();
  if (emission_ != nullptr && !keeps(*emission_)) emission_.reset();
}

void NetworkImpl::drop_imported() {
  (void)layers();  // they know what the graph says no longer
  imported_.reset();
}

// Afterwards the graphs that are kept say what the layers say.
void NetworkImpl::refresh() const {
  if (imported_ != nullptr && !imported_->root().refresh()) const_cast<NetworkImpl*>(this)->drop_imported();
  if (emission_ != nullptr && !emission_->root().refresh()) emission_.reset();
}

void NetworkImpl::renamed(const TensorImpl& tensor) {
  if (tensor.is_input) emission_.reset();
  if (imported_ == nullptr) return;
  if (Value* value = imported_->root().find(&tensor)) value->set_name(tensor.name());
}

void NetworkImpl::renamed(const LayerCore& layer) {
  if (imported_ == nullptr || !imported_->root().has_emitted(layer)) return;
  const Value* value = layer.outputs.empty() ? nullptr : imported_->root().find(layer.outputs[0]);
  if (!layer.origin || value == nullptr || value->producer() == nullptr) {
    if (!imported_->root().outdate(layer)) drop_imported();
    return;
  }
  value->producer()->set_name(imported_->graph()->unique_name(layer.name()));
}

Emission& NetworkImpl::query_emission(bool elements) const {
  refresh();
  const auto may_decide = [](const TensorImpl* input) { return may_decide_shapes(*input); };
  if (imported_ != nullptr && !(elements && std::any_of(inputs_.begin(), inputs_.end(), may_decide))) return *imported_;
  (void)layers();
  if (emission_ == nullptr) emission_ = std::make_unique<Emission>(name_, false);
  return *emission_;
}

const Value* NetworkImpl::query(const TensorImpl* tensor, bool elements) const {
  Value* value = nullptr;
  attempt(reporter_, "INetworkDefinition", [&]() -> Status {
    Emission& emission = query_emission(elements);
    const size_t before = emission.num_failures();
    Result<Value*> found = emission.root().value(tensor);
    if (found.ok()) {
      value = *found;
      return Status();
    }
    // What failed before was reported then.
    const bool reported = emission.num_failures() == before && before > 0;
    return reported ? Status() : found.status();
  });
  return value;
}

bool NetworkImpl::decides_shapes(const TensorImpl* input) const {
  bool decides = false;
  if (!may_decide_shapes(*input)) return false;
  attempt(reporter_, "ITensor::isShapeTensor", [&]() -> Status {
    Emission& emission = query_emission(true);
    for (const auto& layer : layers()) (void)emission.root().ensure(*layer);  // as far as the network is complete
    const Value* value = emission.root().find(input);
    if (value == nullptr || !value->shape_values()) return Status();
    const Graph& graph = *emission.graph();
    std::vector<SymbolId> used;
    for (const Node* node = graph.first(); node != nullptr; node = node->next())
      for (const Value* out : node->outputs())
        for (const Dim& d : out->shape()) d.collect_symbols(&used);
    for (const SymbolId id : used) {
      const Symbol& symbol = graph.symbols()[static_cast<size_t>(id)];
      decides = decides || (symbol.kind == SymbolKind::kInputValue && symbol.value_id == value->id());
    }
    return Status();
  });
  return decides;
}

// Emits what a build wants; gives the values of the network's outputs and of tensors to keep observable.
Status NetworkImpl::ensure_wanted(EmissionScope& scope, std::vector<Value*>* outputs,
                                  std::vector<Value*>* debug) const {
  const auto add = [&](const TensorImpl* tensor, std::vector<Value*>* values) -> Status {
    WOOTZ_ASSIGN_OR_RETURN(Value * value, scope.value(tensor));
    values->push_back(value);
    return Status();
  };
  for (const TensorImpl* input : inputs_) WOOTZ_RETURN_IF_ERROR(scope.value(input).status());
  for (const auto& layer : layers_)
    if (layer->has_effects()) WOOTZ_RETURN_IF_ERROR(scope.ensure(*layer));
  for (const TensorImpl* output : outputs_) WOOTZ_RETURN_IF_ERROR(add(output, outputs));
  for (const TensorImpl& tensor : tensors_)
    if (tensor.debug) WOOTZ_RETURN_IF_ERROR(add(&tensor, debug));
  return Status();
}

namespace {

// Every output a value of its own, of the type that was asked for.
Status mark_outputs(Graph& graph, const std::vector<TensorImpl*>& tensors, const std::vector<Value*>& values) {
  for (size_t o = 0; o < tensors.size(); ++o) {
    const TensorImpl& output = *tensors[o];
    Value* value = values[o];
    const bool cast = output.dtype != DType::kInvalid && output.dtype != value->dtype();
    if (cast || graph.is_output(value) || value->kind() == ValueKind::kInput) {
      AttrMap attrs;
      if (cast) attrs.emplace("to", std::string(dtype_name(output.dtype)));
      value->set_name(graph.unique_name(output.name() + "_inner"));
      Node* node = graph.add_node(op(cast ? "Cast" : "Identity"), graph.unique_name("output " + output.name()), {value},
                                  std::move(attrs));
      WOOTZ_RETURN_IF_ERROR(infer_node(*node));
      value = node->output();
      value->set_name(output.name());
    }
    graph.mark_output(value);
  }
  return Status();
}

}  // namespace

Result<std::shared_ptr<Graph>> NetworkImpl::build_graph(std::vector<NamedWeight>* weights) {
  if (outputs_.empty()) return invalid_argument("the network has no output: mark one");
  std::set<std::string> names;
  for (const std::vector<TensorImpl*>* list : {&inputs_, &outputs_})
    for (const TensorImpl* tensor : *list)
      if (!names.insert(tensor->name()).second)
        return invalid_argument("two inputs or outputs have the name '{}'", tensor->name());
  refresh();
  std::unique_ptr<Emission> emitted;
  if (imported_ == nullptr) emitted = std::make_unique<Emission>(name_, true);
  Emission& emission = imported_ != nullptr ? *imported_ : *emitted;
  std::vector<Value*> outputs, debug;
  WOOTZ_RETURN_IF_ERROR(ensure_wanted(emission.root(), &outputs, &debug));
  std::shared_ptr<Graph> graph = emission.graph();
  size_t dead = 0;
  if (imported_ != nullptr) {
    debug.insert(debug.begin(), outputs.begin(), outputs.end());
    graph = copy_part(*emission.graph(), debug);
    for (Value*& output : outputs) output = copy_of(*graph, output);
    dead = static_cast<size_t>(emission.graph()->num_nodes() - graph->num_nodes());
  } else {
    for (const auto& layer : layers_) dead += !emission.root().has_emitted(*layer);
  }
  WOOTZ_RETURN_IF_ERROR(mark_outputs(*graph, outputs_, outputs));
  if (dead > 0) reporter_.verbose(fmt::format("{} layers that no output depends on are left out", dead));
  graph->set_name(name_);
  if (weights != nullptr) *weights = name_weights(emission, *graph);
  return graph;
}

}  // namespace wootz::api
