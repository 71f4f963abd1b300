#include "api/network/add.h"
#include "api/network/loop.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

// In front of the loop (shape queries, the condition before the first iteration) it is its first value.
class RecurrenceLayer final : public LayerBase<IRecurrenceLayer> {
 public:
  RecurrenceLayer(NetworkImpl& network, LoopImpl* loop)
      : LayerBase(network, LayerType::kRECURRENCE, "Recurrence"), loop_(loop) {
    most_inputs = 2;
  }
  ILoop* getLoop() const noexcept override { return loop_; }
  Status emit(Emit& e) override {
    e.out(0, e.op("Identity", {e.in(0)}));
    return e.status();
  }
  void collect_needs(std::vector<TensorImpl*>* needs) const override { needs->push_back(inputs[0]); }

 private:
  LoopImpl* loop_;
};

class TripLimitLayer final : public LayerBase<ITripLimitLayer> {
 public:
  TripLimitLayer(NetworkImpl& network, LoopImpl* loop, TripLimit limit)
      : LayerBase(network, LayerType::kTRIP_LIMIT, "TripLimit"), loop_(loop), limit_(limit) {}
  ILoop* getLoop() const noexcept override { return loop_; }
  TripLimit getTripLimit() const noexcept override { return limit_; }
  Status emit(Emit&) override { return Status(); }

 private:
  LoopImpl* loop_;
  TripLimit limit_;
};

class IteratorLayer final : public LayerBase<IIteratorLayer> {
 public:
  IteratorLayer(NetworkImpl& network, LoopImpl* loop, int32_t axis, bool reverse)
      : LayerBase(network, LayerType::kITERATOR, "Iterator"), loop_(loop), axis_(axis), reverse_(reverse) {}
  ILoop* getLoop() const noexcept override { return loop_; }
  WOOTZ_SETTING(int32_t, Axis, axis_)
  WOOTZ_SETTING(bool, Reverse, reverse_)
  Status emit(Emit& e) override {
    WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(axis_, e.in(0)->rank()));
    const bool running = e.scope().loop == loop_ && e.scope().iteration != nullptr;
    Value* at = running ? e.scope().iteration : e.scalar(DType::kI64, 0);
    if (reverse_ || (running && e.scope().past_end)) {
      Value* length = e.op("Shape", {e.in(0)}, {{"start", int64_t{axis}}, {"end", int64_t{axis} + 1}});
      Value* last = e.op("Sub", {e.squeeze(length, {0}), e.scalar(DType::kI64, 1)});
      if (running && e.scope().past_end) at = e.op("Min", {at, last});  // after the end it is not read
      if (reverse_) at = e.op("Sub", {last, at});
    }
    e.out(0, e.op("Gather", {e.in(0), at}, {{"axis", int64_t{axis}}}));
    return e.status();
  }

 private:
  LoopImpl* loop_;
  int32_t axis_;
  bool reverse_;
};

}  // namespace

class LoopOutputLayer final : public LayerBase<ILoopOutputLayer> {
 public:
  LoopOutputLayer(NetworkImpl& network, LoopImpl* loop, LoopOutput kind, int32_t axis)
      : LayerBase(network, LayerType::kLOOP_OUTPUT, "LoopOutput"), loop_(loop), output_(kind), axis_(axis) {
    most_inputs = 2;
  }
  ILoop* getLoop() const noexcept override { return loop_; }
  LoopOutput getLoopOutput() const noexcept override { return output_; }
  WOOTZ_SETTING(int32_t, Axis, axis_)
  Status emit(Emit& e) override { return loop_->emit(e); }
  void collect_needs(std::vector<TensorImpl*>* needs) const override { loop_->collect_needs(needs); }

 private:
  LoopImpl* loop_;
  LoopOutput output_;
  int32_t axis_;
};

struct LoopImpl::Body {
  std::shared_ptr<Graph> graph;
  std::vector<Value*> captured;
};

