#include "api/network/emission.h"

#include <algorithm>

#include "ops/infer.h"

namespace wootz::api {

namespace {
constexpr int64_t kMostTrackedValues = 64;
}

Value* EmissionScope::find(const TensorImpl* tensor) const {
  const auto it = values_.find(tensor);
  return it == values_.end() ? nullptr : it->second;
}

Result<Value*> EmissionScope::enter(const TensorImpl* tensor) {
  if (parent_ != nullptr && &parent_->graph_ == &graph_) {
    WOOTZ_ASSIGN_OR_RETURN(Value * v, parent_->value(tensor));
    set(tensor, v);
    return v;
  }
  if (tensor->constant.valid()) {
    Value* v = graph_.add_constant(graph_.unique_name(tensor->name()), tensor->constant);
    set(tensor, v);
    return v;
  }
  if (parent_ != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(Value * outer, parent_->value(tensor));
    Value* v = nullptr;
    if (outer->is_constant()) {
      v = graph_.add_constant(graph_.unique_name(outer->name()), outer->constant());
      emission_.repeat_weights(*outer, *v);
    } else {
      v = graph_.add_input(graph_.unique_name(outer->name()), outer->dtype(), outer->shape());
      v->set_shape_values(outer->shape_values());
      captured_.push_back(outer);
    }
    set(tensor, v);
    return v;
  }
  if (!tensor->is_input) return invalid_argument("tensor '{}' was removed from the network", tensor->name());
  WOOTZ_ASSIGN_OR_RETURN(Value * v, as_imported(*tensor, emission_.add_input(*tensor)));
  set(tensor, v);
  return v;
}

Result<Value*> EmissionScope::value(const TensorImpl* tensor) {
  if (Value* found = find(tensor)) return found;
  if (tensor->producer == nullptr || !is_inside(tensor)) return enter(tensor);
  WOOTZ_RETURN_IF_ERROR(ensure(*tensor->producer));
  if (Value* found = find(tensor)) return found;
  return tensor->producer->at(internal_error("output {} was not given", tensor->index));
}

Status EmissionScope::ensure(const LayerCore& wanted) {
  // Depth first over layers, without recursion: networks may be deep.
  std::unordered_map<const LayerCore*, State> states;
  std::vector<const LayerCore*> stack{&wanted};
  std::vector<TensorImpl*> needs;
  while (!stack.empty()) {
    const LayerCore* layer = stack.back();
    if (states[layer] == State::kDone || nodes_.count(layer) != 0) {
      states[layer] = State::kDone;
      stack.pop_back();
      continue;
    }
    if (const Status* failure = emission_.failure(*layer)) return *failure;
    bool ready = true;
    needs.clear();
    layer->collect_needs(&needs);
    for (const TensorImpl* input : needs) {
      if (input == nullptr || find(input) != nullptr) continue;
      if (input->producer == nullptr || !is_inside(input)) {
        WOOTZ_ASSIGN_OR_RETURN([[maybe_unused]] Value * entered, enter(input));
        continue;
      }
      ready = false;
      if (states[input->producer] == State::kOpen)
        return layer->at(invalid_argument("input '{}' depends on the layer's own output", input->name()));
      stack.push_back(input->producer);
    }
    if (!ready) {
      states[layer] = State::kOpen;
      continue;
    }
    if (Status status = emit_layer(*layer); !status.ok()) {
      emission_.note_failure(*layer, status);
      return status;
    }
    states[layer] = State::kDone;
    stack.pop_back();
  }
  return Status();
}

namespace {

// What the inputs of an attribute's subgraph are fed with: an If's branches take the node's inputs after the
// condition, one after the other. Others run with what changes from run to run.
std::vector<Value*> fed_with(std::string_view op, std::string_view attr, const AttrMap& attrs,
                             const std::vector<Value*>& inputs) {
  const auto count = [&](const char* name) -> size_t {
    const auto found = attrs.find(name);
    const auto* graph = found == attrs.end() ? nullptr : std::get_if<std::shared_ptr<Graph>>(&found->second);
    return graph == nullptr || *graph == nullptr ? 0 : (*graph)->inputs().size();
  };
  if (op != "If" || inputs.size() != 1 + count("then_branch") + count("else_branch")) return {};
  const auto middle = inputs.begin() + 1 + static_cast<ptrdiff_t>(count("then_branch"));
  return attr == "then_branch" ? std::vector<Value*>(inputs.begin() + 1, middle)
                               : std::vector<Value*>(middle, inputs.end());
}

std::optional<bool> known_truth(const Value* condition) {
  if (condition == nullptr) return std::nullopt;
  if (condition->is_constant() && condition->constant().volume() == 1) return condition->constant().get_i64(0) != 0;
  const auto& values = condition->shape_values();
  if (!values || values->size() != 1 || !(*values)[0].is_const()) return std::nullopt;
  return (*values)[0].value() != 0;
}

}  // namespace

// An If of which these shapes take one branch: its nodes. The other one may be impossible with them.
Status EmissionScope::emit_taken(const LayerCore& layer, Emit& e, const std::vector<Value*>& inputs, bool taken,
                                 const std::string& why) {
  const char* const attr = taken ? "then_branch" : "else_branch";
  const auto& branch = std::get<std::shared_ptr<Graph>>(layer.origin->attrs.at(attr));
  std::vector<Value*> fed = fed_with("If", attr, layer.origin->attrs, inputs);
  const AttrMap guard{{"expected", int64_t{taken}}, {"message", why}};
  for (Value*& v : fed)
    if (!why.empty()) v = e.op("Require", {inputs[0], v}, guard);
  if (e.failed()) return e.status();
  WOOTZ_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> copy, emission_.copy_subgraph(*branch, graph_, fed));
  const std::vector<Value*> results = e.inlined(*copy, fed);
  for (size_t o = 0; o < results.size() && o < layer.outputs.size(); ++o) {
    if (layer.outputs[o]->origin_shape)
      emission_.match_symbols(*layer.outputs[o]->origin_shape, copy->outputs()[o]->shape());
    const bool guarded = why.empty() || !fed.empty();
    e.out(o, guarded ? e.op("Identity", {results[o]}) : e.op("Require", {inputs[0], results[o]}, guard));
  }
  return e.status();
}

