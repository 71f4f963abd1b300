#include "lower/context.h"

#include <algorithm>

#include "backend/quantized.h"
#include "ir/text.h"
#include "lower/op_params.h"
#include "ops/registry.h"

namespace wootz {
namespace {

constexpr int64_t kGuess = 16;  // a data-dependent size without a bound: for cost estimates only

ShapeOp shape_op(DimOp op) {
  switch (op) {
    case DimOp::kConst: return ShapeOp::kConst;
    case DimOp::kSymbol: return ShapeOp::kSymbol;
    case DimOp::kAdd: return ShapeOp::kAdd;
    case DimOp::kMul: return ShapeOp::kMul;
    case DimOp::kFloorDiv: return ShapeOp::kFloorDiv;
    case DimOp::kCeilDiv: return ShapeOp::kCeilDiv;
    case DimOp::kMod: return ShapeOp::kMod;
    case DimOp::kMin: return ShapeOp::kMin;
    case DimOp::kMax: return ShapeOp::kMax;
  }
  return ShapeOp::kConst;
}

}  // namespace

LowerContext::LowerContext(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {
  lowered_.program.name = graph.name();
  lowered_.program.backend = options.backend;
  guess_sizes();
}

// Of data-dependent sizes: an image that is resized or padded has about as many rows as before.
void LowerContext::guess_sizes() {
  const std::vector<Symbol>& symbols = graph_.symbols();
  for (std::vector<int64_t>& guesses : guesses_) guesses.assign(symbols.size(), kGuess);
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (symbols[s].kind != SymbolKind::kDataDependent) continue;
    const Value* made = graph_.value_by_id(symbols[s].value_id);
    const Value* from = made == nullptr || made->producer() == nullptr ? nullptr : made->producer()->input(0);
    const int axis = symbols[s].index;
    const bool alike =
        from != nullptr && from->rank() >= 3 && from->rank() == made->rank() && axis >= 0 && axis < from->rank();
    for (const bool max : {false, true}) {
      if (symbols[s].upper_bound >= 0)
        guesses_[max][s] = symbols[s].upper_bound;
      else if (alike)
        guesses_[max][s] = extent(from->shape()[static_cast<size_t>(axis)], max);
    }
  }
}

int LowerContext::main_inputs(const Node& node) {
  if (node.attr_expr("epilogue") == nullptr) return node.num_inputs();
  return static_cast<int>(node.attr_int("main_inputs", node.num_inputs()));
}

std::span<const std::vector<SymbolRange>> LowerContext::served_profiles() const {
  return std::span(options_.profiles).first(std::min(options_.served, options_.profiles.size()));
}

int64_t LowerContext::extent(const Dim& dim, bool max) const {
  const auto value = dim.evaluate([&](SymbolId id) -> std::optional<int64_t> {
    const Symbol& symbol = graph_.symbols()[static_cast<size_t>(id)];
    const auto at = static_cast<size_t>(id);
    if (symbol.kind == SymbolKind::kDataDependent) return at < guesses_[max].size() ? guesses_[max][at] : kGuess;
    if (options_.profiles.empty() || at >= options_.profiles[0].size()) return 1;
    if (!max) return options_.profiles[0][at].opt;
    int64_t most = options_.profiles[0][at].max;
    for (const std::vector<SymbolRange>& profile : served_profiles())
      if (at < profile.size()) most = std::max(most, profile[at].max);
    return most;
  });
  return std::max<int64_t>(0, value.value_or(kGuess));
}

Dims LowerContext::extents(const Shape& shape, bool max) const {
  Dims dims;
  for (const Dim& d : shape) dims.push_back(extent(d, max));
  return dims;
}

Result<SymbolIndex> LowerContext::symbol(SymbolId id) {
  if (const auto it = symbols_.find(id); it != symbols_.end()) return it->second;
  if (id < 0 || static_cast<size_t>(id) >= graph_.symbols().size())
    return internal_error("symbol s{} does not exist", id);
  const Symbol& symbol = graph_.symbols()[static_cast<size_t>(id)];
  const Value* value = graph_.value_by_id(symbol.value_id);
  if (value == nullptr) return internal_error("symbol '{}' belongs to a value that is gone", symbol.name);
  PlanSymbol made;
  made.name = symbol.name;
  made.axis = symbol.index;
  made.source = symbol.kind == SymbolKind::kInputDim     ? SymbolSource::kInputDim
                : symbol.kind == SymbolKind::kInputValue ? SymbolSource::kInputValue
                                                         : SymbolSource::kDataDependent;
  const SymbolIndex index = program().symbols.add(std::move(made));
  symbols_[id] = index;
  graph_symbols_.push_back(id);
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex owner, tensor(value));
  program().symbols[index].tensor = owner;
  return index;
}