void LoopImpl::collect_needs(std::vector<TensorImpl*>* needs) const {
  for (const LayerCore* recurrence : recurrences_) needs->push_back(recurrence->inputs[0]);
  for (const LayerCore* iterator : iterators_) needs->push_back(iterator->inputs[0]);
  if (count_ != nullptr) needs->push_back(count_->inputs[0]);
}

// A trip count or condition: one element, of rank 0.
Result<Value*> LoopImpl::scalar(Emit& e, Value* v, DType dtype) const {
  if (v->rank() == 1 && v->shape()[0] == Dim(1)) v = e.squeeze(v, {0});
  if (v != nullptr && v->rank() != 0)
    return invalid_argument("loop '{}': trip limit '{}' has shape {}, a scalar is expected", name_, v->name(),
                            shape_to_string(v->shape()));
  return e.cast(v, dtype);
}

// The tensors of the body: what depends on recurrences and iterators, up to what leaves the loop.
EmissionScope::TensorSet LoopImpl::inner_tensors() const {
  std::vector<const TensorImpl*> roots, ends;
  std::unordered_set<const LayerCore*> stop;
  for (const LayerCore* layer : recurrences_) roots.push_back(layer->outputs[0]);
  for (const LayerCore* layer : iterators_) roots.push_back(layer->outputs[0]);
  for (const LoopOutputLayer* layer : outputs_) {
    ends.push_back(layer->inputs[0]);
    stop.insert(layer);
  }
  for (const LayerCore* layer : recurrences_) ends.push_back(layer->inputs[1]);
  if (condition_ != nullptr) ends.push_back(condition_->inputs[0]);
  return tensors_between(roots, ends, stop);
}

// What the condition will be before the next iteration, whose states are `next`.
Result<Value*> LoopImpl::emit_condition(EmissionScope& inner, const EmissionScope::TensorSet& inside,
                                        const std::vector<Value*>& next) {
  Graph& graph = inner.graph();
  if (condition_ == nullptr)
    return graph.add_constant(graph.unique_name(name_ + "_true"), HostTensor::scalar<bool>(true));
  EmissionScope after(inner.emission(), graph, &inner, &inside);
  after.loop = this;
  after.past_end = true;
  const auto one = graph.add_constant(graph.unique_name(name_ + "_one"), HostTensor::scalar<int64_t>(1));
  Node* add = graph.add_node(op("Add"), graph.unique_name(name_ + "_next"), {inner.iteration, one}, {});
  WOOTZ_RETURN_IF_ERROR(infer_node(*add));
  after.iteration = add->output();
  for (size_t r = 0; r < recurrences_.size(); ++r) {
    after.set(recurrences_[r]->outputs[0], next[r]);
    after.mark_shared(*recurrences_[r]);
  }
  WOOTZ_ASSIGN_OR_RETURN(Value * goes_on, after.value(condition_->inputs[0]));
  if (goes_on->dtype() != DType::kBool || !(volume(goes_on->shape()) == Dim(1)))
    return invalid_argument("loop '{}': the condition is {}{}, a bool scalar is expected", name_,
                            dtype_name(goes_on->dtype()), shape_to_string(goes_on->shape()));
  return goes_on;
}

// Each result a value of its own that a node of the body makes.
Status LoopImpl::mark_results(Graph& graph, const std::vector<Value*>& results) const {
  for (Value* v : results) {
    if ((v->producer() == nullptr && !v->is_constant()) || graph.is_output(v)) {
      Node* copy = graph.add_node(op("Identity"), graph.unique_name(name_ + "/copy"), {v}, {});
      WOOTZ_RETURN_IF_ERROR(infer_node(*copy));
      v = copy->output();
    }
    graph.mark_output(v);
  }
  return Status();
}

