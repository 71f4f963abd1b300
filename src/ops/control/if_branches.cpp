// If: the type of a result that one of two branches gives. Extents in which the branches differ are an expression where
// the condition is one (a comparison of extents), otherwise a data-dependent symbol.
#include <algorithm>

#include "ops/control/control.h"
#include "ops/interpreter.h"
#include "ops/support/truth.h"

namespace wootz::ops {
namespace {

using Branches = std::pair<const Graph&, const Graph&>;

// Where a branch's result comes from, as the model names it.
std::string origin(const Value& value) {
  const Node* node = value.producer();
  if (node == nullptr) return fmt::format("'{}'", value.name());
  const std::string& name = node->provenance().empty() ? node->name() : node->provenance().back();
  return fmt::format("node '{}' ({})", name, node->op().name);
}

// The truth of the condition as an expression.
std::optional<Dim> truth(const InferContext& ctx) {
  const std::optional<std::vector<Dim>> values = ctx.dims_value(0);
  if (!values || values->size() != 1) return std::nullopt;
  return (*values)[0];
}

Dim join(InferContext& ctx, const OuterSymbols& outer, const std::optional<Dim>& condition, const Dim& a, const Dim& b,
         size_t output, size_t axis) {
  const bool known_a = outer.knows(a), known_b = outer.knows(b);
  if (known_a && a == b) return a;
  if (condition && condition->is_const() && (condition->value() != 0 ? known_a : known_b))
    return condition->value() != 0 ? a : b;
  if (condition && known_a && known_b)
    if (const std::optional<Dim> chosen = truth_select(*condition, a, b)) return *chosen;
  const int64_t most = a.is_const() && b.is_const() ? std::max(a.value(), b.value()) : -1;
  return ctx.data_dependent(static_cast<int>(output), static_cast<int>(axis), most);
}

std::optional<std::vector<Dim>> values_of(const Value& v) {
  if (is_float(v.dtype()) || v.rank() > 1) return std::nullopt;
  if (!v.is_constant()) return v.shape_values();
  if (v.constant().volume() > limits::kMaxShapeValues) return std::nullopt;
  std::vector<Dim> values;
  for (int64_t e = 0; e < v.constant().volume(); ++e) values.emplace_back(v.constant().get_i64(e));
  return values;
}

// Elements of small integer results; only where every result has them: a step writes all of its results or none.
void join_values(InferContext& ctx, const OuterSymbols& outer, const std::optional<Dim>& condition,
                 const Branches& branches) {
  const size_t count = branches.first.outputs().size();
  std::vector<std::vector<Dim>> joined(count);
  for (size_t o = 0; o < count; ++o) {
    const auto a = values_of(*branches.first.outputs()[o]), b = values_of(*branches.second.outputs()[o]);
    if (!a || !b || a->size() != b->size()) return;
    for (size_t e = 0; e < a->size(); ++e) {
      const Dim &x = (*a)[e], &y = (*b)[e];
      if (!outer.knows(x) || !outer.knows(y)) return;
      const std::optional<Dim> chosen = x == y ? x : condition ? truth_select(*condition, x, y) : std::nullopt;
      if (!chosen) return;
      joined[o].push_back(*chosen);
    }
  }
  for (size_t o = 0; o < count; ++o) ctx.set_output_values(static_cast<int>(o), std::move(joined[o]));
}

// Inputs: condition, what then_branch reads, what else_branch reads.
Status infer_if(InferContext& ctx) {
  const auto then = ctx.node().attr_graph("then_branch"), other = ctx.node().attr_graph("else_branch");
  if (then == nullptr || other == nullptr) return ctx.fail("a branch is missing");
  const auto needed = static_cast<int>(1 + then->inputs().size() + other->inputs().size());
  if (ctx.num_inputs() != needed)
    return ctx.fail("the condition and what the branches read are {} inputs, {} are given", needed, ctx.num_inputs());
  if (ctx.dtype(0) != DType::kBool) return ctx.fail("condition of type {}", dtype_name(ctx.dtype(0)));
  if (const Dim elements = volume(ctx.shape(0)); elements.is_const() && elements.value() != 1)
    return ctx.fail("condition of shape {}; it must be one element", shape_to_string(ctx.shape(0)));
  const auto count = static_cast<size_t>(ctx.node().num_outputs());
  if (then->outputs().size() != count || other->outputs().size() != count)
    return ctx.fail("{} outputs; the branches have {} and {}", count, then->outputs().size(), other->outputs().size());
  const OuterSymbols outer(ctx);
  const std::optional<Dim> condition = truth(ctx);
  for (size_t o = 0; o < count; ++o) {
    const Value &a = *then->outputs()[o], &b = *other->outputs()[o];
    if (a.dtype() != b.dtype() || a.rank() != b.rank()) return ctx.fail("{}", branches_differ(o, a, b));
    Shape shape;
    for (size_t i = 0; i < a.shape().size(); ++i)
      shape.push_back(join(ctx, outer, condition, a.shape()[i], b.shape()[i], o, i));
    ctx.set_output(static_cast<int>(o), a.dtype(), std::move(shape));
  }
  if (count > 0) join_values(ctx, outer, condition, {*then, *other});
  return {};
}

Status reference_if(EvalContext& ctx) {
  const auto then = ctx.node.attr_graph("then_branch"), other = ctx.node.attr_graph("else_branch");
  if (ctx.in(0).volume() != 1) return invalid_argument("a condition of shape {}", ctx.in(0).dims().to_string());
  const bool taken = ctx.in(0).get_i64(0) != 0;
  const size_t first = taken ? 1 : 1 + then->inputs().size();
  const Graph& branch = taken ? *then : *other;
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < branch.inputs().size(); ++i) inputs.push_back(ctx.in(first + i));
  WOOTZ_ASSIGN_OR_RETURN(ctx.outputs, run_graph(branch, inputs));
  return {};
}

}  // namespace

OuterSymbols::OuterSymbols(const InferContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    add(ctx.shape(i));
    if (ctx.in(i).shape_values != nullptr) add(*ctx.in(i).shape_values);
  }
}

bool OuterSymbols::knows(const Dim& d) const {
  std::vector<SymbolId> used;
  d.collect_symbols(&used);
  return std::all_of(used.begin(), used.end(), [&](SymbolId s) { return known_.count(s) > 0; });
}

void OuterSymbols::add(const std::vector<Dim>& dims) {
  std::vector<SymbolId> used;
  for (const Dim& d : dims) d.collect_symbols(&used);
  known_.insert(used.begin(), used.end());
}

std::string branches_differ(size_t output, const Value& then, const Value& other) {
  const bool types = then.dtype() != other.dtype();
  return fmt::format(
      "output {} is {}{} in one branch (by {}) and {}{} in the other (by {}); {}", output, dtype_name(then.dtype()),
      shape_to_string(then.shape()), origin(then), dtype_name(other.dtype()), shape_to_string(other.shape()),
      origin(other),
      types ? "the types must be the same: cast one of them"
            : "the ranks must be the same: reshape one of them, or give the profile shapes that decide the condition");
}

const OpDef& if_op() {
  static const OpDef kIf{
      .name = "If",
      .min_inputs = 1,
      .max_inputs = -1,
      .max_outputs = -1,
      .attributes = {{"then_branch", AttrKind::kGraph, true}, {"else_branch", AttrKind::kGraph, true}},
      .infer = infer_if,
      .reference = reference_if,
      .lowering = Lowering::kControl,
      .traits = {.data_dependent = true}};
  return kIf;
}

}  // namespace wootz::ops