Result<ExpressionIndex> LowerContext::expression(const Dim& dim) {
  const std::string key = dim.to_string();
  if (const auto it = expressions_.find(key); it != expressions_.end()) return it->second;
  ShapeExpr e;
  SymbolId id = 0;
  if (dim.is_const()) {
    e.value = dim.value();
  } else if (dim.is_symbol(&id)) {
    e.op = ShapeOp::kSymbol;
    WOOTZ_ASSIGN_OR_RETURN(const SymbolIndex symbol, this->symbol(id));
    e.value = symbol.number();
    // The symbol's tensor may have asked for the same expression meanwhile.
    if (const auto it = expressions_.find(key); it != expressions_.end()) return it->second;
  } else {
    e.op = shape_op(dim.op());
    for (const Dim& operand : dim.operands()) {
      WOOTZ_ASSIGN_OR_RETURN(const ExpressionIndex index, expression(operand));
      e.operands.push_back(index);
    }
  }
  const ExpressionIndex index = program().exprs.add(std::move(e));
  expressions_[key] = index;
  return index;
}

Result<TensorIndex> LowerContext::make_tensor(const Value* value) {
  const TensorIndex index = program().tensors.next();
  lowered_.tensors[value] = index;
  shapes_[index] = value->shape();
  program().tensors.emplace_back();
  PlanTensor made;
  made.name = value->name();
  made.dtype = value->dtype();
  if (value->kind() == ValueKind::kConstant) {
    made.kind = TensorKind::kConstant;
    made.constant = program().constants.next();
    const auto keep = std::make_shared<HostTensor>(value->constant());
    program().constants.push_back(
        {value->name(), made.dtype, keep->dims(), Layout::kLinear, 0, keep->bytes(), keep, keep->data()});
  } else if (value->kind() == ValueKind::kInput) {
    made.kind = TensorKind::kInput;
  } else if (value->shape_values() && !options_.reference_only) {
    made.kind = TensorKind::kShape;
  }
  program().tensors[index] = made;
  for (const Dim& d : value->shape()) {
    WOOTZ_ASSIGN_OR_RETURN(const ExpressionIndex e, expression(d));
    made.dims.push_back(e);
  }
  if (made.kind == TensorKind::kShape) {
    for (const Dim& d : *value->shape_values()) {
      WOOTZ_ASSIGN_OR_RETURN(const ExpressionIndex e, expression(d));
      made.values.push_back(e);
    }
  }
  program().tensors[index] = std::move(made);
  return index;
}

Result<TensorIndex> LowerContext::tensor(const Value* value) {
  if (value == nullptr) return TensorIndex();
  if (const auto it = lowered_.tensors.find(value); it != lowered_.tensors.end()) return it->second;
  return make_tensor(value);
}

TensorIndex LowerContext::add_constant(const std::string& name, const HostTensor& data) {
  PlanTensor made;
  made.name = name;
  made.dtype = data.dtype();
  made.kind = TensorKind::kConstant;
  made.constant = program().constants.next();
  for (int64_t d : data.dims())
    if (const Result<ExpressionIndex> e = expression(Dim(d)); e.ok()) made.dims.push_back(*e);
  const auto keep = std::make_shared<HostTensor>(data);
  program().constants.push_back(
      {name, data.dtype(), data.dims(), Layout::kLinear, 0, data.bytes(), keep, keep->data()});
  const TensorIndex index = program().tensors.add(std::move(made));
  shapes_[index] = to_shape(data.dims());
  return index;
}

TensorIndex LowerContext::add_intermediate(const std::string& name, DType dtype, const Shape& shape, Status* status) {
  PlanTensor made;
  made.name = name;
  made.dtype = dtype;
  for (const Dim& d : shape) {
    const Result<ExpressionIndex> e = expression(d);
    if (!e.ok())
      *status = e.status();
    else
      made.dims.push_back(*e);
  }
  const TensorIndex index = program().tensors.add(std::move(made));
  shapes_[index] = shape;
  return index;
}

Status LowerContext::make_view(const Value* value, const Value* source) {
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex from, tensor(source));
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex to, tensor(value));
  PlanTensor& view = program().tensors[to];
  view.kind = TensorKind::kView;
  view.view_of = from;
  return Status();
}

