#include "ops/interpreter.h"

#include <new>
#include <stdexcept>

#include "ops/infer.h"
#include "ops/pointwise.h"

namespace wootz {
namespace {

Status place(const Node& node, const Status& status) {
  return status.place(PlaceKind::kNode) != nullptr ? status : at_node(node, status);
}

Result<std::vector<HostTensor>> run_main(const Node& node, const std::vector<const HostTensor*>& inputs) {
  WOOTZ_ASSIGN_OR_RETURN(std::vector<ConcreteOutput> types, infer_concrete(node, inputs));
  const OpDef& def = node.op();
  if (def.reference == nullptr) {
    WOOTZ_ASSIGN_OR_RETURN(const PointwiseExpr expr, node_expression(node));
    if (types.empty() || !types[0].dims) return internal_error("pointwise op without a shape");
    return evaluate_expression(expr, inputs, *types[0].dims);
  }
  EvalContext ctx{node, inputs, {}};
  for (const ConcreteOutput& type : types) {
    HostTensor tensor = HostTensor::wrap(type.dtype, Dims{0}, nullptr, nullptr);  // dtype for allocate()
    if (type.dims) {
      WOOTZ_ASSIGN_OR_RETURN(tensor, HostTensor::allocate(type.dtype, *type.dims));
    } else if (!def.traits.data_dependent) {
      return make_error(Code::kResourceExhausted, "an extent of output {} does not fit into 64 bits",
                        ctx.outputs.size());
    }
    ctx.outputs.push_back(std::move(tensor));
  }
  try {  // references keep their buffers in containers
    WOOTZ_RETURN_IF_ERROR(def.reference(ctx));
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "no memory for the reference's buffers");
  } catch (const std::length_error&) {
    return make_error(Code::kResourceExhausted, "the reference's buffers are larger than memory can be");
  }
  return std::move(ctx.outputs);
}

}  // namespace

Result<std::vector<HostTensor>> run_node(const Node& node, const std::vector<const HostTensor*>& inputs) {
  const PointwiseExpr* epilogue = node.attr_expr("epilogue");
  if (epilogue == nullptr) {
    Result<std::vector<HostTensor>> outputs = run_main(node, inputs);
    if (!outputs.ok()) return place(node, outputs.status());
    return outputs;
  }
  const auto main = static_cast<size_t>(node.attr_int("main_inputs", node.num_inputs()));
  if (main > inputs.size()) return place(node, internal_error("{} main inputs of {}", main, inputs.size()));
  Result<std::vector<HostTensor>> result =
      run_main(node, {inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(main)});
  if (!result.ok()) return place(node, result.status());
  std::vector<HostTensor> outputs = std::move(result).value();
  std::vector<const HostTensor*> operands{&outputs[0]};
  operands.insert(operands.end(), inputs.begin() + static_cast<ptrdiff_t>(main), inputs.end());
  Result<std::vector<HostTensor>> fused = evaluate_expression(*epilogue, operands, outputs[0].dims());
  if (!fused.ok()) return place(node, fused.status());
  outputs[0] = std::move(fused.value()[0]);
  return outputs;
}

Result<std::vector<HostTensor>> run_graph_taps(const Graph& graph, const std::vector<HostTensor>& inputs,
                                               const std::vector<int>& tap_ids, std::vector<HostTensor>* taps) {
  if (inputs.size() != graph.inputs().size())
    return invalid_argument("graph '{}' takes {} inputs, {} given", graph.name(), graph.inputs().size(), inputs.size());
  std::unordered_map<int, HostTensor> live;
  std::unordered_map<int, size_t> remaining;  // uses still to come: a value goes when it reaches zero
  std::unordered_map<int, bool> keep;
  for (const Value* out : graph.outputs()) keep[out->id()] = true;
  for (int id : tap_ids) keep[id] = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* value = graph.inputs()[i];
    if (inputs[i].dtype() != value->dtype())
      return invalid_argument("input '{}' is {}, the graph wants {}", value->name(), dtype_name(inputs[i].dtype()),
                              dtype_name(value->dtype()));
    bool fits = inputs[i].rank() == value->rank();
    for (int a = 0; fits && a < value->rank(); ++a) {
      const Dim& d = value->shape()[static_cast<size_t>(a)];
      fits = !d.is_const() || d.value() == inputs[i].dims()[static_cast<size_t>(a)];
    }
    if (!fits)
      return invalid_argument("input '{}' has shape {}, the graph wants {}", value->name(),
                              inputs[i].dims().to_string(), shape_to_string(value->shape()));
    live[value->id()] = inputs[i];
  }
  const auto fetch = [&](const Value* value) -> const HostTensor* {
    if (value == nullptr) return nullptr;
    if (value->is_constant()) return &value->constant();
    const auto it = live.find(value->id());
    return it == live.end() ? nullptr : &it->second;
  };
  for (const Node* node = graph.first(); node != nullptr; node = node->next()) {
    std::vector<const HostTensor*> operands;
    for (const Value* value : node->inputs()) {
      operands.push_back(fetch(value));
      if (value != nullptr && operands.back() == nullptr)
        return at_node(*node, internal_error("'{}' is read before it is computed", value->name()));
    }
    WOOTZ_ASSIGN_OR_RETURN(std::vector<HostTensor> results, run_node(*node, operands));
    for (size_t o = 0; o < results.size() && o < node->outputs().size(); ++o) {
      const Value* value = node->outputs()[o];
      if (value->uses().empty() && !keep.count(value->id())) continue;
      remaining[value->id()] = value->uses().size();
      live[value->id()] = std::move(results[o]);
    }
    for (const Value* value : node->inputs()) {
      if (value == nullptr || value->kind() != ValueKind::kNodeOutput) continue;
      const auto it = remaining.find(value->id());
      if (it != remaining.end() && it->second > 0 && --it->second == 0 && !keep.count(value->id()))
        live.erase(value->id());
    }
  }
  std::vector<HostTensor> outputs;
  for (const Value* out : graph.outputs()) {
    const HostTensor* tensor = fetch(out);
    if (tensor == nullptr) return internal_error("output '{}' was not computed", out->name());
    outputs.push_back(*tensor);
  }
  if (taps != nullptr) {
    for (int id : tap_ids) {
      const auto it = live.find(id);
      taps->push_back(it == live.end() ? HostTensor() : it->second);
    }
  }
  return outputs;
}

Result<std::vector<HostTensor>> run_graph(const Graph& graph, const std::vector<HostTensor>& inputs) {
  return run_graph_taps(graph, inputs, {}, nullptr);
}

}  // namespace wootz