Status LoopImpl::emit_body(EmissionScope& scope, Body* body) {
  body->graph = std::make_shared<Graph>(name_);
  Graph& graph = *body->graph;
  graph.share_symbols(scope.graph());
  Value* iteration = graph.add_input(name_ + "_iteration", DType::kI64, {});
  graph.add_input(name_ + "_going", DType::kBool, {});
  const EmissionScope::TensorSet inside = inner_tensors();
  EmissionScope inner(scope.emission(), graph, &scope, &inside);
  inner.loop = this;
  inner.iteration = iteration;
  for (const LayerCore* layer : recurrences_) {
    const Value* first = scope.find(layer->inputs[0]);
    Value* state = graph.add_input(graph.unique_name(layer->outputs[0]->name()), first->dtype(), first->shape());
    inner.set(layer->outputs[0], state);
    inner.mark_shared(*layer);
  }
  std::vector<Value*> next;
  for (const LayerCore* layer : recurrences_) {
    WOOTZ_ASSIGN_OR_RETURN(Value * v, inner.value(layer->inputs[1]));
    next.push_back(v);
  }
  WOOTZ_ASSIGN_OR_RETURN(Value * goes_on, emit_condition(inner, inside, next));
  std::vector<Value*> results{goes_on};
  results.insert(results.end(), next.begin(), next.end());
  for (const LoopOutputLayer* layer : outputs_) {
    if (layer->getLoopOutput() == LoopOutput::kLAST_VALUE) continue;
    WOOTZ_ASSIGN_OR_RETURN(Value * v, inner.value(layer->inputs[0]));
    results.push_back(v);
  }
  WOOTZ_RETURN_IF_ERROR(mark_results(graph, results));
  body->captured = inner.captured();
  return Status();
}

// What the node Loop takes: trip count, condition, first states, and what the body reads from outside.
Result<std::vector<Value*>> LoopImpl::emit_operands(Emit& e) {
  EmissionScope& scope = e.scope();
  std::vector<Value*> values(2, nullptr);
  if (count_ != nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(Value * count, scope.value(count_->inputs[0]));
    WOOTZ_ASSIGN_OR_RETURN(values[0], scalar(e, count, DType::kI64));
  }
  if (condition_ != nullptr) {  // in front of the loop, where recurrences are their first values
    WOOTZ_ASSIGN_OR_RETURN(Value * condition, scope.value(condition_->inputs[0]));
    WOOTZ_ASSIGN_OR_RETURN(values[1], scalar(e, condition, DType::kBool));
  }
  for (const LayerCore* layer : recurrences_) {
    WOOTZ_ASSIGN_OR_RETURN(Value * first, scope.value(layer->inputs[0]));
    values.push_back(first);
  }
  return values;
}

// The value of an output layer. `stacked`: the next of the node's outputs that hold every iteration's value.
Result<Value*> LoopImpl::emit_output(Emit& e, const LoopOutputLayer& layer, Node* node, int* stacked) const {
  if (layer.getLoopOutput() == LoopOutput::kLAST_VALUE) {
    const auto state = std::find_if(recurrences_.begin(), recurrences_.end(),
                                    [&](const LayerCore* r) { return r->outputs[0] == layer.inputs[0]; });
    if (state == recurrences_.end())
      return layer.at(invalid_argument("LoopOutput::kLAST_VALUE takes the output of a recurrence of the loop, not '{}'",
                                       layer.inputs[0]->name()));
    // Two outputs may show one state.
    return e.op("Identity", {node->output(static_cast<int>(state - recurrences_.begin()))});
  }
  Value* v = node->output((*stacked)++);
  if (layer.getLoopOutput() == LoopOutput::kREVERSE)
    v = e.op("Slice", {v},
             {{"starts", std::vector<int64_t>{-1}},
              {"ends", std::vector<int64_t>{INT64_MIN / 2}},
              {"axes", std::vector<int64_t>{0}},
              {"steps", std::vector<int64_t>{-1}}});
  if (v == nullptr || layer.getAxis() == 0) return v;
  WOOTZ_ASSIGN_OR_RETURN(const int axis, normalize_axis(layer.getAxis(), v->rank()));
  std::vector<int64_t> perm;
  for (int64_t a = 1; a < v->rank(); ++a) perm.push_back(a);
  perm.insert(perm.begin() + axis, 0);
  return e.transpose(v, perm);
}

