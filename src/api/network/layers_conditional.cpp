#include "api/network/add.h"
#include "api/network/conditional.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace wootz::api {

using namespace nvinfer1;  // NOLINT: implements that interface, line by line

namespace {

class ConditionLayer final : public LayerBase<IConditionLayer> {
 public:
  ConditionLayer(NetworkImpl& network, ConditionalImpl* conditional)
      : LayerBase(network, LayerType::kCONDITION, "Condition"), conditional_(conditional) {}
  IIfConditional* getConditional() const noexcept override { return conditional_; }
  Status emit(Emit&) override { return Status(); }

 private:
  ConditionalImpl* conditional_;
};

class InputLayer final : public LayerBase<IIfConditionalInputLayer> {
 public:
  InputLayer(NetworkImpl& network, ConditionalImpl* conditional)
      : LayerBase(network, LayerType::kCONDITIONAL_INPUT, "ConditionalInput"), conditional_(conditional) {}
  IIfConditional* getConditional() const noexcept override { return conditional_; }
  Status emit(Emit& e) override {
    e.out(0, e.op("Identity", {e.in(0)}));
    return e.status();
  }

 private:
  ConditionalImpl* conditional_;
};

class OutputLayer final : public LayerBase<IIfConditionalOutputLayer> {
 public:
  OutputLayer(NetworkImpl& network, ConditionalImpl* conditional)
      : LayerBase(network, LayerType::kCONDITIONAL_OUTPUT, "ConditionalOutput"), conditional_(conditional) {}
  IIfConditional* getConditional() const noexcept override { return conditional_; }
  Status emit(Emit& e) override { return conditional_->emit(e); }
  void collect_needs(std::vector<TensorImpl*>* needs) const override { conditional_->collect_needs(needs); }

 private:
  ConditionalImpl* conditional_;
};

}  // namespace

void ConditionalImpl::collect_needs(std::vector<TensorImpl*>* needs) const {
  if (condition_ != nullptr) needs->push_back(condition_->inputs[0]);
  for (const LayerCore* input : inputs_) needs->push_back(input->inputs[0]);
}

Result<std::shared_ptr<Graph>> ConditionalImpl::emit_branch(EmissionScope& scope, size_t side,
                                                            std::vector<Value*>* node_inputs) {
  auto graph = std::make_shared<Graph>(fmt::format("{}_{}", name_, side == 0 ? "then" : "else"));
  graph->share_symbols(scope.graph());
  std::vector<const TensorImpl*> roots, ends;
  for (const LayerCore* input : inputs_) roots.push_back(input->outputs[0]);
  for (const LayerCore* output : outputs_) ends.push_back(output->inputs[side]);
  const EmissionScope::TensorSet inside = tensors_between(roots, ends, {});
  EmissionScope branch(scope.emission(), *graph, &scope, &inside);
  branch.loop = scope.loop;
  for (const LayerCore* output : outputs_) {
    WOOTZ_ASSIGN_OR_RETURN(Value * v, branch.value(output->inputs[side]));
    if (v->producer() == nullptr || graph->is_output(v)) {  // straight from outside, or given out twice
      Node* copy = graph->add_node(op("Identity"), graph->unique_name(output->name() + "/copy"), {v}, {});
      WOOTZ_RETURN_IF_ERROR(infer_node(*copy));
      v = copy->output();
    }
    graph->mark_output(v);
  }
  node_inputs->insert(node_inputs->end(), branch.captured().begin(), branch.captured().end());
  return graph;
}

Status ConditionalImpl::emit(Emit& e) {
  if (condition_ == nullptr) return e.fail("conditional '{}' has no condition", name_);
  EmissionScope& scope = e.scope();
  WOOTZ_ASSIGN_OR_RETURN(Value * condition, scope.value(condition_->inputs[0]));
  std::vector<Value*> values{condition};
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Graph> then_branch, emit_branch(scope, 0, &values));
  WOOTZ_ASSIGN_OR_RETURN(std::shared_ptr<Graph> else_branch, emit_branch(scope, 1, &values));
  Node* node = e.node("If", std::move(values), {{"then_branch", then_branch}, {"else_branch", else_branch}},
                      static_cast<int>(outputs_.size()));
  if (node == nullptr) return e.status();
  e.give(outputs_, [&](size_t o) { return node->output(static_cast<int>(o)); });
  return e.status();
}

IConditionLayer* ConditionalImpl::setCondition(ITensor& condition) noexcept {
  return add_or_null<IConditionLayer>(network_, "IIfConditional::setCondition", [&]() -> Result<IConditionLayer*> {
    if (condition_ != nullptr)
      return make_error(Code::kInvalidState, "conditional '{}' has a condition already", name_);
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&condition}));
    auto* layer = network_.add_layer<ConditionLayer>(std::move(inputs), 0, this);
    condition_ = layer;
    return layer;
  });
}

IIfConditionalOutputLayer* ConditionalImpl::addOutput(ITensor& trueSubgraphOutput,
                                                      ITensor& falseSubgraphOutput) noexcept {
  return add_or_null<
      IIfConditionalOutputLayer>(network_, "IIfConditional::addOutput", [&]() -> Result<IIfConditionalOutputLayer*> {
    WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&trueSubgraphOutput, &falseSubgraphOutput}));
    auto* layer = network_.add_layer<OutputLayer>(std::move(inputs), 1, this);
    outputs_.push_back(layer);
    network_.changed(nullptr);
    return layer;
  });
}

IIfConditionalInputLayer* ConditionalImpl::addInput(ITensor& input) noexcept {
  return add_or_null<IIfConditionalInputLayer>(
      network_, "IIfConditional::addInput", [&]() -> Result<IIfConditionalInputLayer*> {
        WOOTZ_ASSIGN_OR_RETURN(std::vector<TensorImpl*> inputs, network_.own({&input}));
        auto* layer = network_.add_layer<InputLayer>(std::move(inputs), 1, this);
        inputs_.push_back(layer);
        network_.changed(nullptr);
        return layer;
      });
}

void ConditionalImpl::setName(const char* name) noexcept {
  attempt(network_.reporter(), "IIfConditional::setName", [&]() -> Status {
    if (name == nullptr) return invalid_argument("the name is null");
    name_ = name;
    return Status();
  });
}

IIfConditional* NetworkImpl::addIfConditional() noexcept {
  return add_or_null<IIfConditional>(*this, "INetworkDefinition::addIfConditional", [&]() -> Result<IIfConditional*> {
    return conditionals
        .emplace_back(std::make_unique<ConditionalImpl>(*this, fmt::format("conditional_{}", conditionals.size())))
        .get();
  });
}

}  // namespace wootz::api