Status LowerContext::stand_for(const Value* inner, const Value* value) {
  WOOTZ_ASSIGN_OR_RETURN(const TensorIndex index, tensor(value));
  lowered_.tensors[inner] = index;
  return {};
}

void LowerContext::replace_last(size_t count, const Node& node, Step step) {
  program().steps.resize(program().steps.size() - count);
  lowered_.nodes.resize(program().steps.size());
  program().steps.push_back(std::move(step));
  lowered_.nodes.push_back(&node);
}

Result<Step> LowerContext::start_step(const Node& node, Family family, int num_inputs) {
  Step step;
  step.name = node.name();
  step.provenance = node.provenance();
  if (step.provenance.empty()) step.provenance.push_back(node.name());
  step.problem.set_family(family);
  for (int i = 0; i < num_inputs; ++i) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex t, tensor(node.input(i)));
    step.inputs.push_back(t);
  }
  step.problem.num_main = num_inputs;
  if (const PointwiseExpr* epilogue = node.attr_expr("epilogue")) {
    step.problem.epilogue = *epilogue;
    const DType acc = epilogue->input_type(0);
    step.problem.acc_dtype = acc == DType::kInvalid ? DType::kF32 : acc;
    for (int i = main_inputs(node); i < node.num_inputs(); ++i) {
      WOOTZ_ASSIGN_OR_RETURN(const TensorIndex t, tensor(node.input(i)));
      step.inputs.push_back(t);
    }
  } else if (node.num_outputs() > 0 && node.output(0) != nullptr) {
    step.problem.acc_dtype = node.output(0)->dtype();
  }
  for (const Value* out : node.outputs()) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex t, tensor(out));
    step.outputs.push_back(t);
  }
  return step;
}

TensorDesc LowerContext::describe(TensorIndex index) const {
  TensorDesc desc;
  if (!index.exists()) return desc;
  const PlanTensor& t = lowered_.program.tensors[index];
  const Shape& shape = shapes_.at(index);
  desc.dtype = t.dtype;
  desc.dims = extents(shape, false);
  desc.max_dims = extents(shape, true);
  desc.constant = t.kind == TensorKind::kConstant;
  return desc;
}

Status LowerContext::append(const Node* node, Step step) {
  program().steps.push_back(std::move(step));
  lowered_.nodes.push_back(node);
  return Status();
}

void LowerContext::describe_operands(Step* step) const {
  step->problem.inputs.clear();
  step->problem.outputs.clear();
  for (const TensorIndex t : step->inputs) step->problem.inputs.push_back(describe(t));
  for (const TensorIndex t : step->outputs) step->problem.outputs.push_back(describe(t));
  const auto passes = [this](TensorIndex t) { return found_by_running(t); };
  for (const auto* list : {&step->inputs, &step->outputs})
    if (std::any_of(list->begin(), list->end(), passes)) step->problem.passing = true;
  describe_channels(step);
}

// Weights tell the channels of an x of data-dependent extents; kernels check them when they are bound.
void LowerContext::describe_channels(Step* step) const {
  Problem& p = step->problem;
  const auto* conv = p.as_if<ConvParams>();
  if (conv == nullptr || p.inputs.size() < 2 || !found_by_running(step->inputs[0])) return;
  TensorDesc &x = p.inputs[0], &w = p.inputs[1];
  if (!w.constant || w.dims.rank() < 3 || x.dims.rank() != w.dims.rank()) return;
  if (!found_by_running(Shape{shapes_.at(step->inputs[0])[1]})) return;  // numbers, or of the profile
  x.dims[1] = x.max_dims[1] = conv->transposed ? w.dims[0] : w.dims[1] * conv->groups;
}

// Data-dependent extents.
bool LowerContext::found_by_running(TensorIndex tensor) const {
  const std::vector<Symbol>& symbols = graph_.symbols();
  const auto data_dependent = [](const Symbol& s) { return s.kind == SymbolKind::kDataDependent; };
  if (!tensor.exists() || std::none_of(symbols.begin(), symbols.end(), data_dependent)) return false;
  return found_by_running(shapes_.at(tensor));
}

bool LowerContext::found_by_running(const Shape& shape) const {
  const std::vector<Symbol>& symbols = graph_.symbols();
  std::vector<SymbolId> used;
  for (const Dim& d : shape) d.collect_symbols(&used);
  return std::any_of(used.begin(), used.end(), [&](SymbolId s) {
    const auto at = static_cast<size_t>(s);
    return s >= 0 && at < symbols.size() && symbols[at].kind == SymbolKind::kDataDependent;
  });
}

