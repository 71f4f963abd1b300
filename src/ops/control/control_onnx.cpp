#include <algorithm>

#include "ops/control/inline_graph.h"
#include "ops/module_table.h"

namespace wootz::ops {
namespace {

// Results that the network cannot go on from as they are: one of one rank in one branch, of another in the other.
bool differ_in_rank(const Graph& then, const Graph& other) {
  const size_t count = std::min(then.outputs().size(), other.outputs().size());
  for (size_t o = 0; o < count; ++o)
    if (then.outputs()[o]->rank() != other.outputs()[o]->rank()) return true;
  return false;
}

Status import_taken(ImportContext& ctx, bool taken) {
  std::vector<Value*> captured;
  WOOTZ_ASSIGN_OR_RETURN(const auto branch, ctx.attr_graph(taken ? "then_branch" : "else_branch", &captured));
  if (ctx.has_open_results(*branch)) {
    ImportContext::Branch live{branch, std::move(captured)};
    return taken ? ctx.fork(ctx.input(0), std::move(live), {}) : ctx.fork(ctx.input(0), {}, std::move(live));
  }
  WOOTZ_ASSIGN_OR_RETURN(const std::vector<Value*> outputs, inline_graph(ctx, *branch, captured));
  if (static_cast<int>(outputs.size()) < ctx.num_outputs())
    return ctx.fail("the branch gives {} outputs", outputs.size());
  for (int i = 0; i < ctx.num_outputs(); ++i)
    if (ctx.wants_output(i)) ctx.set_output(i, outputs[static_cast<size_t>(i)]);
  return {};
}

// The condition where it is known, as a constant or by what is known of shapes.
std::optional<bool> known_truth(const ImportContext& ctx) {
  if (const HostTensor* known = ctx.constant(0); known != nullptr && known->volume() == 1)
    return known->get_i64(0) != 0;
  const auto& values = ctx.input(0)->shape_values();
  if (!values || values->size() != 1 || !(*values)[0].is_const()) return std::nullopt;
  return (*values)[0].value() != 0;
}

Status import_if(ImportContext& ctx) {
  if (!ctx.has_input(0)) return ctx.fail("condition is required");
  if (const std::optional<bool> taken = known_truth(ctx)) return import_taken(ctx, *taken);
  std::vector<Value*> inputs{ctx.input(0)}, for_then, for_other;
  WOOTZ_ASSIGN_OR_RETURN(const auto then, ctx.attr_graph("then_branch", &for_then));
  WOOTZ_ASSIGN_OR_RETURN(const auto other, ctx.attr_graph("else_branch", &for_other));
  const bool open = ctx.has_open_results(*then) || ctx.has_open_results(*other);
  if (open || differ_in_rank(*then, *other))
    return ctx.fork(inputs[0], {then, std::move(for_then)}, {other, std::move(for_other)});
  inputs.insert(inputs.end(), for_then.begin(), for_then.end());
  inputs.insert(inputs.end(), for_other.begin(), for_other.end());
  const auto count = static_cast<int>(then->outputs().size());
  WOOTZ_ASSIGN_OR_RETURN(Node * node,
                         ctx.add("If", std::move(inputs), {{"then_branch", then}, {"else_branch", other}}, count));
  for (int i = 0; i < ctx.num_outputs() && i < count; ++i)
    if (ctx.wants_output(i)) ctx.set_output(i, node->output(i));
  return {};
}

TypeInfo type_of(DType dtype, Shape shape) {
  TypeInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  info.present = true;
  return info;
}

// Imports the body with states of the given types, and again with unknown extents where the body changes them, until
// the types hold from one iteration to the next. State s is body input first_in + s and body output first_out + s.
Result<std::shared_ptr<Graph>> import_body(ImportContext& ctx, std::vector<TypeInfo> types, size_t first_in,
                                           size_t first_out, size_t states, std::vector<Value*>* captured) {
  for (int attempt = 0; attempt < 2 * limits::kMaxRank; ++attempt) {
    WOOTZ_ASSIGN_OR_RETURN(auto body, ctx.attr_graph("body", captured, types));
    if (body->inputs().size() < types.size() || body->outputs().size() < first_out + states)
      return ctx.fail("the body has {} inputs and {} outputs for {} states", body->inputs().size(),
                      body->outputs().size(), states);
    bool stable = true;
    for (size_t s = 0; s < states; ++s) {
      const Value *in = body->inputs()[first_in + s], *out = body->outputs()[first_out + s];
      Shape& given = types[first_in + s].shape;
      if (in->rank() != out->rank() || given.size() != out->shape().size())
        return ctx.fail("state {} goes from {} to {}; its rank must stay", s, shape_to_string(in->shape()),
                        shape_to_string(out->shape()));
      for (size_t a = 0; a < given.size(); ++a) {
        if (in->shape()[a] == out->shape()[a] || given[a] == Dim::symbol(-1)) continue;
        given[a] = Dim::symbol(-1);
        stable = false;
      }
    }
    if (stable) return body;
  }
  return ctx.fail("the types of the states do not settle");
}

Status import_loop(ImportContext& ctx) {
  const size_t states = ctx.num_inputs() < 2 ? 0 : static_cast<size_t>(ctx.num_inputs() - 2);
  std::vector<TypeInfo> types{type_of(DType::kI64, {}), type_of(DType::kBool, {})};
  std::vector<Value*> inputs{ctx.input(0), ctx.input(1)}, captured;
  for (size_t s = 0; s < states; ++s) {
    Value* v = ctx.input(static_cast<int>(s) + 2);
    if (v == nullptr) return ctx.fail("state {} has no initial value", s);
    types.push_back(type_of(v->dtype(), v->shape()));
    inputs.push_back(v);
  }
  if (inputs[0] == nullptr && inputs[1] == nullptr)
    return ctx.fail("neither a trip count nor a condition: it would never end");
  // The most frequent trip count is INT64_MAX, which means none.
  if (const HostTensor* m = ctx.constant(0);
      m != nullptr && m->volume() == 1 && m->get_i64(0) == INT64_MAX && inputs[1] != nullptr)
    inputs[0] = nullptr;
  WOOTZ_ASSIGN_OR_RETURN(const auto body, import_body(ctx, std::move(types), 2, 1, states, &captured));
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const auto count = static_cast<int>(body->outputs().size()) - 1;
  WOOTZ_ASSIGN_OR_RETURN(Node * node, ctx.add("Loop", std::move(inputs),
                                              {{"body", body}, {"states", static_cast<int64_t>(states)}}, count));
  for (int i = 0; i < ctx.num_outputs() && i < count; ++i)
    if (ctx.wants_output(i)) ctx.set_output(i, node->output(i));
  return {};
}

// `first`: where the states begin. Opset 8 has the sequences' lengths before them and a batch axis on everything.
Status import_scan_form(ImportContext& ctx, int first, bool batched) {
  const int64_t scans = ctx.attr_int("num_scan_inputs", 0), states = ctx.num_inputs() - first - scans;
  if (scans < 1 || states < 0) return ctx.fail("num_scan_inputs is {} with {} inputs", scans, ctx.num_inputs() - first);
  AttrMap attrs{{"states", states}, {"scans", scans}};
  if (batched) attrs["batched"] = int64_t{1};
  const auto copy = [&](const char* to, std::initializer_list<const char*> from) {
    for (const char* name : from)
      if (const std::vector<int64_t> values = ctx.attr_ints(name); !values.empty()) attrs[to] = values;
  };
  copy("input_axes", {"scan_input_axes"});
  copy("input_directions", {"directions", "scan_input_directions"});
  copy("output_axes", {"scan_output_axes"});
  copy("output_directions", {"scan_output_directions"});
  const std::vector<int64_t> axes = ctx.attr_ints("scan_input_axes");
  std::vector<Value*> inputs, captured;
  std::vector<TypeInfo> types;
  for (int i = first; i < ctx.num_inputs(); ++i) {
    Value* v = ctx.input(i);
    if (v == nullptr) return ctx.fail("input {} is missing", i);
    Shape shape = v->shape();
    if (batched) {
      if (shape.empty()) return ctx.fail("input {} has no batch axis", i);
      shape.erase(shape.begin());
    }
    const auto scan = static_cast<size_t>(i - first - states);
    if (i - first >= states) {
      WOOTZ_ASSIGN_OR_RETURN(const int axis,
                             normalize_axis(scan < axes.size() ? axes[scan] : 0, static_cast<int>(shape.size())));
      shape.erase(shape.begin() + axis);
    }
    types.push_back(type_of(v->dtype(), std::move(shape)));
    inputs.push_back(v);
  }
  WOOTZ_ASSIGN_OR_RETURN(const auto body,
                         import_body(ctx, std::move(types), 0, 0, static_cast<size_t>(states), &captured));
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const auto count = static_cast<int>(body->outputs().size());
  attrs["body"] = body;
  WOOTZ_ASSIGN_OR_RETURN(Node * node, ctx.add("Scan", std::move(inputs), std::move(attrs), count));
  for (int i = 0; i < ctx.num_outputs() && i < count; ++i)
    if (ctx.wants_output(i)) ctx.set_output(i, node->output(i));
  return {};
}

Status import_scan(ImportContext& ctx) { return import_scan_form(ctx, 0, false); }
Status import_scan_batched(ImportContext& ctx) {
  if (ctx.has_input(0)) return ctx.fail("sequence lengths are not supported");
  return import_scan_form(ctx, 1, true);
}

}  // namespace

std::span<const OnnxImport> control_onnx() {
  static constexpr OnnxImport kControlImports[] = {
      {"If", 1, import_if},
      {"Loop", 1, import_loop},
      {"Scan", 8, import_scan_batched},
      {"Scan", 9, import_scan},
  };
  return kControlImports;
}

}  // namespace wootz::ops
