// If, Loop and Scan. Subgraphs are attributes; values of the enclosing graph that they read are inputs of the node and
// of the subgraph, after the declared ones.
#include "ops/control/control.h"

#include "ops/interpreter.h"
#include "ops/module_table.h"

namespace wootz::ops {
namespace {

Status check_inputs(InferContext& ctx, const char* attr, const Graph* graph, int given) {
  if (graph == nullptr) return ctx.fail("attribute {} is missing", attr);
  if (static_cast<int>(graph->inputs().size()) != given)
    return ctx.fail("{} takes {} inputs, {} are given", attr, graph->inputs().size(), given);
  return {};
}

// Whether the condition is true at first and cannot change.
bool never_stops(const Graph& body, const InferContext& ctx) {
  const Value *next = body.outputs()[0], *condition = body.inputs()[1];
  const auto is_true = [](const HostTensor& t) { return t.volume() == 1 && t.get_i64(0) != 0; };
  const Node* producer = next->producer();
  const bool goes_on = next == condition || (next->is_constant() && is_true(next->constant())) ||
                       (producer != nullptr && producer->is("Identity") && producer->input(0) == condition);
  return goes_on && (!ctx.has(1) || (ctx.constant(1) != nullptr && is_true(*ctx.constant(1))));
}

// How often the body runs, when the condition cannot end it and the trip count is an expression.
std::optional<Dim> loop_trips(const Graph& body, const InferContext& ctx) {
  if (!ctx.has(0) || !never_stops(body, ctx)) return std::nullopt;
  const auto count = ctx.dims_value(0);
  if (!count || count->size() != 1) return std::nullopt;
  return dim_max((*count)[0], Dim(0));
}

// Inputs: trip count or nothing, condition or nothing, `states` initial states, what the body reads.
// Body: (iteration, condition, states..., captured...) -> (condition, states..., one element per scan output).
Status infer_loop(InferContext& ctx) {
  const auto body = ctx.node().attr_graph("body");
  const int64_t states = ctx.node().attr_int("states");
  WOOTZ_RETURN_IF_ERROR(check_inputs(ctx, "body", body.get(), ctx.num_inputs()));
  if (states < 0 || states + 2 > ctx.num_inputs())
    return ctx.fail("{} states with {} inputs", states, ctx.num_inputs());
  if (static_cast<int>(body->outputs().size()) != ctx.node().num_outputs() + 1 || ctx.node().num_outputs() < states)
    return ctx.fail("{} outputs; the body has {} and there are {} states", ctx.node().num_outputs(),
                    body->outputs().size(), states);
  const OuterSymbols outer(ctx);
  for (int s = 0; s < states; ++s) {
    const Value *in = body->inputs()[static_cast<size_t>(s + 2)], *out = body->outputs()[static_cast<size_t>(s + 1)];
    if (!ctx.has(s + 2)) return ctx.fail("state {} has no initial value", s);
    const Shape& initial = ctx.shape(s + 2);
    if (in->dtype() != out->dtype() || in->dtype() != ctx.dtype(s + 2) || in->rank() != out->rank() ||
        initial.size() != in->shape().size())
      return ctx.fail("state {} is {}{}, then {}{}: type and rank must stay", s, dtype_name(ctx.dtype(s + 2)),
                      shape_to_string(initial), dtype_name(out->dtype()), shape_to_string(out->shape()));
    Shape shape;
    for (size_t i = 0; i < initial.size(); ++i)
      shape.push_back(in->shape()[i] == out->shape()[i] ? initial[i] : ctx.data_dependent(s, static_cast<int>(i)));
    ctx.set_output(s, in->dtype(), std::move(shape));
  }
  if (!ctx.has(0) && never_stops(*body, ctx))
    return ctx.fail("no trip count, and the condition is always true: it never ends");
  const std::optional<Dim> trips = loop_trips(*body, ctx);
  for (int o = static_cast<int>(states); o < ctx.node().num_outputs(); ++o) {
    const Value* element = body->outputs()[static_cast<size_t>(o) + 1];
    Shape shape{trips ? *trips : ctx.data_dependent(o, 0)};
    for (size_t i = 0; i < element->shape().size(); ++i)
      shape.push_back(outer.knows(element->shape()[i]) ? element->shape()[i]
                                                       : ctx.data_dependent(o, static_cast<int>(i) + 1));
    ctx.set_output(o, element->dtype(), std::move(shape));
  }
  return {};
}

Status reference_loop(EvalContext& ctx) {
  const auto body = ctx.node.attr_graph("body");
  const auto states = static_cast<size_t>(ctx.node.attr_int("states"));
  const bool bounded = ctx.has(0), conditional = ctx.has(1);
  for (size_t i = 0; i < 2; ++i)
    if (ctx.has(i) && ctx.in(i).volume() != 1)
      return invalid_argument("trip count or condition of shape {}", ctx.in(i).dims().to_string());
  const int64_t limit = bounded ? ctx.in(0).get_i64(0) : INT64_MAX;
  bool going = !conditional || ctx.in(1).get_i64(0) != 0;
  std::vector<HostTensor> inputs{HostTensor::scalar<int64_t>(0), HostTensor::scalar<bool>(going)};
  for (size_t i = 2; i < ctx.inputs.size(); ++i) inputs.push_back(ctx.in(i));
  std::vector<std::vector<HostTensor>> scanned(ctx.outputs.size() - states);
  for (int64_t trip = 0; going && trip < limit; ++trip) {
    inputs[0] = HostTensor::scalar<int64_t>(trip);
    inputs[1] = HostTensor::scalar<bool>(going);
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_graph(*body, inputs));
    if (results[0].volume() != 1)
      return invalid_argument("the body gives a condition of shape {}", results[0].dims().to_string());
    going = results[0].get_i64(0) != 0;
    for (size_t s = 0; s < states; ++s) inputs[s + 2] = std::move(results[s + 1]);
    for (size_t o = 0; o < scanned.size(); ++o) scanned[o].push_back(std::move(results[o + 1 + states]));
  }
  for (size_t s = 0; s < states; ++s) ctx.outputs[s] = inputs[s + 2];
  for (size_t o = 0; o < scanned.size(); ++o) {
    WOOTZ_ASSIGN_OR_RETURN(ctx.outputs[states + o], stack_elements(scanned[o], 0, *body->outputs()[o + 1 + states]));
  }
  return {};
}

const OpDef kLoop{.name = "Loop",
                  .min_inputs = 0,
                  .max_inputs = -1,
                  .min_outputs = 0,
                  .max_outputs = -1,
                  .attributes = {{"body", AttrKind::kGraph, true}, {"states", AttrKind::kInt, true}},
                  .infer = infer_loop,
                  .reference = reference_loop,
                  .lowering = Lowering::kControl,
                  .traits = {.data_dependent = true}};

}  // namespace

