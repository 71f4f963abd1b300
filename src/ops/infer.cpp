#include "ops/infer.h"

#include <algorithm>

#include "ops/support/pointwise.h"

namespace wootz {

Status infer_same_as_input(InferContext& ctx) {
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
  if (std::optional<std::vector<Dim>> values = ctx.dims_value(0); values && ctx.rank(0) <= 1)
    ctx.set_output_values(0, std::move(*values));
  return Status();
}

namespace {

std::string input_shapes(const InferContext& ctx) {
  std::string text;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    if (!text.empty()) text += ", ";
    text += std::string(dtype_name(ctx.dtype(i))) + shape_to_string(ctx.shape(i));
  }
  return text;
}

int main_inputs(const Node& node) {
  const auto count = static_cast<int>(node.attr_int("main_inputs", node.num_inputs()));
  return std::clamp(count, 0, node.num_inputs());
}

Status check_signature(const Node& node) {
  const OpDef& def = node.op();
  const bool fused = node.has_attr("epilogue");
  const int inputs = fused ? main_inputs(node) : node.num_inputs();
  const auto wrong = [&](const char* what, int count, int low, int high) {
    return at_node(node, invalid_argument("{} {}, expected {}{}", count, what, low,
                                          high < 0      ? " or more"
                                          : high == low ? ""
                                                        : fmt::format(" to {}", high)));
  };
  if (inputs < def.min_inputs || (def.max_inputs >= 0 && inputs > def.max_inputs))
    return wrong("inputs", inputs, def.min_inputs, def.max_inputs);
  if (node.num_outputs() < def.min_outputs || (def.max_outputs >= 0 && node.num_outputs() > def.max_outputs))
    return wrong("outputs", node.num_outputs(), def.min_outputs, def.max_outputs);
  for (int i = 0; i < def.min_inputs && i < inputs; ++i)
    if (node.input(i) == nullptr) return at_node(node, invalid_argument("input {} is required", i));
  for (const AttrSpec& spec : def.attributes)
    if (spec.required && !node.has_attr(spec.name))
      return at_node(node, invalid_argument("attribute '{}' is required", spec.name));
  return Status();
}

Status run_rule(InferContext& ctx) {
  const OpDef& def = ctx.node().op();
  Status status = def.infer != nullptr ? def.infer(ctx) : infer_from_expr(ctx);
  if (!status.ok()) return status;
  for (size_t o = 0; o < ctx.outputs().size(); ++o) {
    const InferContext::Output& out = ctx.outputs()[o];
    if (static_cast<int>(out.shape.size()) > limits::kMaxRank)
      return ctx.fail("output {} would have rank {}, the limit is {}", o, out.shape.size(), limits::kMaxRank);
    for (const Dim& d : out.shape) {
      // Constants whose sum or product leaves 64 bits stay an expression without symbols.
      std::vector<SymbolId> symbols;
      if (!d.is_const()) d.collect_symbols(&symbols);
      if (d.is_const() ? d.value() < 0 : symbols.empty())
        return ctx.fail("output {} would have shape {} (inputs {})", o, shape_to_string(out.shape), input_shapes(ctx));
    }
    if (std::optional<Dims> dims = to_dims(out.shape)) {
      if (Result<int64_t> volume = checked_volume(dims->span()); !volume.ok())
        return at_node(ctx.node(), volume.status().with_prefix(fmt::format("output {}", o)));
    }
  }
  return Status();
}

// The expression after a main result: result dtype of the expression, shape of the accumulator.
Status apply_epilogue(const Node& node, InferContext& ctx, const std::vector<TypeInfo>& extras) {
  const PointwiseExpr* expr = node.attr_expr("epilogue");
  InferContext::Output& out = ctx.outputs()[0];
  Shape shape = out.shape;
  for (const TypeInfo& extra : extras) {
    if (!extra.present) continue;
    WOOTZ_ASSIGN_OR_RETURN(shape, broadcast_shapes(shape, extra.shape));
  }
  if (!(shape.size() == out.shape.size()))
    return ctx.fail("epilogue operands of shape {} widen the result {}", shape_to_string(shape),
                    shape_to_string(out.shape));
  out.dtype = expr->output_type();
  out.values.reset();
  return Status();
}

}  // namespace