Status LoopImpl::emit(Emit& e) {
  if (count_ == nullptr && condition_ == nullptr) return e.fail("loop '{}' has no trip limit", name_);
  for (const LayerCore* layer : recurrences_)
    if (layer->inputs.size() < 2 || layer->inputs[1] == nullptr)
      return e.fail(layer->at(invalid_argument("there is no next value: set input 1")));
  WOOTZ_ASSIGN_OR_RETURN(std::vector<Value*> values, emit_operands(e));
  Body body;
  WOOTZ_RETURN_IF_ERROR(emit_body(e.scope(), &body));
  values.insert(values.end(), body.captured.begin(), body.captured.end());
  const auto states = static_cast<int64_t>(recurrences_.size());
  const auto outputs = static_cast<int>(body.graph->outputs().size()) - 1;
  Node* node = e.node("Loop", std::move(values), {{"body", body.graph}, {"states", states}}, outputs);
  if (node == nullptr) return e.status();
  int stacked = static_cast<int>(states);
  std::vector<Value*> results;
  std::vector<LayerCore*> layers;
  for (LoopOutputLayer* layer : outputs_) {
    Result<Value*> v = emit_output(e, *layer, node, &stacked);
    if (!v.ok()) return e.fail(v.status());
    layers.push_back(layer);
    results.push_back(*v);
  }
  e.give(layers, [&](size_t o) { return results[o]; });
  return e.status();
}

IRecurrenceLayer* LoopImpl::addRecurrence(ITensor& initialValue) noexcept {
  return add_or_null<IRecurrenceLayer>(network_, "ILoop::addRecurrence", [&]() -> Result<IRecurrenceLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&initialValue}));
    auto* layer = network_.add_layer<RecurrenceLayer>(std::move(inputs), 1, this);
    recurrences_.push_back(layer);
    network_.changed(nullptr);
    return layer;
  });
}

ITripLimitLayer* LoopImpl::addTripLimit(ITensor& tensor, TripLimit limit) noexcept {
  return add_or_null<ITripLimitLayer>(network_, "ILoop::addTripLimit", [&]() -> Result<ITripLimitLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&tensor}));
    WOOTZ_RETURN_IF_ERROR(check_enum(limit, "trip limit"));
    LayerCore*& slot = limit == TripLimit::kCOUNT ? count_ : condition_;
    if (slot != nullptr)
      return make_error(Code::kInvalidState, "loop '{}' has a trip limit of this kind already", name_);
    auto* layer = network_.add_layer<TripLimitLayer>(std::move(inputs), 0, this, limit);
    slot = layer;
    network_.changed(nullptr);
    return layer;
  });
}

IIteratorLayer* LoopImpl::addIterator(ITensor& tensor, int32_t axis, bool reverse) noexcept {
  return add_or_null<IIteratorLayer>(network_, "ILoop::addIterator", [&]() -> Result<IIteratorLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&tensor}));
    auto* layer = network_.add_layer<IteratorLayer>(std::move(inputs), 1, this, axis, reverse);
    iterators_.push_back(layer);
    network_.changed(nullptr);
    return layer;
  });
}

ILoopOutputLayer* LoopImpl::addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis) noexcept {
  return add_or_null<ILoopOutputLayer>(network_, "ILoop::addLoopOutput", [&]() -> Result<ILoopOutputLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&tensor}));
    WOOTZ_RETURN_IF_ERROR(check_enum(outputKind, "loop output"));
    auto* layer = network_.add_layer<LoopOutputLayer>(std::move(inputs), 1, this, outputKind, axis);
    outputs_.push_back(layer);
    network_.changed(nullptr);
    return layer;
  });
}

void LoopImpl::setName(const char* name) noexcept {
  attempt(network_.reporter(), "ILoop::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    name_ = name;
    return Status();
  });
}

ILoop* NetworkImpl::addLoop() noexcept {
  return add_or_null<ILoop>(*this, "INetworkDefinition::addLoop", [&]() -> Result<ILoop*> {
    return loops.emplace_back(std::make_unique<LoopImpl>(*this, fmt::format("loop_{}", loops.size()))).get();
  });
}

}  // namespace wootz::api