Status EmissionScope::emit_origin(const LayerCore& layer, Emit& e) {
  const Origin& origin = *layer.origin;
  std::vector<Value*> inputs;
  for (const TensorImpl* input : origin.inputs) inputs.push_back(input == nullptr ? nullptr : e.operand(input));
  if (std::string_view(origin.op->name) == "If" && !inputs.empty())
    if (const std::optional<bool> taken = known_truth(inputs[0])) return emit_taken(layer, e, inputs, *taken);
  AttrMap attrs = origin.attrs;
  std::map<std::string, Status> failed;
  for (auto& [name, attr] : attrs) {
    auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr);
    if (inner == nullptr || *inner == nullptr) continue;
    const std::vector<Value*> fed = fed_with(origin.op->name, name, origin.attrs, inputs);
    Result<std::shared_ptr<Graph>> copy = emission_.copy_subgraph(**inner, graph_, fed);
    if (copy.ok())
      *inner = std::move(copy).value();
    else if (std::string_view(origin.op->name) == "If")
      failed.emplace(name, copy.status());
    else
      return copy.status();
  }
  // A branch that is impossible with these shapes leaves the other one.
  if (failed.size() > 1) return failed.begin()->second;
  if (!failed.empty()) {
    const auto& [name, status] = *failed.begin();
    const std::string why =
        fmt::format("node '{}' (If) chooses its {}, which cannot be computed: {}",
                    origin.provenance.empty() ? layer.name() : origin.provenance.back(), name, status.message());
    return emit_taken(layer, e, inputs, name == "else_branch", why);
  }
  Node* node = e.node(origin.op->name, std::move(inputs), std::move(attrs), origin.outputs);
  for (size_t i = 0; node != nullptr && i < layer.outputs.size(); ++i) {
    const TensorImpl& tensor = *layer.outputs[i];
    if (tensor.origin_shape) emission_.match_symbols(*tensor.origin_shape, node->output(static_cast<int>(i))->shape());
    e.out(i, node->output(static_cast<int>(i)));
  }
  return e.status();
}

void EmissionScope::take_outputs(const LayerCore& layer, Emit& e) {
  for (size_t i = 0; i < layer.outputs.size() && i < e.outputs_.size(); ++i) {
    if (e.outputs_[i] == nullptr) continue;
    e.outputs_[i]->set_name(layer.outputs[i]->name());
    set(layer.outputs[i], e.outputs_[i]);
  }
  nodes_[&layer] = std::move(e.sink.nodes);
  restore_names(layer);
}

Status EmissionScope::emit_layer(const LayerCore& layer) {
  Emit e(*this, layer);
  WOOTZ_RETURN_IF_ERROR(emit_nodes(layer, e));
  take_outputs(layer, e);
  if (parent_ != nullptr) emission_.note_in_body(layer);
  return Status();
}

