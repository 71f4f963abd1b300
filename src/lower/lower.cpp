#include "lower/lower.h"

#include <algorithm>

#include "lower/context.h"

namespace wootz {

Result<bool> lower_reference(LowerContext& /*ctx*/, const Node& /*node*/) { return false; }

namespace {

// By Lowering. False: the reference runs the node.
constexpr LowerFunction kLower[] = {
#define LOWERING(Name, function, traits) lower_##function,
#include "ir/lowerings.def"
#undef LOWERING
};

// Network outputs are written by a step of their own: what is also an input, a constant, a view or listed twice is
// copied.
Status lower_outputs(LowerContext& ctx, const Graph& graph) {
  Program& program = ctx.program();
  IndexedVector<TensorIndex, uint8_t> written(program.tensors.size(), 0);
  for (const Step& step : program.steps) {
    for (const TensorIndex t : step.outputs)
      if (t.exists()) written[t] = 1;
  }
  for (const Value* value : graph.outputs()) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex t, ctx.tensor(value));
    const bool by_step = written.has(t) && written[t] && program.tensors[t].kind == TensorKind::kIntermediate;
    if (by_step) {
      program.tensors[t].kind = TensorKind::kOutput;
      program.outputs.push_back({t, false});
      continue;
    }
    Status status;
    const TensorIndex copy = ctx.add_intermediate(value->name(), value->dtype(), value->shape(), &status);
    WOOTZ_RETURN_IF_ERROR(status);
    program.tensors[copy].kind = TensorKind::kOutput;
    // One name, one tensor: the inner one steps aside.
    program.tensors[t].name += "'";
    if (program.tensors[t].kind == TensorKind::kInput) program.tensors[t].name.pop_back();
    WOOTZ_RETURN_IF_ERROR(ctx.copy_step("copy of " + value->name(), t, copy));
    program.outputs.push_back({copy, false});
  }
  return Status();
}

}  // namespace

bool has_own_sizes(const Node& node) {
  for (const Value* out : node.outputs()) {
    for (const Dim& d : out->shape()) {
      SymbolId id = 0;
      if (!d.is_symbol(&id)) continue;
      const Symbol& symbol = node.graph()->symbols()[static_cast<size_t>(id)];
      if (symbol.kind == SymbolKind::kDataDependent && symbol.value_id == out->id()) return true;
    }
  }
  return false;
}

// A condition over extents is checked with them; its operand is what it was.
Status LowerContext::lower_require(const Node& node) {
  const auto& condition = node.input(0)->shape_values();
  if (!condition || condition->size() != 1) return reference_step(node);
  const bool expected = node.attr_int("expected") != 0;
  WOOTZ_ASSIGN_OR_RETURN(const ExpressionIndex holds,
                         expression(expected ? (*condition)[0] : Dim(1) - (*condition)[0]));
  program().checks.push_back({holds, node.attr_string("message")});
  return node.output()->shape_values() ? Status() : make_view(node.output(), node.input(1));
}

// The same of each element; what is known to hold needs no check, and what is known not to hold ends the build.
Status LowerContext::lower_assert(const Node& node) {
  const Value& condition = *node.input(0);
  const std::string message = node.attr_string("message");
  if (condition.is_constant()) {
    for (int64_t i = 0; i < condition.constant().volume(); ++i)
      if (condition.constant().get_i64(i) == 0) return invalid_argument("{}", message);
    return Status();
  }
  if (!condition.shape_values()) return reference_step(node);
  for (const Dim& element : *condition.shape_values()) {
    if (element.is_const() && element.value() == 0) return invalid_argument("{}", message);
    if (element.is_const()) continue;
    WOOTZ_ASSIGN_OR_RETURN(const ExpressionIndex holds, expression(element));
    program().checks.push_back({holds, message});
  }
  return Status();
}

Status LowerContext::lower(const Node& node) {
  if (options_.reference_only && !node.is("Plugin")) return reference_step(node);
  if (node.is("Require")) return lower_require(node);
  if (node.is("Assert")) return lower_assert(node);
  const auto known = [](const Value* v) { return v->shape_values().has_value(); };
  if (std::all_of(node.outputs().begin(), node.outputs().end(), known)) return Status();  // shape values: no step
  const Lowering lowering = node.op().lowering;
  if (!has_own_sizes(node) || has_trait(lowering, kOwnSizes)) {
    WOOTZ_ASSIGN_OR_RETURN(const bool done, kLower[static_cast<size_t>(lowering)](*this, node));
    if (done) return Status();
  }
  return reference_step(node);
}

Result<Lowered> lower_graph(const Graph& graph, const LowerOptions& options) {
  LowerContext ctx(graph, options);
  for (const Value* input : graph.inputs()) {
    WOOTZ_ASSIGN_OR_RETURN(const TensorIndex t, ctx.tensor(input));
    ctx.program().inputs.push_back({t, false});
  }
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    Status status = ctx.lower(*node);
    if (!status.ok()) return at_node(*node, status);
  }
  WOOTZ_RETURN_IF_ERROR(lower_outputs(ctx, graph));
  // A shape tensor is an input with an element that some shape or shape value goes by.
  for (const PlanSymbol& symbol : ctx.program().symbols)
    for (IoTensor& input : ctx.program().inputs)
      if (symbol.source == SymbolSource::kInputValue && symbol.tensor == input.tensor) input.is_shape_tensor = true;
  const size_t count = std::max<size_t>(1, options.profiles.size());
  for (size_t p = 0; p < count; ++p) {
    PlanProfile profile;
    for (const SymbolIndex s : ctx.program().symbols.indices()) {
      SymbolRange range{-1, -1, -1};
      if (ctx.program().symbols[s].source != SymbolSource::kDataDependent) {
        const auto id = static_cast<size_t>(ctx.graph_symbols_[s]);
        range = p < options.profiles.size() && id < options.profiles[p].size() ? options.profiles[p][id]
                                                                               : SymbolRange{1, 1, 1};
      }
      profile.symbols.push_back(range);
    }
    ctx.program().profiles.push_back(std::move(profile));
  }
  return ctx.take();
}

}  // namespace wootz