namespace {

// An extent that branches join: 1 in one of them, perhaps, and something else in the other.
bool joined(const Dim& d, const Graph* graph) {
  SymbolId id = 0;
  if (d.is_symbol(&id)) {
    if (graph == nullptr || id < 0 || static_cast<size_t>(id) >= graph->symbols().size()) return false;
    const Symbol& symbol = graph->symbols()[static_cast<size_t>(id)];
    const Value* value = symbol.kind == SymbolKind::kDataDependent ? graph->value_by_id(symbol.value_id) : nullptr;
    return value != nullptr && value->producer() != nullptr && value->producer()->is("If");
  }
  if (d.op() == DimOp::kMin && std::find(d.operands().begin(), d.operands().end(), Dim(1)) != d.operands().end())
    return true;  // a truth
  return std::any_of(d.operands().begin(), d.operands().end(), [&](const Dim& o) { return joined(o, graph); });
}

// Of two extents that are not numbers the first counts, as they should be equal; a joined one may be 1 where the other
// is not.
Result<Shape> broadcast_together(const Shape& a, const Shape& b, const Graph* graph) {
  WOOTZ_ASSIGN_OR_RETURN(Shape out, broadcast_shapes(a, b));
  for (size_t back = 1; back <= std::min(a.size(), b.size()); ++back) {
    const Dim &x = a[a.size() - back], &y = b[b.size() - back];
    if (x.is_const() || y.is_const() || x == y || !(joined(x, graph) || joined(y, graph))) continue;
    out[out.size() - back] = dim_max(x, y);
  }
  return out;
}

}  // namespace

Status infer_from_expr(InferContext& ctx) {
  WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr expr, node_expression(ctx.node()));
  Shape shape;
  for (uint16_t k = 0; k < expr.num_inputs; ++k) {
    if (!ctx.has(k)) continue;
    Result<Shape> together = broadcast_together(shape, ctx.shape(k), ctx.node().graph());
    if (!together.ok()) return ctx.fail("{} (inputs {})", together.status().message(), input_shapes(ctx));
    shape = std::move(together).value();
  }
  for (size_t o = 0; o < expr.outputs.size(); ++o) {
    ctx.set_output(static_cast<int>(o), expr.output_type(o), shape);
    if (shape.size() > 1 || is_float(expr.output_type(o))) continue;
    if (std::optional<std::vector<Dim>> values = expression_shape_values(expr, ctx, o))
      ctx.set_output_values(static_cast<int>(o), std::move(*values));
  }
  return Status();
}

Result<std::vector<InferContext::Output>> infer_outputs(const Node& node, std::vector<TypeInfo> inputs, Graph* graph) {
  WOOTZ_RETURN_IF_ERROR(check_signature(node));
  const bool fused = node.attr_expr("epilogue") != nullptr;
  const auto main = fused ? std::min(static_cast<size_t>(main_inputs(node)), inputs.size()) : inputs.size();
  const std::vector<TypeInfo> extras(inputs.begin() + static_cast<ptrdiff_t>(main), inputs.end());
  inputs.resize(main);
  InferContext ctx(node, std::move(inputs), graph);
  WOOTZ_RETURN_IF_ERROR(run_rule(ctx));
  if (fused) WOOTZ_RETURN_IF_ERROR(apply_epilogue(node, ctx, extras));
  return std::move(ctx.outputs());
}

Status infer_node(Node& node) {
  std::vector<TypeInfo> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    TypeInfo info;
    if (const Value* v = node.input(i)) {
      info.present = true;
      info.dtype = v->dtype();
      info.shape = v->shape();
      if (v->is_constant()) info.constant = &v->constant();
      if (v->shape_values()) info.shape_values = &*v->shape_values();
    }
    inputs.push_back(std::move(info));
  }
  WOOTZ_ASSIGN_OR_RETURN(std::vector<InferContext::Output> outputs,
                         infer_outputs(node, std::move(inputs), node.graph()));
  for (int o = 0; o < node.num_outputs(); ++o) {
    InferContext::Output& out = outputs[static_cast<size_t>(o)];
    node.output(o)->set_type(out.dtype, std::move(out.shape));
    node.output(o)->set_shape_values(std::move(out.values));
  }
  return Status();
}

Status infer_graph(Graph& graph) {
  for (Node* node = graph.first(); node != nullptr; node = node->next()) WOOTZ_RETURN_IF_ERROR(infer_node(*node));
  return Status();
}

Result<std::vector<ConcreteOutput>> infer_concrete(const Node& node, const std::vector<const HostTensor*>& inputs) {
  std::vector<TypeInfo> infos, extras;
  const bool fused = node.attr_expr("epilogue") != nullptr;
  const auto main = static_cast<size_t>(fused ? main_inputs(node) : static_cast<int>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    TypeInfo info;
    if (inputs[i] != nullptr) {
      info.present = true;
      info.dtype = inputs[i]->dtype();
      info.shape = to_shape(inputs[i]->dims());
      info.constant = inputs[i];
    }
    (i < main ? infos : extras).push_back(std::move(info));
  }
  InferContext ctx(node, std::move(infos), nullptr);
  WOOTZ_RETURN_IF_ERROR(run_rule(ctx));
  std::vector<ConcreteOutput> outputs;
  for (InferContext::Output& out : ctx.outputs()) outputs.push_back({out.dtype, to_dims(out.shape)});
  return outputs;
}

}  // namespace wootz
