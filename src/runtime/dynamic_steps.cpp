#include "runtime/dynamic_steps.h"

#include <algorithm>

namespace wootz {

void DynamicSteps::Operands::clear() {
  in.clear();
  inputs.clear();
  constants.clear();
  constant_bytes.clear();
}

void DynamicSteps::Results::clear() {
  dims.clear();
  known.clear();
  memory.clear();
  made.clear();
  is_made.clear();
}

// Notes which extents the step makes, and answers where they go.
class DynamicSteps::Allocator final : public OutputAllocator {
 public:
  Allocator(DynamicSteps& steps, const Step& step, const Run& run) : steps_(steps), step_(step), run_(run) {}
  void* allocate(int output, const Dims& dims) override {
    const auto o = static_cast<size_t>(output);
    if (output < 0 || o >= step_.outputs.size() || !step_.outputs[o].exists()) return nullptr;
    Results& results = steps_.results_;
    results.made[o] = dims;
    results.is_made[o] = 1;
    if (results.known[o] && results.dims[o] == dims) return results.memory[o];  // sinks are asked once
    return steps_.place(step_.outputs[o], dims, run_);
  }

 private:
  DynamicSteps& steps_;
  const Step& step_;
  const Run& run_;
};

DynamicSteps::DynamicSteps(std::shared_ptr<const EngineCore> engine)
    : engine_(std::move(engine)), finds_(program().steps.size()) {
  bound_.resize(program().steps.size());
  IndexedVector<TensorIndex, std::vector<SymbolIndex>> symbols_of(program().tensors.size());
  for (const SymbolIndex k : program().symbols.indices())
    if (program().symbols[k].source == SymbolSource::kDataDependent)
      symbols_of[program().symbols[k].tensor].push_back(k);
  for (const StepIndex s : finds_.indices())
    for (const TensorIndex t : program().steps[s].outputs) {
      if (!t.exists()) continue;
      const std::vector<SymbolIndex>& found = symbols_of[t];
      finds_[s].insert(finds_[s].end(), found.begin(), found.end());
    }
}

void DynamicSteps::start(std::shared_ptr<const ShapePlan> plan) {
  plan_ = std::move(plan);
  symbols_ = plan_->symbols;
  shapes_ = plan_->shapes;
  open_ = plan_->open_exprs;
}

std::optional<Dims> DynamicSteps::dims(TensorIndex t) const {
  if (plan_ == nullptr) return std::nullopt;
  if (plan_->known[t]) return plan_->dims[t];
  return tensor_dims(tensor(t), shapes_);
}

// Where a result of these extents goes: the caller's sink or address for outputs, a growing buffer otherwise.
void* DynamicSteps::place(TensorIndex t, const Dims& dims, const Run& run) {
  // Memory for other extents than the plan's would be read as if it had the plan's.
  if (const std::optional<Dims> planned = this->dims(t); planned && !(*planned == dims)) return nullptr;
  const Location& where = plan_->locations[t];
  const size_t bytes = tensor_bytes(tensor(t), dims);
  if (where.place == Place::kOutput && tensor(t).kind != TensorKind::kSubview) {
    const auto o = static_cast<size_t>(where.index);
    OutputSink* const sink = run.bindings.output_sink(o);
    const bool asked = plan_->known[t] != 0;  // before the first step
    if (sink != nullptr && !asked)
      run.memory.set_output(o, sink->reallocate(where.index, run.bindings.output_address(o), bytes, dims));
    return run.memory.output(o);  // where later steps read it; null may be the answer for an empty one
  }
  if (where.place != Place::kDynamic) return run.memory.address(t);
  return run.memory.grow(t, bytes, run.stream);
}

// A view was checked when the shapes were resolved, unless what it views had no extents then.
Status DynamicSteps::check_view(TensorIndex t, const Dims& dims) const {
  if (plan_->known[t]) return Status();
  TensorIndex root = t;
  while (tensor(root).kind == TensorKind::kView) root = tensor(root).view_of;
  const std::optional<Dims> source = root == t ? dims : this->dims(root);
  if (source && checked_volume(dims.span()).ok() && source->volume() == dims.volume()) return Status();
  return invalid_argument("'{}' of shape {} cannot be seen as '{}' of shape {}", tensor(root).name,
                          source ? source->to_string() : "unknown", tensor(t).name, dims.to_string());
}

Status DynamicSteps::gather_operands(const Step& step, const Run& run) {
  operands_.clear();
  for (const TensorIndex t : step.inputs) {
    const PlanConstant* constant = nullptr;
    if (t.exists()) {
      const std::optional<Dims> dims = this->dims(t);
      if (!dims) return internal_error("extents of '{}' are unknown", tensor(t).name);
      WOOTZ_RETURN_IF_ERROR(check_view(t, *dims));
      if (tensor(t).kind == TensorKind::kConstant) constant = &program().constants[tensor(t).constant];
      operands_.in.push_back(*dims);
    } else {
      operands_.in.emplace_back();
    }
    operands_.inputs.push_back(!t.exists() ? nullptr : run.memory.address(t));
    operands_.constants.push_back(constant != nullptr ? constant->data : nullptr);  // binding reads them on the host
    operands_.constant_bytes.push_back(constant != nullptr ? constant->bytes : 0);
  }
  return Status();
}

// Memory for the results whose extents are known before the step runs.
Status DynamicSteps::place_results(const Step& step, const Run& run) {
  results_.clear();
  results_.made.resize(step.outputs.size());
  results_.is_made.assign(step.outputs.size(), 0);
  for (const TensorIndex t : step.outputs) {
    const std::optional<Dims> dims = !t.exists() ? std::nullopt : this->dims(t);
    void* memory = nullptr;
    if (dims) {
      WOOTZ_RETURN_IF_ERROR(checked_volume(dims->span()).status());
      memory = place(t, *dims, run);
      if (memory == nullptr && dims->volume() != 0)
        return make_error(Code::kInvalidState, "no memory was given for output '{}'", tensor(t).name);
    }
    results_.dims.push_back(dims.value_or(Dims{}));
    results_.known.push_back(dims.has_value());
    results_.memory.push_back(memory);
  }
  return Status();
}

Result<const Call*> DynamicSteps::bind(StepIndex s) {
  std::list<Bound>& bound = bound_[s];
  const auto seen = std::find_if(bound.begin(), bound.end(),
                                 [&](const Bound& b) { return b.in == operands_.in && b.out == results_.dims; });
  if (seen != bound.end()) {
    bound.splice(bound.begin(), bound, seen);
    return bound.front().call.get();
  }
  WOOTZ_ASSIGN_OR_RETURN(
      std::unique_ptr<Call> call,
      engine_->kernel(s).bind({operands_.in, results_.dims, operands_.constants, operands_.constant_bytes}));
  if (bound.size() >= std::max<size_t>(1, engine_->options().cached_shapes)) bound.pop_back();
  bound.push_front({operands_.in, results_.dims, std::move(call)});
  return bound.front().call.get();
}

// Evaluates the expressions that the symbols known now determine.
Status DynamicSteps::evaluate_open() {
  size_t left = 0;
  for (const ExpressionIndex e : open_) {
    WOOTZ_ASSIGN_OR_RETURN(const bool known, evaluate_shape(program().exprs, e, symbols_, &shapes_));
    if (!known) open_[left++] = e;
  }
  open_.resize(left);
  return Status();
}

// Takes over the extents that the step found.
Status DynamicSteps::learn(StepIndex s, const Run& run) {
  const Step& step = program().steps[s];
  bool learned = false;
  for (size_t o = 0; o < step.outputs.size(); ++o) {
    if (!results_.is_made[o]) continue;
    const Dims& made = results_.made[o];
    for (const SymbolIndex k : finds_[s]) {
      const PlanSymbol& symbol = program().symbols[k];
      if (symbol.tensor != step.outputs[o] || symbol.axis < 0 || symbol.axis >= made.rank()) continue;
      symbols_[k.position()] = made[static_cast<size_t>(symbol.axis)];
      learned = true;
    }
  }
  if (!learned) return Status();
  WOOTZ_RETURN_IF_ERROR(evaluate_open());
  WOOTZ_RETURN_IF_ERROR(check_shapes(program(), shapes_));
  for (const TensorIndex t : plan_->open_shape_tensors) run.memory.fill_shape_tensor(t, shapes_);
  return run.memory.upload_shape_tensors(run.stream);
}

Status DynamicSteps::check_results(const Step& step) const {
  for (size_t o = 0; o < step.outputs.size(); ++o) {
    if (!results_.is_made[o]) continue;
    const std::optional<Dims> planned = dims(step.outputs[o]);
    if (planned && !(*planned == results_.made[o]))
      return invalid_argument("'{}' came out as {}, the plan makes it {}", tensor(step.outputs[o]).name,
                              results_.made[o].to_string(), planned->to_string());
  }
  return Status();
}

Status DynamicSteps::run(StepIndex s, const Run& run) {
  const Step& step = program().steps[s];
  WOOTZ_RETURN_IF_ERROR(gather_operands(step, run));
  WOOTZ_RETURN_IF_ERROR(place_results(step, run));
  WOOTZ_ASSIGN_OR_RETURN(const Call* const call, bind(s));
  void* workspace = run.memory.workspace(s);
  if (call->workspace() > plan_->workspace_bytes) {
    workspace = run.memory.scratch(call->workspace(), run.stream);
    if (workspace == nullptr)
      return make_error(Code::kResourceExhausted, "no scratch memory of {} bytes", call->workspace());
  }
  Allocator allocator(*this, step, run);
  WOOTZ_RETURN_IF_ERROR(
      run_call(*call, {operands_.inputs.data(), results_.memory.data(), workspace, &allocator, run.stream}, run.state));
  WOOTZ_RETURN_IF_ERROR(learn(s, run));
  return check_results(step);
}

}  // namespace wootz