void EmissionScope::mark_emitted(const LayerCore& layer, std::vector<Node*> nodes) {
  nodes_.try_emplace(&layer, std::move(nodes));
}

void EmissionScope::mark_shared(const LayerCore& layer) {
  nodes_.try_emplace(&layer);
  shared_.insert(&layer);
  if (parent_ != nullptr) emission_.note_in_body(layer);
}

bool may_decide_shapes(const TensorImpl& input) {
  const bool integer = input.dtype == DType::kI32 || input.dtype == DType::kI64;
  const int32_t rank = input.dims.nbDims;
  return integer && (rank == 0 || (rank == 1 && input.dims.d[0] >= 0 && input.dims.d[0] <= kMostTrackedValues));
}

EmissionScope::TensorSet tensors_between(const std::vector<const TensorImpl*>& roots,
                                         const std::vector<const TensorImpl*>& ends,
                                         const std::unordered_set<const LayerCore*>& stop) {
  std::unordered_map<const TensorImpl*, bool> depends;  // known tensors
  for (const TensorImpl* root : roots) depends[root] = true;
  std::vector<std::pair<const TensorImpl*, bool>> stack;  // a tensor, and whether what it needs is known by now
  for (const TensorImpl* end : ends) stack.emplace_back(end, false);
  std::vector<TensorImpl*> needs;
  while (!stack.empty()) {
    const auto [tensor, ready] = stack.back();
    stack.pop_back();
    if (tensor == nullptr || (!ready && depends.count(tensor) != 0)) continue;
    if (tensor->producer == nullptr || stop.count(tensor->producer) != 0) {
      depends.emplace(tensor, false);
      continue;
    }
    needs = tensor->producer->inputs;
    tensor->producer->collect_needs(&needs);
    if (ready) {
      bool any = false;
      for (const TensorImpl* need : needs) any = any || (need != nullptr && depends[need]);
      depends[tensor] = any || depends[tensor];
      continue;
    }
    depends.emplace(tensor, false);  // breaks cycles, which are found when emitting
    stack.emplace_back(tensor, true);
    for (const TensorImpl* need : needs) stack.emplace_back(need, false);
  }
  EmissionScope::TensorSet inside;
  for (const auto& [tensor, inner] : depends)
    if (inner) inside.insert(tensor);
  return inside;
}

Emission::Emission(const std::string& name, bool for_build)
    : for_build_(for_build), graph_(std::make_shared<Graph>(name)), root_(*this, *graph_, nullptr, nullptr) {}

Emission::Emission(std::shared_ptr<Graph> imported)
    : for_build_(true), graph_(std::move(imported)), root_(*this, *graph_, nullptr, nullptr) {
  while (!graph_->outputs().empty()) graph_->unmark_output(graph_->outputs().back());
  for (size_t s = 0; s < graph_->symbols().size(); ++s) {
    const Dim dim = Dim::symbol(static_cast<SymbolId>(s));
    const Symbol& symbol = graph_->symbols()[s];
    symbols_.emplace(static_cast<SymbolId>(s), dim);
    if (symbol.kind == SymbolKind::kInputDim && !symbol.name.empty()) named_dims_.emplace(symbol.name, dim);
  }
}

const Status* Emission::failure(const LayerCore& layer) const {
  const auto it = failures_.find(&layer);
  return it == failures_.end() ? nullptr : &it->second;
}

Value* Emission::add_input(const TensorImpl& tensor) {
  Value* v = graph_->add_input(tensor.name(), tensor.dtype, {});
  Shape shape;
  for (int32_t a = 0; a < tensor.dims.nbDims; ++a) {
    if (tensor.dims.d[a] >= 0) {
      shape.emplace_back(tensor.dims.d[a]);
      continue;
    }
    const std::string& name = tensor.dim_names[static_cast<size_t>(a)];
    if (const auto it = named_dims_.find(name); !name.empty() && it != named_dims_.end()) {
      shape.push_back(it->second);
      continue;
    }
    Symbol symbol;
    symbol.name = name.empty() ? fmt::format("{}.{}", tensor.name(), a) : name;
    symbol.kind = SymbolKind::kInputDim;
    symbol.value_id = v->id();
    symbol.index = a;
    shape.push_back(Dim::symbol(graph_->add_symbol(std::move(symbol))));
    if (!name.empty()) named_dims_.emplace(name, shape.back());
  }
  v->set_type(tensor.dtype, shape);
  if (tensor.origin_shape) match_symbols(*tensor.origin_shape, shape);
  if (!for_build_ && may_decide_shapes(tensor)) {  // no profile says otherwise
    const int64_t count = tensor.dims.nbDims == 0 ? 1 : tensor.dims.d[0];
    std::vector<Dim> values;
    for (int64_t e = 0; e < count; ++e) {
      Symbol symbol;
      symbol.name = fmt::format("{}[{}]", tensor.name(), e);
      symbol.kind = SymbolKind::kInputValue;
      symbol.value_id = v->id();
      symbol.index = static_cast<int>(e);
      values.push_back(Dim::symbol(graph_->add_symbol(std::move(symbol))));
    }
    v->set_shape_values(std::move(values));
  }
  return v;
}