Result<HostTensor> take_element(const HostTensor& tensor, int axis, int64_t index) {
  if (dtype_bits(tensor.dtype()) % 8 != 0) return unsupported("elements of {} in a loop", dtype_name(tensor.dtype()));
  Dims dims;
  for (int i = 0; i < tensor.rank(); ++i)
    if (i != axis) dims.push_back(tensor.dims()[static_cast<size_t>(i)]);
  WOOTZ_ASSIGN_OR_RETURN(HostTensor element, HostTensor::allocate(tensor.dtype(), dims));
  const int64_t extent = tensor.dims()[static_cast<size_t>(axis)];
  const size_t inner = dtype_bytes(tensor.dtype(), tensor.dims().strides()[static_cast<size_t>(axis)]);
  const size_t outer = inner == 0 ? 0 : element.bytes() / inner;
  const auto* from = static_cast<const char*>(tensor.data());
  auto* to = static_cast<char*>(element.mutable_data());
  for (size_t o = 0; o < outer; ++o)
    std::memcpy(to + o * inner, from + (o * static_cast<size_t>(extent) + static_cast<size_t>(index)) * inner, inner);
  return element;
}

Result<HostTensor> stack_elements(const std::vector<HostTensor>& elements, int axis, const Value& type) {
  Dims dims;
  const Dims known = elements.empty() ? Dims() : elements[0].dims();
  if (elements.empty()) {
    Dims guess;
    for (const Dim& d : type.shape()) guess.push_back(d.is_const() ? d.value() : 0);
    dims = guess;
  } else {
    dims = known;
  }
  for (const HostTensor& e : elements)
    if (!(e.dims() == known))
      return invalid_argument("elements of shapes {} and {} cannot be stacked", known.to_string(),
                              e.dims().to_string());
  if (dims.rank() >= limits::kMaxRank)
    return invalid_argument("stacking {} passes the limit of {} axes", dims.to_string(), limits::kMaxRank);
  if (dtype_bits(type.dtype()) % 8 != 0) return unsupported("elements of {} in a loop", dtype_name(type.dtype()));
  Dims all;
  for (int i = 0; i <= dims.rank(); ++i) {
    if (i == axis) all.push_back(static_cast<int64_t>(elements.size()));
    if (i < dims.rank()) all.push_back(dims[static_cast<size_t>(i)]);
  }
  WOOTZ_ASSIGN_OR_RETURN(HostTensor result, HostTensor::allocate(type.dtype(), all));
  const size_t inner = dtype_bytes(type.dtype(), all.strides()[static_cast<size_t>(axis)]);
  auto* to = static_cast<char*>(result.mutable_data());
  for (size_t e = 0; e < elements.size() && inner > 0; ++e) {
    const auto* from = static_cast<const char*>(elements[e].data());
    for (size_t o = 0; o < elements[e].bytes() / inner; ++o)
      std::memcpy(to + (o * elements.size() + e) * inner, from + o * inner, inner);
  }
  return result;
}

std::span<const OpDef* const> control_ops() {
  static const OpDef* const kControlDefs[] = {&if_op(), &kLoop, &scan_op(), &require_op(), &assert_op()};
  return kControlDefs;
}

}  // namespace wootz::ops