Status LowerContext::finish_step(const Node* node, Step step) {
  describe_operands(&step);
  mark_sparse(&step);
  const bool given = has_trait(step.problem.family(), kRunsItself);
  if (node == nullptr || given || offered(step)) return append(node, std::move(step));
  // No kernel computes it with this epilogue: the family alone, then the expression.
  if (!step.problem.epilogue.empty() && step.problem.family() != Family::kPointwise) {
    Step main = step, tail;
    Status status;
    const DType between = type_between(step.problem);
    const TensorIndex result = add_intermediate(step.name + ".main", between, shapes_.at(step.outputs[0]), &status);
    WOOTZ_RETURN_IF_ERROR(status);
    const auto num_main = static_cast<size_t>(step.problem.num_main);
    main.inputs.resize(num_main);
    main.outputs[0] = result;
    main.problem.epilogue = {};
    describe_operands(&main);
    tail.name = step.name + ".epilogue";
    tail.provenance = step.provenance;
    tail.problem.set_family(Family::kPointwise);
    tail.problem.epilogue = step.problem.epilogue;
    tail.problem.acc_dtype = step.problem.epilogue.output_type();
    tail.inputs = {result};
    tail.inputs.insert(tail.inputs.end(), step.inputs.begin() + static_cast<ptrdiff_t>(num_main), step.inputs.end());
    tail.outputs = {step.outputs[0]};
    if (between != step.problem.acc_dtype) narrow_between(&main, &tail);
    describe_operands(&tail);
    if (offered(main) && offered(tail)) {
      WOOTZ_RETURN_IF_ERROR(append(node, std::move(main)));
      return append(node, std::move(tail));
    }
  }
  if (const auto* gemm = step.problem.as_if<GemmParams>(); gemm != nullptr && gemm->w_block > 0)
    return wide_form(node, std::move(step));
  if (has_scales(step.problem)) return float_form(node, std::move(step));
  return reference_step(*node);
}

bool LowerContext::offered(const Step& step) {
  if (options_.providers.empty()) return true;
  const auto [known, fresh] = offered_.try_emplace(step.problem.key(), false);
  if (!fresh) return known->second;
  if (!check_params(step.problem.params).ok()) return false;  // what no plan may hold
  std::vector<Candidate> offers;
  std::vector<Refusal> refusals;
  // Any will do. A backend's own kernels come after those of libraries, which may take seconds to build theirs.
  for (auto it = options_.providers.rbegin(); it != options_.providers.rend(); ++it) {
    const Provider* const provider = *it;
    provider->tactics(step.problem, options_.limits, &offers, &refusals);
    if (!offers.empty()) return known->second = true;
  }
  return false;
}

Status LowerContext::reference_step(const Node& node) {
  WOOTZ_RETURN_IF_ERROR(refuse_inner_plugins(node));
  WOOTZ_ASSIGN_OR_RETURN(Step step, start_step(node, Family::kOp, node.num_inputs()));
  // All operands are the op's: the node's text carries its epilogue.
  step.inputs.resize(static_cast<size_t>(node.num_inputs()));
  step.problem.num_main = node.num_inputs();
  step.problem.epilogue = {};
  WOOTZ_ASSIGN_OR_RETURN(std::string text, print_node(node));
  describe_op(node, std::move(text), has_own_sizes(node), &step.problem.as<OpParams>());
  return finish_step(&node, std::move(step));
}

Status LowerContext::copy_step(const std::string& name, TensorIndex from, TensorIndex to) {
  Step step;
  step.name = name;
  step.problem.set_family(Family::kReformat);
  step.problem.num_main = 1;
  step.problem.acc_dtype = program().tensors[from].dtype;
  step.inputs = {from};
  step.outputs = {to};
  describe_operands(&step);
  if (options_.reference_only || !offered(step)) {
    Graph alone;
    Value* x = alone.add_input("x", step.problem.acc_dtype, to_shape(step.problem.inputs[0].dims));
    const Node* identity = alone.add_node(op("Identity"), "copy", {x}, {});
    WOOTZ_ASSIGN_OR_RETURN(std::string text, print_node(*identity));
    step.problem.params = OpParams{.op = "Identity", .node = std::move(text)};
  }
  return append(nullptr, std::move(step));
}

}  // namespace wootz