void Emission::match_symbols(const Shape& there, const Shape& here) {
  for (size_t a = 0; a < there.size() && a < here.size(); ++a) {
    SymbolId id = 0;
    if (there[a].is_symbol(&id)) symbols_.emplace(id, here[a]);
  }
}

void Emission::repeat_weights(const Value& value, const Value& copy) {
  const auto found = std::find_if(weights_.begin(), weights_.end(), [&](const EmittedWeights& w) {
    return w.graph == value.graph() && w.value_id == value.id();
  });
  if (found == weights_.end()) return;
  EmittedWeights repeated = *found;
  repeated.graph = copy.graph();
  repeated.value_id = copy.id();
  weights_.push_back(repeated);
}

Result<std::shared_ptr<Graph>> Emission::copy_subgraph(const Graph& from, Graph& outer,
                                                       const std::vector<Value*>& fed) {
  auto copy = std::make_shared<Graph>(from.name());
  copy->share_symbols(outer);
  std::unordered_map<const Value*, Value*> values;
  const auto translate = [&](const Shape& shape) {
    Shape result;
    for (const Dim& d : shape)
      result.push_back(d.substitute([&](SymbolId id) -> Dim {
        if (const auto it = symbols_.find(id); it != symbols_.end()) return it->second;
        Symbol symbol;  // a size inside the subgraph
        if (id >= 0 && static_cast<size_t>(id) < from.symbols().size())
          symbol = from.symbols()[static_cast<size_t>(id)];
        symbol.kind = SymbolKind::kDataDependent;
        symbol.value_id = -1;
        const Dim made = Dim::symbol(outer.add_symbol(std::move(symbol)));
        symbols_.emplace(id, made);
        return made;
      }));
    return result;
  };
  for (size_t i = 0; i < from.inputs().size(); ++i) {
    const Value *v = from.inputs()[i], *outside = fed.size() == from.inputs().size() ? fed[i] : nullptr;
    const bool same = outside != nullptr && outside->dtype() == v->dtype() && outside->rank() == v->rank();
    Value* made = copy->add_input(v->name(), v->dtype(), same ? outside->shape() : translate(v->shape()));
    if (same) {
      made->set_shape_values(outside->shape_values());
      match_symbols(v->shape(), made->shape());
    }
    values[v] = made;
  }
  for (const Value* v : from.constants()) values[v] = copy->add_constant(v->name(), v->constant());
  for (const Node* node = from.first(); node != nullptr; node = node->next()) {
    std::vector<Value*> inputs;
    for (const Value* v : node->inputs()) inputs.push_back(v == nullptr ? nullptr : values[v]);
    AttrMap attrs = node->attrs();
    for (auto& [name, attr] : attrs) {
      auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr);
      if (inner == nullptr || *inner == nullptr) continue;
      WOOTZ_ASSIGN_OR_RETURN(*inner,
                             copy_subgraph(**inner, *copy, fed_with(node->op().name, name, node->attrs(), inputs)));
    }
    Node* made = copy->add_node(node->op(), node->name(), std::move(inputs), std::move(attrs), node->num_outputs());
    for (const std::string& name : node->provenance()) made->add_provenance(name);
    for (int o = 0; o < node->num_outputs(); ++o) {
      made->output(o)->set_name(node->output(o)->name());
      values[node->output(o)] = made->output(o);
    }
    WOOTZ_RETURN_IF_ERROR(infer_node(*made));
    for (int o = 0; o < node->num_outputs(); ++o) match_symbols(node->output(o)->shape(), made->output(o)->shape());
  }
  for (const Value* v : from.outputs()) copy->mark_output(values[v]);
  return copy;
}

}  // namespace wootz::api
